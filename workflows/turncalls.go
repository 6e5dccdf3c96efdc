package workflows

import (
	"cmp"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/failures"
	"github.com/switchyard/switchyard/workflows/budget"
	"github.com/switchyard/switchyard/workflows/turn"
	"go.temporal.io/sdk/workflow"
)

// runTurn admits the calls of one turn and runs them as their access rules allow. Outcomes are in
// the order of the calls.
func (p *pipeline) runTurn(ctx workflow.Context, calls []api.Call,
	order api.Order) ([]api.CallOutcome, error) {
	t, err := p.admitTurn(ctx, calls)
	if err != nil {
		return p.refuseUnadmitted(ctx, calls), err
	}
	defer p.runFacts.BeginTurn()()
	err = p.dispatch(ctx, turn.Waits(t.slots, order), t)
	return p.unbatch(len(calls), t.all, t.outcomes), err
}

// turnCalls are the calls of a turn.
type turnCalls struct {
	// all are the calls of the turn, and outcomes theirs.
	all      []*Call
	outcomes []api.CallOutcome
	// calls are those that are executed, with the indices of their outcomes and their slots.
	calls  []*Call
	places []int
	slots  []turn.Slot
}

// admitTurn admits the calls of a turn and asks for the approvals that they need.
func (p *pipeline) admitTurn(ctx workflow.Context, calls []api.Call) (*turnCalls, error) {
	decisions, err := p.admit(p.newFlow(ctx), calls)
	if err != nil {
		return nil, err
	}
	all := p.newCalls(calls, decisions)
	t := &turnCalls{all: all, outcomes: make([]api.CallOutcome, len(all))}
	for i, c := range all {
		outcome, decided := c.endUnexecuted(ctx)
		if t.outcomes[i] = outcome; decided {
			continue
		}
		p.control.approvals.ask(ctx, c.call, c.decision)
		t.calls, t.places = append(t.calls, c), append(t.places, i)
		t.slots = append(t.slots, turn.NewSlot(*c.tool, c.decision.Route.Key))
	}
	return t, nil
}

// refuseUnadmitted returns the outcomes of calls that were not admitted because the run was
// cancelled or
// its wall time had passed, and counts them, so that the audit records have them. It returns nil if
// admission failed for another reason, which ends the run.
func (p *pipeline) refuseUnadmitted(ctx workflow.Context, calls []api.Call) []api.CallOutcome {
	if ctx.Err() == nil {
		return nil
	}
	outcomes := make([]api.CallOutcome, len(calls))
	for i, c := range calls {
		outcomes[i] = p.refuse(ctx, c, failures.CancelledBeforeStart())
	}
	return outcomes
}

func (t *turnCalls) at(indices []int) []*Call { return at(t.calls, indices) }

func (t *turnCalls) prepare(_ *flow, ready []int) ([]*Call, error) {
	return t.at(ready), nil
}

func (t *turnCalls) end(i int, out api.CallOutcome) { t.outcomes[t.places[i]] = out }

// dispatch runs calls that wait for each other. When it returns, none of them has an open question
// or approval.
func (p *pipeline) dispatch(ctx workflow.Context, waits [][]int, calls dispatched) error {
	d := &dispatcher{pipeline: p, waits: waits, calls: calls}
	failure := d.run(ctx)
	return cmp.Or(failure, p.followers.Finish(ctx))
}

// noHistoryLeft admits calls as rejected because the run's history is too long for them, and sets
// those decisions. Each part of a batched call has its own decision in history. Approvals of the
// calls are withdrawn.
func (p *pipeline) noHistoryLeft(ctx workflow.Context, calls []*Call) error {
	why := p.fullness(ctx)
	byCall := map[string]api.AdmissionDecision{}
	for rest := expandBatches(calls); len(rest) > 0; {
		n := p.portion(rest)
		request := api.AdmissionRequest{Run: p.origin.Run, Base: p.queue, Calls: rest[:n],
			Refuse: api.Errorf(api.ErrBudgetExceeded, "%s", why)}
		var part []api.AdmissionDecision
		var err error
		options := withSummary(withAdmitOptions(ctx, nil), "no history left for "+nameCalls(request.Calls))
		cancelled := p.sizes.Task.Record(ctx, n*rejectionSize, func() int {
			err = workflow.ExecuteLocalActivity(options, api.AdmitActivity, request).Get(ctx, &part)
			return budget.DecisionsSize(part)
		})
		if err := cmp.Or(cancelled, err); err != nil {
			return err
		}
		for _, v := range part {
			byCall[v.ID] = v
		}
		rest = rest[n:]
	}
	for _, c := range calls {
		c.decision = byCall[c.call.ID]
		p.control.approvals.withdraw(ctx, c.call.ID, why)
	}
	return nil
}

// expandBatches returns calls as the model made them: the parts in place of batched calls.
func expandBatches(calls []*Call) (all []api.Call) {
	for _, c := range calls {
		if len(c.parts) == 0 {
			all = append(all, c.call)
		}
		for _, part := range c.parts {
			all = append(all, part.call)
		}
	}
	return all
}
