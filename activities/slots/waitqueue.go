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

// waitQueue has the calls that were taken from a lane's task queue: it limits how many run and how
// many wait, in the lane's order, and rejects the others. Its limits are exact, because it is the
// only place that decides.
type waitQueue struct {
	mu           sync.Mutex
	limit, space int
	strategy     api.Strategy
	running      int
	waiting      []*place // in the order in which they run
	// came counts the calls. clock is the pass of the last started call of a priority, last the
	// last pass of each fairness key.
	came  int64
	clock map[int]int64
	last  map[sharer]int64
}

// sharer is one fairness key among the calls of one priority.
type sharer struct {
	priority int
	fairness string
}

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
func (l *waitQueue) configure(limit, space int, strategy api.Strategy) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.limit, l.space, l.strategy = limit, space, strategy
	l.next()
}

// enter waits until the call may run; the caller must then call leave. It returns errQueueFull,
// errQueueTooLong when deadline has passed (zero means no deadline), or the cause of ctx's end. It
// calls waits before the call has to wait.
func (l *waitQueue) enter(ctx context.Context, priority int, fairness string, deadline time.Time,
	waits func()) error {
	p, waiting := l.stand(priority, fairness)
	if waiting {
		waits()
	}
	var late <-chan time.Time
	if !deadline.IsZero() {
		timer := time.NewTimer(time.Until(deadline))
		defer timer.Stop()
		late = timer.C
	}
	select {
	case err := <-p.turn:
		return err
	case <-late:
		return l.give(p, errQueueTooLong)
	case <-ctx.Done():
		return l.give(p, context.Cause(ctx))
	}
}

// begin starts a call if it may run immediately; the caller must then call leave.
func (l *waitQueue) begin() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.running >= l.limit || len(l.waiting) > 0 {
		return false
	}
	l.running++
	return true
}

// stand adds a call to the wait queue, and reports whether it has to wait. If the queue is full, it
// rejects the last call in the lane's order, which may be another one.
func (l *waitQueue) stand(priority int, fairness string) (p *place, waiting bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.came++
	p = &place{came: l.came, turn: make(chan error, 1)}
	if l.strategy == api.StrategyPriority {
		p.sharer = sharer{priority, fairness}
		p.pass = max(l.clock[priority], l.last[p.sharer]) + 1
		l.last[p.sharer] = p.pass
	}
	at, _ := slices.BinarySearchFunc(l.waiting, p, func(a, b *place) int { return a.compare(b) })
	l.waiting = slices.Insert(l.waiting, at, p)
	l.next()
	if len(l.waiting) > l.space {
		last := len(l.waiting) - 1
		l.waiting[last].turn <- errQueueFull
		l.waiting = l.waiting[:last]
	}
	return p, slices.Contains(l.waiting, p)
}

func (p *place) compare(other *place) int {
	return slices.Compare([]int64{int64(p.priority), p.pass, p.came}, []int64{int64(other.priority),
		other.pass, other.came})
}

// next starts the calls whose turn it is. The caller holds mu.
func (l *waitQueue) next() {
	for l.running < l.limit && len(l.waiting) > 0 {
		p := l.waiting[0]
		l.waiting = l.waiting[1:]
		l.running++
		l.clock[p.priority] = max(l.clock[p.priority], p.pass)
		p.turn <- nil
	}
	if len(l.waiting) == 0 {
		clear(l.last) // only waiting callers have to be remembered
	}
}

// give removes a call from the wait queue with a reason. A call whose turn came at the same moment
// runs.
func (l *waitQueue) give(p *place, why error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	i := slices.Index(l.waiting, p)
	if i < 0 {
		return <-p.turn
	}
	l.waiting = slices.Delete(l.waiting, i, i+1)
	return why
}

// leave ends a call that ran.
func (l *waitQueue) leave() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.running--
	l.next()
}

// turnAway rejects all waiting calls.
func (l *waitQueue) turnAway(why error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, p := range l.waiting {
		p.turn <- why
	}
	l.waiting = nil
}

// length returns the number of waiting calls.
func (l *waitQueue) length() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.waiting)
}
