package workflows

import "go.temporal.io/sdk/workflow"

// maxInFlight bounds the calls that one run has scheduled at a time; the server refuses more than 2,000.
const maxInFlight = 500

// batch runs calls that wait for each other.
type dispatcher struct {
	// waits has for each call the indices of the calls that must end first.
	waits [][]int
	// launch starts calls that are ready, and gives for each its future, or nil where the call is over already.
	launch func(ctx workflow.Context, ready []int) ([]workflow.Future, error)
	// fits tells how many of the calls that are ready, from the first on, fit into the run's history beside those that run;
	// refuse takes calls for which there will be no room any more.
	fits   func(ctx workflow.Context, ready []int) int
	refuse func(ctx workflow.Context, ready []int) error
	// full is set where there is no room for any call, though none runs.
	full bool
	// skip takes a call that was ready when the context had been cancelled: it is not started any more.
	skip func(i int)
	// finish takes the future of a call that has ended. It returns another one where the call goes on after all.
	finish func(ctx workflow.Context, i int, f workflow.Future) (again workflow.Future)
	// control pauses the batch; resuming is set while the batch waits for it to go on.
	control  *control
	resuming bool
}

// run runs the whole batch and returns when every call that was started has ended: with the error of launch, if there
// was one, after which nothing more is started.
func (b *dispatcher) run(ctx workflow.Context) error {
	q := newQueue(b.waits)
	selector := workflow.NewSelector(ctx)
	var failure error
	for {
		for ready := b.take(ctx, selector, q); len(ready) > 0; ready = b.take(ctx, selector, q) {
			futures, err := b.start(ctx, ready)
			if err != nil {
				failure = err
				q.abandon(len(ready))
				break
			}
			b.follow(ctx, selector, q, ready, futures)
		}
		if q.running == 0 && len(q.ready) == 0 {
			return failure
		}
		selector.Select(ctx)
	}
}

// take returns calls that are ready; none while the run is paused, and then has the selector tell of its end.
func (b *dispatcher) take(ctx workflow.Context, s workflow.Selector, q *queue) []int {
	if ctx.Err() != nil || b.full {
		return q.take(maxInFlight)
	}
	if b.control.paused == nil {
		return b.takeFitting(ctx, q)
	}
	if !b.resuming {
		b.resuming = true
		s.AddFuture(b.control.resumed(ctx), func(workflow.Future) { b.resuming = false })
	}
	return nil
}

// takeFitting returns calls that are ready and for which there is room. Where there is none, those that run are waited for, and if
// none does, there will never be any.
func (b *dispatcher) takeFitting(ctx workflow.Context, q *queue) []int {
	n := min(len(q.ready), maxInFlight-q.running)
	if n <= 0 {
		return nil
	}
	if n = b.fits(ctx, q.ready[:n]); n == 0 && q.running == 0 {
		b.full = true
		return q.take(maxInFlight)
	}
	return q.take(q.running + n)
}

// start launches calls, unless there is no room for them, or the context is cancelled, be it while they are admitted: scheduling
// them then would let a worker begin what nobody waits for.
func (b *dispatcher) start(ctx workflow.Context, ready []int) ([]workflow.Future, error) {
	if ctx.Err() == nil {
		futures, err := b.begin(ctx, ready)
		if err == nil || ctx.Err() == nil {
			return futures, err
		}
	}
	for _, i := range ready {
		b.skip(i)
	}
	return make([]workflow.Future, len(ready)), nil
}

func (b *dispatcher) begin(ctx workflow.Context, ready []int) ([]workflow.Future, error) {
	if b.full {
		return make([]workflow.Future, len(ready)), b.refuse(ctx, ready)
	}
	return b.launch(ctx, ready)
}

func (b *dispatcher) follow(ctx workflow.Context, s workflow.Selector, q *queue, ready []int, futures []workflow.Future) {
	for n, i := range ready {
		if futures[n] == nil {
			q.end(i)
			continue
		}
		b.await(ctx, s, q, i, futures[n])
	}
}

func (b *dispatcher) await(ctx workflow.Context, s workflow.Selector, q *queue, i int, f workflow.Future) {
	s.AddFuture(f, func(f workflow.Future) {
		if again := b.finish(ctx, i, f); again != nil {
			b.await(ctx, s, q, i, again)
			return
		}
		q.end(i)
	})
}

// queue tells which calls are ready: all those they wait for have ended.
type queue struct {
	missing []int   // per call: how many it still waits for
	waiters [][]int // per call: who waits for it
	ready   []int
	running int
	closed  bool
}

func newQueue(waits [][]int) *queue {
	q := &queue{missing: make([]int, len(waits)), waiters: make([][]int, len(waits))}
	for i, before := range waits {
		q.missing[i] = len(before)
		for _, j := range before {
			q.waiters[j] = append(q.waiters[j], i)
		}
		if len(before) == 0 {
			q.ready = append(q.ready, i)
		}
	}
	return q
}

// take removes and returns ready calls, as many as keep the running ones within limit.
func (q *queue) take(limit int) []int {
	n := min(len(q.ready), limit-q.running)
	if n <= 0 {
		return nil
	}
	taken := q.ready[:n]
	q.ready = q.ready[n:]
	q.running += n
	return taken
}

// abandon gives back the n calls taken last, and makes none ready any more.
func (q *queue) abandon(n int) {
	q.running -= n
	q.ready, q.closed = nil, true
}

func (q *queue) end(i int) {
	q.running--
	if q.closed {
		return
	}
	for _, w := range q.waiters[i] {
		if q.missing[w]--; q.missing[w] == 0 {
			q.ready = append(q.ready, w)
		}
	}
}
