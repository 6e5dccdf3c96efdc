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
	errLineFull    = errors.New("the queue of the lane is full")
	errLineTooLong = errors.New("the call has waited too long for its turn")
	errLineClosed  = errors.New("this worker serves the lane no more")
)

// line is where calls wait that have been taken from a lane's queue: it runs so many at a time,
// lets so many wait, in the lane's order, and turns the rest away. What it decides is exact,
// because it alone decides.
type line struct {
	mu           sync.Mutex
	limit, space int
	strategy     api.Strategy
	running      int
	waiting      []*place // in the order in which they run
	// came counts the calls. clock is the pass of the call of a priority that ran last, last that
	// of the last one of each who shares the lane.
	came  int64
	clock map[int]int64
	last  map[sharer]int64
}

// sharer is one of those who share the slots of calls of one priority.
type sharer struct {
	priority int
	fairness string
}

// place is a call's in the line.
type place struct {
	sharer
	// pass orders the calls of one priority so that those who share the lane take turns; came
	// breaks ties.
	pass, came int64
	// turn gets nil when the call may run, or why it may not.
	turn chan error
}

func newWaitQueue() *line { return &line{clock: map[int]int64{}, last: map[sharer]int64{}} }

// configure changes the rules of the line. Calls that wait already stay, also where there would be
// no room for them now.
func (l *line) configure(limit, space int, strategy api.Strategy) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.limit, l.space, l.strategy = limit, space, strategy
	l.next()
}

// enter waits until the call may run: leave must be called then. Where it may not, the error is
// errLineFull, errLineTooLong when deadline has passed (the zero time never does), or the cause of
// ctx's end. waits is called before the call has to wait.
func (l *line) enter(ctx context.Context, priority int, fairness string, deadline time.Time,
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
		return l.give(p, errLineTooLong)
	case <-ctx.Done():
		return l.give(p, context.Cause(ctx))
	}
}

// begin lets a call run at once, where it may: leave must be called then.
func (l *line) begin() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.running >= l.limit || len(l.waiting) > 0 {
		return false
	}
	l.running++
	return true
}

// stand puts a call into the line, and reports whether it has to wait there. Whoever stands where
// there is no room is turned away: the last one in the lane's order, which may be another.
func (l *line) stand(priority int, fairness string) (p *place, waiting bool) {
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
		l.waiting[last].turn <- errLineFull
		l.waiting = l.waiting[:last]
	}
	return p, slices.Contains(l.waiting, p)
}

func (p *place) compare(other *place) int {
	return slices.Compare([]int64{int64(p.priority), p.pass, p.came}, []int64{int64(other.priority),
		other.pass, other.came})
}

// next lets those run whose turn it is. The caller holds mu.
func (l *line) next() {
	for l.running < l.limit && len(l.waiting) > 0 {
		p := l.waiting[0]
		l.waiting = l.waiting[1:]
		l.running++
		l.clock[p.priority] = max(l.clock[p.priority], p.pass)
		p.turn <- nil
	}
	if len(l.waiting) == 0 {
		clear(l.last) // nobody has to be remembered who does not wait
	}
}

// give takes a call out of the line, for a reason. Where its turn has come at the same moment, it
// has it.
func (l *line) give(p *place, why error) error {
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
func (l *line) leave() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.running--
	l.next()
}

// turnAway takes everybody out of the line who waits there.
func (l *line) turnAway(why error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, p := range l.waiting {
		p.turn <- why
	}
	l.waiting = nil
}

// length is how many calls wait.
func (l *line) length() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.waiting)
}
