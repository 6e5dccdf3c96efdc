package slots

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/switchyard/switchyard/api"
)

var (
	errQueueFull    = errors.New("the queue of the lane is full")
	errQueueTooLong = errors.New("the call has waited too long for its turn")
	errQueueClosed  = errors.New("this worker no longer serves the lane")
)

// waitRules are the rules of a wait queue.
type waitRules struct {
	// limit is how many calls may run, space how many may wait for a slot.
	limit, space int
	strategy     api.Strategy
	// rate bounds the starts per second, with bursts of one second's worth; zero is no bound.
	rate float64
}

// waitQueue has the calls that were taken from a task queue, on a keyed lane those of one key: it
// limits how many run and how many wait, in the lane's order, and rejects the others. Its limits
// are exact, because it is the only place that decides.
type waitQueue struct {
	mu      sync.Mutex
	rules   waitRules
	running int
	waiting []*place // in the order in which they run
	// paid is the time until which the started calls use up the rate; timer is set while the rate
	// delays a call.
	paid  time.Time
	timer *time.Timer
	// came counts the calls that joined. clock maps a priority to the pass of its last started
	// call. last maps each fairness key with waiting calls to the pass of its last call.
	came  int64
	clock map[int]int64
	last  map[sharer]int64
	// users counts the calls that use the queue. tidied is set while a timer of waitQueues.tidy
	// runs. Both are guarded by waitQueues.mu.
	users  int
	tidied bool
}

// sharer is one fairness key among the calls of one priority.
type sharer struct {
	priority int
	fairness string
}

// entrant is a call that enters a wait queue.
type entrant struct {
	sharer
	// deadline is when the call stops to wait; zero means never.
	deadline time.Time
	// own means that a run itself makes the call: it is never rejected, and goes first.
	own bool
}

// ownLevel is the priority of calls that runs themselves make. It is above all others, and above
// that of calls on lanes that do not order by priority, which is zero.
const ownLevel = -1

// place is a call's place in the wait queue.
type place struct {
	sharer
	// pass orders the calls of one priority so that fairness keys take turns; came breaks ties.
	pass, came int64
	// turn receives nil when the call may run, or why it may not.
	turn chan error
}

func newWaitQueue() *waitQueue {
	return &waitQueue{clock: map[int]int64{}, last: map[sharer]int64{}}
}

// configure changes the rules of the wait queue. Waiting calls stay, even if they exceed the new
// capacity.
func (q *waitQueue) configure(r waitRules) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.rules = r
	q.next()
}

// enter waits until the call may run; the caller must then call leave. It returns errQueueFull,
// errQueueTooLong when the deadline has passed, errQueueClosed when the call is to be requeued, or
// the cause of ctx's end. It calls joined when the call has its place, with whether it has to wait.
func (q *waitQueue) enter(ctx context.Context, e entrant, joined func(waits bool)) error {
	p, waits := q.join(e)
	joined(waits)
	var late <-chan time.Time
	if !e.deadline.IsZero() {
		timer := time.NewTimer(time.Until(e.deadline))
		defer timer.Stop()
		late = timer.C
	}
	select {
	case err := <-p.turn:
		return err
	case <-late:
		return q.withdraw(p, errQueueTooLong)
	case <-ctx.Done():
		return q.withdraw(p, context.Cause(ctx))
	}
}

// begin starts a call if it may run immediately; the caller must then call leave.
func (q *waitQueue) begin() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.running >= q.rules.limit || len(q.waiting) > 0 {
		return false
	}
	q.running++
	return true
}

