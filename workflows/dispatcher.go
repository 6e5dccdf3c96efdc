package workflows

import (
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/batches"
	"github.com/switchyard/switchyard/internal/core/failures"
	"github.com/switchyard/switchyard/workflows/turn"
	"go.temporal.io/sdk/workflow"
)

// maxInFlight bounds the calls that one run has scheduled at a time; the server rejects more than
// 2,000.
const maxInFlight = 500

// dispatched are calls that a dispatcher runs, by index.
type dispatched interface {
	// at returns calls, which need not be admitted.
	at(indices []int) []*Call
	// prepare returns calls that are ready, admitted. A call with an error in its decision is not
	// executed.
	prepare(f *flow, ready []int) ([]*Call, error)
	// end takes the outcome of a call.
	end(i int, out api.CallOutcome)
}

// dispatcher runs calls that wait for each other.
type dispatcher struct {
	pipeline *pipeline
	calls    dispatched
	// waits has for each call the indices of the calls that must end first.
	waits [][]int
	// full is set if the history budget fits no call, though none runs.
	full bool
	// resuming is set while the dispatcher waits for a paused run to be resumed.
	resuming bool
}

// run runs all calls and returns when every call that was started has ended. The error is that of
// prepare, after which no more calls start.
func (d *dispatcher) run(ctx workflow.Context) error {
	q := turn.NewQueue(d.waits)
	running := d.pipeline.newFlow(ctx)
	var failure error
	for {
		for ready := d.take(running, q); len(ready) > 0; ready = d.take(running, q) {
			if err := d.start(running, q, ready); err != nil {
				failure = err
				q.Abandon(len(ready))
				break
			}
		}
		if q.Running == 0 && len(q.Ready) == 0 {
			return failure
		}
		running.wait()
	}
}

// take returns calls that are ready; none while the run is paused.
func (d *dispatcher) take(f *flow, q *turn.Queue) []int {
	if f.ctx.Err() != nil || d.full {
		return q.Take(maxInFlight)
	}
	if d.pipeline.control.paused == nil {
		return d.takeFitting(f.ctx, q)
	}
	if !d.resuming {
		d.resuming = true
		f.afterPause(func(error) { d.resuming = false })
	}
	return nil
}

// takeFitting returns ready calls that fit into the history budget. If none fits, it waits for
// running calls; if none runs, no call will ever fit.
func (d *dispatcher) takeFitting(ctx workflow.Context, q *turn.Queue) []int {
	n := min(len(q.Ready), maxInFlight-q.Running)
	if n <= 0 {
		return nil
	}
	if n = d.pipeline.countFitting(ctx, d.calls.at(q.Ready[:n])); n == 0 && q.Running == 0 {
		d.full = true
		return q.Take(maxInFlight)
	}
	return q.Take(q.Running + n)
}

// start starts calls, unless they exceed the history budget or the context is cancelled, even
// during their admission: otherwise a worker would execute a call that no run waits for.
func (d *dispatcher) start(f *flow, q *turn.Queue, ready []int) error {
	calls, err := d.admit(f, ready)
	if err != nil && f.ctx.Err() == nil {
		return err
	}
	for n, i := range ready {
		done := func(out api.CallOutcome) {
			d.calls.end(i, out)
			q.End(i)
		}
		if err != nil {
			done(d.calls.at([]int{i})[0].refuse(f.ctx, failures.CancelledBeforeStart()))
			continue
		}
		calls[n].start(f, done)
	}
	return nil
}

// admit returns calls that are ready, with their decisions.
func (d *dispatcher) admit(f *flow, ready []int) ([]*Call, error) {
	switch {
	case f.ctx.Err() != nil:
		return nil, f.ctx.Err()
	case d.full:
		calls := d.calls.at(ready)
		return calls, d.pipeline.noHistoryLeft(f.ctx, calls)
	}
	return d.calls.prepare(f, ready)
}

// newCalls returns the admitted calls of a turn, batched as their decisions say: a batched call
// takes the place of its first part. A call of which a feature has the outcome is not batched: it
// is not executed.
func (p *pipeline) newCalls(calls []api.Call, decisions []api.AdmissionDecision) []*Call {
	share := p.Divide(p.usage, decisions)
	runs := make([]*Call, 0, len(calls))
	batches := map[string]*Call{}
	for i, v := range decisions {
		known := p.known(calls[i], v)
		batched := v.Batch != "" && known == nil
		if c := batches[v.Batch]; batched && c != nil {
			c.parts = append(c.parts, part{call: calls[i], decision: v, place: i})
			continue
		}
		c := p.newCall(calls[i], v)
		c.place, c.share, c.known = i, share, known
		if batched {
			batches[v.Batch] = c
			c.parts = []part{{call: calls[i], decision: v, place: i}}
		}
		runs = append(runs, c)
	}
	for _, c := range runs {
		c.merge()
	}
	return runs
}

// known returns the outcome that a feature has for a call; nil for none, and for a call that is not
// executed anyway.
func (p *pipeline) known(c api.Call, v api.AdmissionDecision) *KnownOutcome {
	if v.Error != nil || v.Result != nil {
		return nil
	}
	return p.followers.Take(c, selectArguments(c, v))
}

// merge gives a batched call the elements of all its parts.
func (c *Call) merge() {
	if len(c.parts) < 2 {
		c.parts = nil
		return
	}
	var all []any
	for i := range c.parts {
		part := &c.parts[i]
		// Admission batches a call only if there are elements.
		list, _, _ := batches.Elements(*c.tool.Batch, selectArguments(part.call, part.decision))
		all = append(all, list...)
		part.Part = api.Part{ID: part.call.ID, Elements: len(list)}
	}
	if arguments, err := batches.Arguments(*c.tool.Batch, c.Arguments(), all); err == nil {
		c.decision.Arguments, c.size = arguments, 0
	}
}

// unbatch returns the outcomes of the n calls of a turn from those of the calls that were made.
func (p *pipeline) unbatch(n int, runs []*Call, outcomes []api.CallOutcome) []api.CallOutcome {
	all := make([]api.CallOutcome, n)
	for i, c := range runs {
		whole := outcomes[i]
		if len(c.parts) == 0 {
			all[c.place] = whole
			continue
		}
		for nth, part := range c.parts {
			if whole.ID == "" {
				continue // the turn failed before the call was made
			}
			all[part.place] = batches.Part(whole, part.ID)
			p.countPart(c, whole, all[part.place], nth)
		}
	}
	return all
}

// countPart counts the nth part of a batched call; the whole has been counted as one call.
func (p *pipeline) countPart(c *Call, whole, own api.CallOutcome, n int) {
	if n > 0 {
		p.usage.Calls++
	}
	if n > 0 && !c.refused { // else factsFollower has counted it
		p.runFacts.RecordOutcome(own, p.tools.Of(own.Tool))
	}
	if own.Error != nil && (n > 0 || whole.Error == nil) {
		p.usage.Failed++
	}
}
