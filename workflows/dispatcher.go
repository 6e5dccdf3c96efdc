package workflows

import (
	"github.com/switchyard/switchyard/api"
	"go.temporal.io/sdk/workflow"
)

// maxInFlight bounds the calls that one run has scheduled at a time; the server rejects more than
// 2,000.
const maxInFlight = 500

// dispatched are calls that a dispatcher runs, by index.
type dispatched interface {
	// at returns calls, which need not be admitted.
	at(indices []int) []*callRun
	// prepare returns calls that are ready, admitted. A call with an error in its decision is not
	// executed.
	prepare(ctx workflow.Context, ready []int) ([]*callRun, error)
	// end takes the outcome of a call.
	end(i int, out api.CallOutcome)
}

// dispatcher runs calls that wait for each other.
type dispatcher struct {
	pipeline *pipeline
	calls    dispatched
	// waits has for each call the indices of the calls that must end first.
	waits [][]int
	// full is set if the history has no room for any call, though none runs.
	full bool
	// resuming is set while the dispatcher waits for a paused run to be resumed.
	resuming bool
}

// run runs all calls and returns when every call that was started has ended. The error is that of
// prepare, after which no more calls start.
func (d *dispatcher) run(ctx workflow.Context) error {
	q := newQueue(d.waits)
	selector := workflow.NewSelector(ctx)
	var failure error
	for {
		for ready := d.take(ctx, selector, q); len(ready) > 0; ready = d.take(ctx, selector, q) {
			if err := d.start(ctx, selector, q, ready); err != nil {
				failure = err
				q.abandon(len(ready))
				break
			}
		}
		if q.running == 0 && len(q.ready) == 0 {
			return failure
		}
		selector.Select(ctx)
	}
}

// take returns calls that are ready; none while the run is paused.
func (d *dispatcher) take(ctx workflow.Context, s workflow.Selector, q *queue) []int {
	if ctx.Err() != nil || d.full {
		return q.take(maxInFlight)
	}
	control := d.pipeline.control
	if control.paused == nil {
		return d.takeFitting(ctx, q)
	}
	if !d.resuming {
		d.resuming = true
		s.AddFuture(control.resumed(ctx), func(workflow.Future) { d.resuming = false })
	}
	return nil
}

// takeFitting returns ready calls that fit into the history. If none fits, it waits for those that
// run; if none runs, no call will ever fit.
func (d *dispatcher) takeFitting(ctx workflow.Context, q *queue) []int {
	n := min(len(q.ready), maxInFlight-q.running)
	if n <= 0 {
		return nil
	}
	if n = d.pipeline.fitting(ctx, d.calls.at(q.ready[:n])); n == 0 && q.running == 0 {
		d.full = true
		return q.take(maxInFlight)
	}
	return q.take(q.running + n)
}

// start starts calls, unless they do not fit or the context is cancelled, even during their
// admission: a worker would execute a call that no run waits for.
func (d *dispatcher) start(ctx workflow.Context, s workflow.Selector, q *queue, ready []int) error {
	calls, err := d.admitted(ctx, ready)
	if err != nil && ctx.Err() == nil {
		return err
	}
	for n, i := range ready {
		done := func(out api.CallOutcome) {
			d.calls.end(i, out)
			q.end(i)
		}
		if err != nil {
			done(d.pipeline.refused(d.calls.at([]int{i})[0].call, api.NotStartedError()))
			continue
		}
		calls[n].start(ctx, s, done)
	}
	return nil
}

// admitted returns calls that are ready, with their decisions.
func (d *dispatcher) admitted(ctx workflow.Context, ready []int) ([]*callRun, error) {
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case d.full:
		calls := d.calls.at(ready)
		return calls, d.pipeline.noHistoryLeft(ctx, calls)
	}
	return d.calls.prepare(ctx, ready)
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
