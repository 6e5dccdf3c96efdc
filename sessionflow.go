package switchyard

import (
	"cmp"
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"go.temporal.io/sdk/temporal"
)

const (
	// maxAlone is the number of calls whose updates wait for their end at the same time. They get
	// their outcome with the update, which is fastest for clients that make few calls at once. A
	// server allows a run ten updates in flight, of all processes.
	maxAlone = 3
	// maxBatch and maxBatchBytes bound the calls of one update, and their arguments.
	maxBatch      = 100
	maxBatchBytes = 256 << 10
)

// sessionFlow is what the handles of a session in one process share while they have calls in
// flight. One update at a time submits the calls of all of them, and one query at a time asks for
// their statuses: a server serves the updates and queries of a run one after the other, and refuses
// updates when ten are in flight.
type sessionFlow struct {
	// users counts the calls and waits in flight.
	users int

	mu sync.Mutex
	// alone counts the updates with one call that wait for its end.
	alone int
	// queue are the calls to be submitted together; submitting is set while some are.
	queue      []*submission
	submitting bool
	// watches are the calls whose statuses are asked for; watching is set while they are. changed
	// has a value after a watch was added or removed.
	watches  []*watch
	watching bool
	changed  chan struct{}
	// stopQuery ends the query in progress; nil for none.
	stopQuery context.CancelFunc
}

// submission is a call that waits to be submitted. It gets one answer.
type submission struct {
	session *Session
	call    SessionCall
	// fresh is set if the call cannot have been submitted before: its ID is random, and new. found
	// is what a session that has ended knows of the call; nil for nothing.
	fresh bool
	found *SessionCallStatus
	// gone ends when the caller no longer waits.
	gone   context.Context
	answer chan submitted
	// failed is the error of the last attempt.
	failed error
}

type submitted struct {
	status SessionCallStatus
	err    error
}

// watch waits for a status that differs from a known one.
type watch struct {
	session *Session
	known   SessionCallStatus
	answer  chan submitted
	// answered is set once the session answered.
	answered bool
}

// flow returns what the handles of a session share, until done is called.
func (c *Client) flow(id string) (f *sessionFlow, done func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if f = c.flows[id]; f == nil {
		if c.flows == nil {
			c.flows = map[string]*sessionFlow{}
		}
		f = &sessionFlow{changed: make(chan struct{}, 1)}
		c.flows[id] = f
	}
	f.users++
	return f, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if f.users--; f.users == 0 {
			delete(c.flows, id)
		}
	}
}

// submit submits a call until the session takes it.
func (f *sessionFlow) submit(ctx context.Context, one *submission) (SessionCallStatus, error) {
	s := one.session
	if f.goAlone(one.call) {
		defer f.endAlone()
		return s.submitAlone(ctx, one)
	}
	one.call.Wait = 0
	waiting, cancel := context.WithTimeout(ctx, ReplyWithin)
	defer cancel()
	one.gone, one.answer = waiting, make(chan submitted, 1)
	f.mu.Lock()
	f.queue = append(f.queue, one)
	if !f.submitting {
		f.submitting = true
		go f.submitBatches()
	}
	f.mu.Unlock()
	select {
	case a := <-one.answer:
		return a.status, s.refusal(ctx, a.err)
	case <-ctx.Done():
		return SessionCallStatus{}, ctx.Err()
	}
}

// goAlone reports whether the update of a call may wait for its end.
func (f *sessionFlow) goAlone(call SessionCall) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if call.Wait <= 0 || f.alone >= maxAlone || f.submitting {
		return false
	}
	f.alone++
	return true
}

func (f *sessionFlow) endAlone() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.alone--
}

// submitAlone submits a call with an update that waits for its end.
func (s *Session) submitAlone(ctx context.Context, one *submission) (SessionCallStatus, error) {
	waiting, cancel := context.WithTimeout(ctx, one.call.Wait.Std()+ReplyWithin)
	defer cancel()
	for pause := minPoll; ; pause = min(2*pause, maxPoll) {
		statuses, err := s.update(waiting, []*submission{one})
		if err == nil {
			return statuses[0], nil
		}
		if !again(err) || wait(waiting, jitter(pause)) != nil {
			return SessionCallStatus{}, s.refusal(ctx, err)
		}
	}
}

// jitter returns about d, so that processes that were refused together do not come together
// again.
func jitter(d time.Duration) time.Duration { return d/2 + rand.N(d) }

// submitBatches submits the calls of the queue until it is empty.
func (f *sessionFlow) submitBatches() {
	pause := minPoll
	for {
		batch := f.next()
		if len(batch) == 0 {
			return
		}
		ctx, cancel := context.WithTimeout(context.Background(), ReplyWithin)
		statuses, err := batch[0].session.update(ctx, batch)
		cancel()
		switch {
		case err == nil:
			pause = minPoll
			for i, one := range batch[:len(statuses)] {
				one.answer <- submitted{status: statuses[i]}
			}
			f.putBack(batch[len(statuses):])
		case again(err):
			if f.refuse(batch, err) {
				time.Sleep(jitter(pause))
			}
			pause = min(2*pause, maxPoll)
		case isA[*temporal.ApplicationError](err): // refuses the first call
			batch[0].answer <- submitted{err: err}
			f.putBack(batch[1:])
		default:
			for _, one := range batch {
				one.answer <- submitted{err: err}
			}
		}
	}
}

