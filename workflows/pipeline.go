package workflows

import (
	"fmt"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/workflows/budget"
	"github.com/switchyard/switchyard/workflows/turn"
	"go.temporal.io/sdk/workflow"
)

// pipeline takes every call of a run through its five phases (requirement E1). Agent, plan and
// direct runs differ only in the source of their calls.
type pipeline struct {
	origin *api.Origin
	// asker returns who asked for a call, by its ID; nil for none. Only sessions have it: the
	// caller of the calls of other runs is that of the run.
	asker func(callID string) *api.Caller
	tools turn.Tools
	mode  api.Mode
	// queue is the workflow's task queue, from which the names of the lanes' queues derive.
	queue string
	usage api.Usage
	// uncounted are admitted calls of a session that have not started, so that usage lacks them.
	uncounted int
	// Run is the budget of the run's sub-agents; parent is the place of the run below the call that
	// it works for, the zero value for none.
	budget.Run
	parent *api.Parent
	// override is the argument mode for the whole tree of runs; empty leaves it to each agent.
	override api.Mode
	// priority is that of the run's calls and steps.
	priority  turn.Priority
	control   *control
	questions *questions
	// cut is why the calls of the turn are refused if the answer with them was cut off.
	cut       *api.Error
	instances *instances
	// sizes counts what the run hands to the server. passed is the origin as activities get it, and
	// passedSize its size with that of the hooks after calls, in bytes.
	sizes      *budget.Sizes
	passed     *api.Origin
	passedSize int
	// childBytes is the size of what the inputs of sub-agents have in common.
	childBytes int
	undo       undo
	journal    journal
	// followers are the features that follow the run's calls.
	followers followers
	// hooks are those of the run's agent, policies the rules of the agent and of its parent agents.
	hooks    *api.Hooks
	policies []api.PolicyRule
	// pinned is what the run is pinned to. Only admission changes it: it adds rules for all runs to
	// a run that has none.
	pinned *api.Pinned
	// runFacts records what the run has seen and done; turn is the current turn of an agent's run.
	runFacts turn.Facts
	turn     int
	// statements are the texts that the run was given, for policies.
	statements turn.Statements
	// admitted are the decisions that came with the model's answer, for the first calls of the
	// turn.
	admitted []api.AdmissionDecision
	// blocked are the calls that are rejected because they failed too often.
	blocked    []api.Repeat
	attributes attributes
	details    *details
	// stepsInline is set if the run's model steps run inline, inlineOn if they or some calls do.
	stepsInline, inlineOn bool
}

// findOrigin returns the origin of a call, with who asked for it. A call that verifies another
// has the origin of that one.
func (p *pipeline) findOrigin(callID string) api.Origin {
	o := *p.origin
	if p.asker == nil {
		return o
	}
	if who := p.asker(callID); who != nil {
		o.Caller = *who
		o.Caller.Type = p.origin.Caller.Type
	}
	return o
}

// requester returns who asked for a call; nil if that is the caller of the run.
func (p *pipeline) requester(c api.Call) *api.Caller {
	if p.asker == nil {
		return nil
	}
	return p.asker(c.RequestedID())
}

// addTools adds the tools of calls that the run or its sub-agents make, unless the run has a tool
// of
// that name.
func (p *pipeline) addTools(below []api.Tool) { p.tools.Add(below) }

// refuse counts a call that is not executed because of e and returns its outcome.
func (p *pipeline) refuse(ctx workflow.Context, c api.Call, e *api.Error) api.CallOutcome {
	return p.newCall(c, api.AdmissionDecision{ID: c.ID}).refuse(ctx, e)
}

// at returns the elements of all with those indices.
func at[T any](all []T, indices []int) []T {
	some := make([]T, len(indices))
	for n, i := range indices {
		some[n] = all[i]
	}
	return some
}

// written returns the length of the history in events and bytes, including what the workflow task
// still has to record.
func (p *pipeline) written(ctx workflow.Context) (events, bytes int) {
	info := workflow.GetInfo(ctx)
	events, bytes = p.sizes.Task.Pending(ctx)
	return events + info.GetCurrentHistoryLength(), bytes + info.GetCurrentHistorySize()
}

// countFitting returns how many of the calls, from the first on, may start besides those that run,
// so
// that the history stays under the size at which the server ends the run.
func (p *pipeline) countFitting(ctx workflow.Context, calls []*Call) int {
	events, bytes := p.written(ctx)
	return p.sizes.History.Fit(events, bytes, len(calls),
		func(i int) int { return calls[i].historyNeed() })
}

// rejectionSize is about how many bytes a rejection for lack of history is recorded with.
const rejectionSize = 1 << 10

// fullness says why the history budget is used up, and what to do.
func (p *pipeline) fullness(ctx workflow.Context) string {
	events, bytes := p.written(ctx)
	what := "Split the plan, or have its tools answer with less"
	switch p.origin.Caller.Type {
	case api.CallerSession:
		what = "Call it again when the calls that run have ended"
	case api.CallerAgent:
		what = "Call it again in the next turn, with fewer calls at a time, or ask for less"
	}
	return fmt.Sprintf("the run's history cannot take this call: with those before it, it has %d events and %.1f MiB, and a server ends a run at 51200 events or 50 MiB. %s",
		events, float64(bytes)/(1<<20), what)
}
