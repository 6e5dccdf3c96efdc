package console

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/switchyard/switchyard"
	"golang.org/x/sync/singleflight"
)

const (
	// pollEvery is the pause between two readings of what waits. A reading that takes long makes
	// the pause longer, so that the console takes a fifth of the time at most.
	pollEvery = 2 * time.Second
	// pollWithin bounds one reading, and showWithin how long a page waits for one.
	pollWithin = 30 * time.Second
	showWithin = 3 * time.Second
	// knownFor is how long the number of what waits is shown after a reading.
	knownFor = time.Minute
	// maxInbox bounds the calls and the questions that the inbox shows.
	maxInbox = 50
)

// waitingList is what waits for people, as last read.
type waitingList struct {
	Calls     []waitingCall
	Questions []waitingQuestion
	// More is the number of those that are not listed, Unread that of runs that cannot be read.
	More, Unread int
	// Failed is since when the server cannot be reached; zero if it can.
	Failed time.Time
	// Read is when the list was read; zero before the first time.
	Read time.Time
}

type waitingCall struct {
	switchyard.Approval
	About *about
}

type waitingQuestion struct {
	switchyard.Question
	About *about
}

// poller reads what waits for people, once for all browsers, when a page asks for it.
type poller struct {
	backend backend
	now     func() time.Time
	about   *aboutCache

	reading singleflight.Group

	mu   sync.Mutex
	list waitingList
	// next is when the list is read again.
	next time.Time
	// gone has what was decided here, until a reading that began later.
	gone map[aboutKey]time.Time
}

func newPoller(b backend) *poller {
	return &poller{backend: b, now: time.Now, about: newAboutCache(b),
		gone: map[aboutKey]time.Time{}}
}

// kick has the next page read the list.
func (p *poller) kick() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.next = time.Time{}
}

// removeDecided takes what was decided here off the list, and has the next page read it.
func (p *poller) removeDecided(key aboutKey) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.gone[key] = p.now()
	p.next = time.Time{}
	p.publish(p.list)
}

// poll reads once. If the server cannot be reached, only the time is lost. The reading is for all
// who look, so it does not end with a request.
func (p *poller) poll() {
	ctx, cancel := context.WithTimeout(context.Background(), pollWithin)
	defer cancel()
	began := p.now()
	list, err := containPanics(ctx, func() (waitingList, error) { return p.fresh(ctx) })
	p.mu.Lock()
	defer p.mu.Unlock()
	pause := pollEvery
	if err != nil {
		failed := p.list.Failed
		list = p.list // as it was
		if list.Failed = failed; failed.IsZero() {
			list.Failed = p.now()
		}
	} else {
		pause = max(pollEvery, 4*p.now().Sub(began))
		maps.DeleteFunc(p.gone, func(_ aboutKey, at time.Time) bool { return at.Before(began) })
	}
	list.Read = p.now()
	if p.next = list.Read.Add(pause); len(p.gone) > 0 { // decided meanwhile
		p.next = time.Time{}
	}
	p.publish(list)
}

// publish makes a list the current one, without what was decided since it was read.
func (p *poller) publish(list waitingList) {
	list.Calls = slices.DeleteFunc(slices.Clone(list.Calls), func(c waitingCall) bool {
		_, gone := p.gone[aboutKey{c.WorkflowID, c.Call, c.Digest}]
		return gone
	})
	list.Questions = slices.DeleteFunc(slices.Clone(list.Questions), func(q waitingQuestion) bool {
		_, gone := p.gone[aboutKey{q.WorkflowID, q.Call, q.ID}]
		return gone
	})
	p.list = list
}

// fresh reads the list from the server.
func (p *poller) fresh(ctx context.Context) (list waitingList, err error) {
	approvals, questions, err := p.backend.inbox(ctx)
	if unread, some := errors.AsType[*switchyard.UnreadError](err); some {
		list.Unread, err = len(unread.Runs), nil
	}
	if err != nil {
		return list, err
	}
	list.More = max(0, len(approvals)-maxInbox) + max(0, len(questions)-maxInbox)
	approvals = approvals[:min(len(approvals), maxInbox)]
	questions = questions[:min(len(questions), maxInbox)]
	var wanted []aboutKey
	for _, a := range approvals {
		wanted = append(wanted, aboutKey{a.WorkflowID, a.Call, a.Digest})
	}
	for _, q := range questions {
		wanted = append(wanted, aboutKey{q.WorkflowID, q.Call, q.ID})
	}
	known := p.about.of(ctx, wanted)
	for i, a := range approvals {
		list.Calls = append(list.Calls, waitingCall{a, known[i]})
	}
	for i, q := range questions {
		list.Questions = append(list.Questions, waitingQuestion{q, known[len(approvals)+i]})
	}
	return list, nil
}

// current returns the list, read now if it is old. loading says that it has not been read in time.
func (p *poller) current(ctx context.Context) (list waitingList, loading bool) {
	p.mu.Lock()
	old := !p.now().Before(p.next)
	p.mu.Unlock()
	if old {
		readTogether(ctx, &p.reading, p.poll)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.list, p.list.Read.IsZero()
}

// readTogether has one of the requests at a time read something, and all of them wait for a moment.
func readTogether(ctx context.Context, reading *singleflight.Group, read func()) {
	done := reading.DoChan("", func() (any, error) { read(); return nil, nil })
	select {
	case <-done:
	case <-time.After(showWithin):
	case <-ctx.Done():
	}
}

// count returns how many calls and questions wait; negative if nobody has looked for long.
func (p *poller) count() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.list.Read.IsZero() || p.now().Sub(p.list.Read) > knownFor {
		return -1
	}
	return len(p.list.Calls) + len(p.list.Questions) + p.list.More
}