// join adds a call to the wait queue, and reports whether it has to wait. If the queue is full, it
// rejects the last call in the lane's order, which may be another one.
func (q *waitQueue) join(e entrant) (p *place, waiting bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.came++
	p = &place{came: q.came, turn: make(chan error, 1)}
	if e.own {
		p.priority = ownLevel
	} else if q.rules.strategy == api.StrategyPriority {
		p.sharer = e.sharer
		p.pass = max(q.clock[p.priority], q.last[p.sharer]) + 1
		q.last[p.sharer] = p.pass
	}
	at, _ := slices.BinarySearchFunc(q.waiting, p, func(a, b *place) int { return a.compare(b) })
	q.waiting = slices.Insert(q.waiting, at, p)
	q.next()
	if q.overfull() {
		last := q.waiting[len(q.waiting)-1]
		last.turn <- errQueueFull
		q.waiting = q.waiting[:len(q.waiting)-1]
		q.forget(last)
	}
	return p, slices.Contains(q.waiting, p)
}

// overfull reports whether more calls wait than there is space for. Calls that runs themselves make
// need no space, and the others are behind them. Calls that have a slot and only wait for the rate
// need none either. The caller holds mu.
func (q *waitQueue) overfull() bool {
	own := 0
	for own < len(q.waiting) && q.waiting[own].priority == ownLevel {
		own++
	}
	delayed := max(q.rules.limit-q.running-own, 0)
	return len(q.waiting)-own-delayed > q.rules.space
}

func (p *place) compare(other *place) int {
	return slices.Compare([]int64{int64(p.priority), p.pass, p.came}, []int64{int64(other.priority),
		other.pass, other.came})
}

// next starts the calls whose turn it is. The caller holds mu.
func (q *waitQueue) next() {
	for q.running < q.rules.limit && len(q.waiting) > 0 && q.pay(time.Now()) {
		p := q.waiting[0]
		q.waiting = q.waiting[1:]
		q.running++
		q.clock[p.priority] = max(q.clock[p.priority], p.pass)
		if q.last[p.sharer] <= q.clock[p.priority] {
			delete(q.last, p.sharer) // without it, the next pass is the same
		}
		p.turn <- nil
	}
}

// pay reports whether the rate allows a call to start, and counts the start. Otherwise next is
// called when the rate allows one. The caller holds mu.
func (q *waitQueue) pay(now time.Time) bool {
	if q.rules.rate <= 0 {
		return true
	}
	interval := time.Duration(float64(time.Second) / q.rules.rate)
	burst := max(time.Second-interval, 0)
	if wait := q.paid.Add(-burst).Sub(now); wait > 0 {
		if q.timer == nil {
			q.timer = time.AfterFunc(wait, func() {
				q.mu.Lock()
				defer q.mu.Unlock()
				q.timer = nil
				q.next()
			})
		}
		return false
	}
	if q.paid.Before(now) {
		q.paid = now
	}
	q.paid = q.paid.Add(interval)
	return true
}

// owes returns for how long the started calls use up the rate.
func (q *waitQueue) owes(now time.Time) time.Duration {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.rules.rate <= 0 {
		return 0
	}
	return q.paid.Sub(now)
}

// forget sets the last pass of a fairness key after one of its calls has left without running. Only
// keys with waiting calls are remembered, so that the map does not grow while the lane is busy.
func (q *waitQueue) forget(left *place) {
	delete(q.last, left.sharer)
	for _, p := range q.waiting {
		if p.sharer == left.sharer && q.rules.strategy == api.StrategyPriority {
			q.last[p.sharer] = p.pass // waiting calls are in the order of their passes
		}
	}
}

// withdraw removes a call from the wait queue and returns why. If the call's turn came at the same
// moment, it returns the result of the turn instead.
func (q *waitQueue) withdraw(p *place, why error) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	i := slices.Index(q.waiting, p)
	if i < 0 {
		return <-p.turn
	}
	q.waiting = slices.Delete(q.waiting, i, i+1)
	q.forget(p)
	return why
}

// leave ends a call that ran.
func (q *waitQueue) leave() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.running--
	q.next()
}

// turnAway rejects all waiting calls.
func (q *waitQueue) turnAway(why error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, p := range q.waiting {
		p.turn <- why
	}
	q.waiting = nil
	clear(q.last)
}

// length returns the number of waiting calls.
func (q *waitQueue) length() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.waiting)
}
