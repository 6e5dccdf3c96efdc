package console

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/switchyard/switchyard"
)

const (
	// pollEvery is the pause between two readings of what waits. A reading that takes long makes
	// the pause longer, so that the console takes a fifth of the time at most.
	pollEvery = 2 * time.Second
	// pollWithin bounds one reading, and showWithin how long a page waits for the first.
	pollWithin = 30 * time.Second
	showWithin = 3 * time.Second
	// interest is how long after a page was shown the reading goes on without streams.
	interest = time.Minute
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
	Read    time.Time
	version string
}

type waitingCall struct {
	switchyard.Approval
	About *about
}

type waitingQuestion struct {
	switchyard.Question
	About *about
}

// poller reads what waits for people, once for all browsers, while anybody looks.
type poller struct {
	backend backend
	now     func() time.Time
	cancel  context.CancelFunc
	kicks   chan struct{}
	about   *aboutCache

	mu      sync.Mutex
	list    waitingList
	changed chan struct{} // closed when list has another version
	read    chan struct{} // closed after each reading
	streams int
	seen    time.Time
	// gone has what was decided here, until a reading that began later.
	gone map[aboutKey]time.Time
}

func newPoller(b backend) *poller {
	ctx, cancel := context.WithCancel(context.Background())
	p := &poller{backend: b, now: time.Now, cancel: cancel, kicks: make(chan struct{}, 1),
		about: newAboutCache(b), changed: make(chan struct{}), read: make(chan struct{}),
		gone: map[aboutKey]time.Time{}}
	go p.run(ctx)
	return p
}

func (p *poller) close() { p.cancel() }

// kick has the poller read now.
func (p *poller) kick() {
	select {
	case p.kicks <- struct{}{}:
	default: // one waits already
	}
}

// removeDecided takes what was decided here off the list, and has the poller read.
func (p *poller) removeDecided(key aboutKey) {
	p.mu.Lock()
	p.gone[key] = p.now()
	p.publish(p.list)
	p.mu.Unlock()
	p.kick()
}

// run reads until ctx ends. Without interest it waits for a kick.
func (p *poller) run(ctx context.Context) {
	pause := pollEvery
	for {
		var timer <-chan time.Time
		if p.isWanted() {
			timer = time.After(pause)
		}
		select {
		case <-ctx.Done():
			return
		case <-p.kicks:
		case <-timer:
		}
		began := p.now()
		if pause = pollEvery; p.poll(ctx) {
			pause = max(pollEvery, 4*p.now().Sub(began))
		}
	}
}

func (p *poller) isWanted() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.streams > 0 || p.now().Sub(p.seen) < interest
}

// poll reads once. read is false if the server cannot be reached: then only the time is lost, and
// the next reading is soon.
func (p *poller) poll(ctx context.Context) (read bool) {
	ctx, cancel := context.WithTimeout(ctx, pollWithin)
	defer cancel()
	began := p.now()
	list, err := containPanics(ctx, func() (waitingList, error) { return p.fresh(ctx) })
	p.mu.Lock()
	defer p.mu.Unlock()
	if err != nil {
		failed := p.list.Failed
		list = p.list // as it was
		if list.Failed = failed; failed.IsZero() {
			list.Failed = p.now()
		}
	}
	list.Read = p.now()
	if err == nil {
		maps.DeleteFunc(p.gone, func(_ aboutKey, at time.Time) bool { return at.Before(began) })
	}
	p.publish(list)
	close(p.read)
	p.read = make(chan struct{})
	return err == nil
}

// publish makes a list the current one, without what was decided since it was read, and tells about
// changes.
func (p *poller) publish(list waitingList) {
	list.Calls = slices.DeleteFunc(slices.Clone(list.Calls), func(c waitingCall) bool {
		_, gone := p.gone[aboutKey{c.WorkflowID, c.Call, c.Digest}]
		return gone
	})
	list.Questions = slices.DeleteFunc(slices.Clone(list.Questions), func(q waitingQuestion) bool {
		_, gone := p.gone[aboutKey{q.WorkflowID, q.Call, q.ID}]
		return gone
	})
	list.version = list.state()
	if list.version != p.list.version {
		close(p.changed)
		p.changed = make(chan struct{})
	}
	p.list = list
}

// fresh reads the list from the server.
func (p *poller) fresh(ctx context.Context) (list waitingList, err error) {
	approvals, questions, err := p.backend.inbox(ctx)
	if list.Unread, err = unreadIn(err); err != nil {
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

// unreadIn returns how many runs an error says cannot be read; other errors are returned.
func unreadIn(err error) (int, error) {
	if unread, ok := errors.AsType[*switchyard.UnreadError](err); ok {
		return len(unread.Runs), nil
	}
	return 0, err
}

// state identifies what the list shows.
func (l waitingList) state() string {
	parts := []string{strconv.Itoa(l.More), strconv.Itoa(l.Unread),
		strconv.FormatBool(l.Failed.IsZero())}
	for _, c := range l.Calls {
		parts = append(parts, c.WorkflowID, c.Call, c.Digest)
	}
	for _, q := range l.Questions {
		parts = append(parts, q.WorkflowID, q.ID)
	}
	return strings.Join(parts, "\n")
}

// current returns the list, read now if it is old. loading says that it has not been read in time.
func (p *poller) current(ctx context.Context) (list waitingList, loading bool) {
	p.mu.Lock()
	p.seen = p.now()
	list, read := p.list, p.read
	p.mu.Unlock()
	if p.now().Sub(list.Read) < pollEvery {
		return list, false
	}
	p.kick()
	select {
	case <-read:
	case <-time.After(showWithin):
	case <-ctx.Done():
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.list, p.list.Read.IsZero()
}

// count returns how many calls and questions wait; negative if nobody has looked for long.
func (p *poller) count() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.list.Read.IsZero() || p.now().Sub(p.list.Read) > interest {
		return -1
	}
	return len(p.list.Calls) + len(p.list.Questions) + p.list.More
}

// follow returns a channel that is closed at the next change, and its end.
func (p *poller) follow() (changed func() <-chan struct{}, done func()) {
	p.mu.Lock()
	p.streams++
	p.mu.Unlock()
	p.kick()
	return func() <-chan struct{} {
			p.mu.Lock()
			defer p.mu.Unlock()
			return p.changed
		}, func() {
			p.mu.Lock()
			defer p.mu.Unlock()
			p.streams--
		}
}