func callsIn(batch []*submission) []SessionCall {
	calls := make([]SessionCall, len(batch))
	for i, one := range batch {
		calls[i] = one.call
	}
	return calls
}

// next takes calls of the queue that fit into one update. Without any, nothing is submitted until
// the next call comes.
func (f *sessionFlow) next() []*submission {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.queue = slices.DeleteFunc(f.queue, func(one *submission) bool {
		gone := one.gone.Err()
		if gone != nil {
			one.answer <- submitted{err: cmp.Or(one.failed, gone)}
		}
		return gone != nil
	})
	n, size := 0, 0
	for n < min(len(f.queue), maxBatch) {
		size += len(f.queue[n].call.Arguments)
		if n > 0 && size > maxBatchBytes {
			break
		}
		n++
	}
	batch := slices.Clone(f.queue[:n])
	f.queue = f.queue[n:]
	f.submitting = n > 0
	return batch
}

// putBack puts calls before the others of the queue.
func (f *sessionFlow) putBack(calls []*submission) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.queue = slices.Concat(calls, f.queue)
}

// refuse answers the calls whose callers no longer wait with an error, and puts the others back. It
// reports whether there are any.
func (f *sessionFlow) refuse(calls []*submission, err error) bool {
	rest := slices.DeleteFunc(calls, func(one *submission) bool {
		one.failed = err
		if one.gone.Err() == nil {
			return false
		}
		one.answer <- submitted{err: err}
		return true
	})
	f.putBack(rest)
	return len(rest) > 0
}

// watch returns the status of a call when it differs from a known one, or at the deadline, and
// whether the session answered until then.
func (f *sessionFlow) watch(ctx context.Context, s *Session, known SessionCallStatus,
	deadline time.Time) (now SessionCallStatus, answered bool, err error) {
	w := &watch{session: s, known: known, answer: make(chan submitted, 1)}
	f.mu.Lock()
	f.watches = append(f.watches, w)
	f.tellOfChange()
	if !f.watching {
		f.watching = true
		go f.ask()
	}
	f.mu.Unlock()
	timer := time.NewTimer(time.Until(deadline))
	defer timer.Stop()
	select {
	case a := <-w.answer:
		return a.status, true, a.err
	case <-timer.C:
		return known, f.forget(w), nil
	case <-ctx.Done():
		return known, f.forget(w), ctx.Err()
	}
}

// forget removes a watch, and reports whether the session answered it.
func (f *sessionFlow) forget(w *watch) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.watches = slices.DeleteFunc(f.watches, func(other *watch) bool { return other == w })
	f.tellOfChange()
	if len(f.watches) == 0 && f.stopQuery != nil {
		f.stopQuery()
	}
	return w.answered
}

// tellOfChange has ask look at the watches again.
func (f *sessionFlow) tellOfChange() {
	select {
	case f.changed <- struct{}{}:
	default:
	}
}

// ask asks for the statuses of the watched calls until there are none. It asks often while calls
// change or are added.
func (f *sessionFlow) ask() {
	pause := minPoll
	for all := f.watched(); len(all) > 0; all = f.watched() {
		if !f.pause(&pause, len(all)) {
			continue
		}
		if all = f.watched(); len(all) == 0 {
			return
		}
		statuses, err := f.query(all)
		if pause = min(2*pause, maxPoll); f.tell(all, statuses, err) {
			pause = minPoll
		}
	}
}

// query asks for the statuses of watched calls, until no call is watched any more.
func (f *sessionFlow) query(all []*watch) ([]SessionCallStatus, error) {
	ids := make([]string, len(all))
	for i, w := range all {
		ids[i] = w.known.ID
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	f.mu.Lock()
	if len(f.watches) == 0 {
		cancel()
	}
	f.stopQuery = cancel
	f.mu.Unlock()
	return all[0].session.query(ctx, ids, "")
}

// pause waits before the next query, and reports false if all watches were removed meanwhile. It
// becomes short when one is added.
func (f *sessionFlow) pause(d *time.Duration, watches int) bool {
	timer := time.NewTimer(*d)
	defer timer.Stop()
	for {
		select {
		case <-timer.C:
			return true
		case <-f.changed:
			f.mu.Lock()
			now := len(f.watches)
			f.mu.Unlock()
			if now == 0 {
				return false
			}
			if now > watches && *d > minPoll {
				*d = minPoll
				timer.Reset(*d)
			}
			watches = now
		}
	}
}

// watched returns the watched calls. Without any, nothing is asked until the next one comes.
func (f *sessionFlow) watched() []*watch {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.watching = len(f.watches) > 0
	return slices.Clone(f.watches)
}

// tell answers the watches whose calls have changed, and all of them with an error. It reports
// whether there were any.
func (f *sessionFlow) tell(all []*watch, statuses []SessionCallStatus, err error) (told bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i, w := range all {
		w.answered = w.answered || err == nil
		a := submitted{status: w.known, err: err}
		if err == nil {
			a.status = statuses[i]
		}
		if err != nil || a.status.State != w.known.State {
			f.watches = slices.DeleteFunc(f.watches, func(other *watch) bool { return other == w })
			w.answer <- a
			told = true
		}
	}
	return told
}
