package workflows

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/planrules"
	"github.com/switchyard/switchyard/internal/value/jsonvalue"
	"github.com/switchyard/switchyard/workflows/budget"
	"github.com/switchyard/switchyard/workflows/turn"
	"go.temporal.io/sdk/workflow"
)

// planWorkflow is the workflow of a plan run. Each call of the plan runs as soon as the calls that
// it needs have succeeded and the access rules of its lane allow it. The whole plan is checked
// before anything runs. A call that needs a failed one does not run; the others continue. Any
// failed call makes the run fail with the type api.RunCallsFailed and the RunResult as its
// details.
func planWorkflow(ctx workflow.Context, in *api.RunInput) (*api.RunResult, error) {
	if in.Plan == nil {
		return nil,
			Invalid([]api.Problem{{Path: "$.plan", Rule: api.RuleRequired,
				Message: "the input has no plan"}})
	}
	plan := in.Plan.Value
	problems := planrules.Check(plan)
	if len(plan.Calls) > maxPlanCalls {
		problems = append(problems, api.Problem{Path: "$.calls", Rule: "max_items",
			Message: fmt.Sprintf("the plan has %d calls; one run's history holds at most %d",
				len(plan.Calls), maxPlanCalls)})
	}
	if len(problems) > 0 {
		return finishRun(ctx, in, nil, nil, Invalid(problems))
	}
	var pinned api.Pinned
	return runFrom(ctx, in, &pinned, &planRun{basicSource: basicSource{in}, plan: plan})
}

func (r *planRun) caller() api.Caller {
	return api.Caller{Type: api.CallerPlan, ID: r.plan.Name}
}

func (r *planRun) mode() api.Mode { return cmp.Or(r.in.Mode, r.plan.Mode) }

func (r *planRun) pins(_ workflow.Context, run string) *api.PinRequest {
	return &api.PinRequest{Run: run, Parent: r.in.Parent, Plan: &r.plan,
		Tools: listPlanTools(r.plan)}
}

// begin takes over what the run above leaves to the run of a plan tool: its part of the budget.
func (r *planRun) begin(ctx workflow.Context, p *pipeline) error {
	r.prepareRuns(p)
	if r.in.Limits != nil {
		p.Run = budget.Run{Limits: *r.in.Limits, Started: workflow.Now(ctx)}
	}
	p.undo.set(r.plan.Undo)
	return nil
}

// makeCalls admits the calls whose arguments are known, and makes all calls.
func (r *planRun) makeCalls(ctx workflow.Context) (*api.RunResult, error) {
	if err := r.admitFixed(ctx); err != nil {
		r.pipeline.refuseUnadmitted(ctx, r.requests())
		return nil, err
	}
	if err := findStopCause(ctx, r.pipeline.dispatch(ctx, r.waits(), r)); err != nil {
		return nil, err
	}
	result, err := r.pipeline.callsResult(r.results.Outcomes, r.output)
	if r.in.Parent != nil && result != nil { // what the run above needs
		result.Labels, result.Undo = r.pipeline.runFacts.Labels, r.pipeline.undo.pack()
	}
	return result, err
}

// maxPlanCalls keeps a plan's history below the 51,200 events at which servers end a run; a call
// takes six to nine events.
const maxPlanCalls = 5000

type planRun struct {
	basicSource
	plan     api.Plan
	pipeline *pipeline
	// list has the plan's calls, sorted by their dependencies; the others have the same indices.
	// runs is nil for calls that have ended, withheld is set for those that were dry runs.
	list               []api.PlanCall
	runs               []*Call
	admitted, withheld []bool
	needs              [][]string
	results            *turn.Results
}

// prepareRuns sets the calls of the plan.
func (r *planRun) prepareRuns(p *pipeline) {
	r.pipeline, r.list = p, planrules.Sort(r.plan)
	r.runs = make([]*Call, len(r.list))
	r.admitted, r.withheld = make([]bool, len(r.list)), make([]bool, len(r.list))
	r.needs = make([][]string, len(r.list))
	for i, c := range r.list {
		r.needs[i] = planrules.Needs(c)
		r.runs[i] = p.newCall(api.Call{ID: c.ID, Tool: c.Tool, Arguments: literal(c),
			Priority: c.Priority,
			Ask:      c.Ask}, api.AdmissionDecision{})
	}
	output, _ := r.template() // the run's output reports the error
	r.results = turn.NewResults(r.list, output)
}

// literal returns the unescaped arguments of a call without references, and the arguments of other
// calls as written.
func literal(c api.PlanCall) string {
	if !strings.Contains(string(c.Arguments), "$${") || len(planrules.References(c)) > 0 {
		return string(c.Arguments)
	}
	value, err := jsonvalue.Decode(c.Arguments)
	if err == nil {
		value, err = planrules.Resolve(value, func(string) (any, bool) { return nil, false })
	}
	if data, encodeErr := jsonvalue.Encode(value); err == nil && encodeErr == nil {
		return string(data)
	}
	return string(c.Arguments)
}

// admitFixed admits, in one recorded step, the calls whose arguments are known from the start. If
// one of them cannot run, no call runs.
func (r *planRun) admitFixed(ctx workflow.Context) error {
	var fixed []int
	for i, c := range r.list {
		if len(planrules.References(c)) == 0 {
			fixed = append(fixed, i)
		}
	}
	if err := r.admit(r.pipeline.newFlow(ctx), fixed); err != nil {
		return err
	}
	var problems []api.Problem
	for _, i := range fixed {
		if e := r.runs[i].decision.Error; e != nil {
			problems = append(problems, api.Problem{Path: "$.calls." + r.list[i].ID,
				Rule: string(e.Type), Message: e.Error()})
		}
	}
	if len(problems) > 0 {
		return Invalid(problems)
	}
	r.askApprovals(ctx)
	return nil
}

// askApprovals opens at once all approvals of calls with fixed arguments, so that people see all of
// them together.
func (r *planRun) askApprovals(ctx workflow.Context) {
	for _, c := range r.runs {
		r.pipeline.control.approvals.ask(ctx, c.call, c.decision)
	}
}

func (r *planRun) admit(f *flow, calls []int) error {
	if len(calls) == 0 {
		return nil
	}
	requests := make([]api.Call, len(calls))
	for n, i := range calls {
		requests[n] = r.runs[i].call
	}
	decisions, err := r.pipeline.admit(f, requests)
	if err != nil {
		return err
	}
	for n, i := range calls {
		r.runs[i], r.admitted[i] = r.pipeline.newCall(requests[n], decisions[n]), true
	}
	return nil
}

// waits returns for each call the indices of the calls that must end before it starts, because it
// needs them or because of the access rules of its lane.
func (r *planRun) waits() [][]int {
	slots := make([]turn.Slot, len(r.list))
	needs := make([][]int, len(r.list))
	unknown := map[string]bool{} // lanes with a call whose key depends on results
	for i, c := range r.list {
		lane := r.pipeline.tools.Of(c.Tool).Lane
		unknown[lane] = unknown[lane] || !r.admitted[i]
	}
	for i, c := range r.list {
		tool, key := r.pipeline.tools.Of(c.Tool), ""
		if !unknown[tool.Lane] {
			key = r.runs[i].decision.Route.Key
		}
		slots[i] = turn.NewSlot(tool, key)
		for _, need := range r.needs[i] {
			needs[i] = append(needs[i], r.results.Index[need])
		}
	}
	return turn.PlanWaits(slots, needs)
}

// requests returns the calls of the plan.
func (r *planRun) requests() []api.Call {
	requests := make([]api.Call, len(r.runs))
	for i, c := range r.runs {
		requests[i] = c.call
	}
	return requests
}

// prepare resolves the references of calls that are ready and admits them together. A call that
// cannot be made has the reason as the error of its decision.
func (r *planRun) prepare(f *flow, ready []int) ([]*Call, error) {
	var late []int
	for _, i := range ready {
		c := r.runs[i]
		if fault := r.ready(i); fault != nil {
			r.pipeline.control.approvals.withdraw(f.ctx, c.call.ID, fault.Message)
			c.decision = api.AdmissionDecision{Error: fault}
		} else if !r.admitted[i] {
			late = append(late, i)
		}
		r.results.MarkResolved(i)
	}
	if err := r.admit(f, late); err != nil {
		return nil, err
	}
	return at(r.runs, ready), nil
}

// ready checks that the calls that call i needs have succeeded, and resolves its arguments.
func (r *planRun) ready(i int) *api.Error {
	for _, need := range r.needs[i] {
		if r.results.Outcomes[r.results.Index[need]].Error != nil {
			return notRun("it needs call %q, which did not succeed", need)
		}
	}
	if r.admitted[i] {
		return nil
	}
	return r.resolve(i)
}

// resolve puts the results that call i refers to into its arguments.
func (r *planRun) resolve(i int) *api.Error {
	c := r.list[i]
	for _, ref := range planrules.References(c) {
		if r.withheld[r.results.Index[ref.ID]] {
			return notRun("it refers to the result of call %q, which was a dry run", ref.ID)
		}
		if result := r.results.Of(ref.ID); result != nil && result.Cut > 0 {
			return notRun("it refers to the result of call %q, of which %d bytes were cut; raise that tool's max_result, or ask it for less",
				ref.ID, result.Cut)
		}
	}
	value, err := jsonvalue.Decode(c.Arguments)
	if err != nil {
		return notRun("its arguments are not JSON: %v", err)
	}
	if size := r.results.Size(value); size > api.MaxArguments {
		return api.TooLarge("the arguments of "+c.Tool+" with the results that they refer to", size,
			api.MaxArguments, "refer to the parts of the results that the call needs")
	}
	resolved, err := planrules.Resolve(value, r.results.Lookup)
	if err != nil {
		return notRun("%v", err)
	}
	arguments, err := jsonvalue.Encode(resolved)
	if err != nil {
		return notRun("its arguments cannot be written as JSON: %v", err)
	}
	r.runs[i].call.Arguments = string(arguments)
	return nil
}

func notRun(format string, args ...any) *api.Error {
	e := api.Errorf(api.ErrPreconditionFailed, format, args...)
	e.Phase = api.PhasePreValidation
	return e
}

// at returns calls with those indices. For a call that is not admitted, it sets the size of the
// results that its arguments will contain.
func (r *planRun) at(indices []int) []*Call {
	calls := at(r.runs, indices)
	for n, i := range indices {
		if r.admitted[i] || calls[n].referenced > 0 {
			continue // known: the results that a ready call needs do not change
		}
		for _, ref := range planrules.References(r.list[i]) {
			if result := r.results.Of(ref.ID); result != nil {
				calls[n].referenced += len(result.Output)
			}
		}
	}
	return calls
}

// end takes the outcome of call i.
func (r *planRun) end(i int, out api.CallOutcome) {
	r.withheld[i] = r.runs[i].decision.DryRun
	r.runs[i] = nil
	r.results.End(i, out)
}

// output returns the run's output as JSON.
func (r *planRun) output() ([]byte, error) {
	template, err := r.template()
	if err != nil {
		return nil, err
	}
	if size := r.results.Size(template); size > api.MaxPayload {
		return nil, fmt.Errorf("every call completed, but the run's output has %d bytes as JSON and the limit is %d; declare a smaller output",
			size, api.MaxPayload)
	}
	value, err := planrules.Resolve(template, r.results.Lookup)
	if err != nil {
		return nil, fmt.Errorf("the plan's output: %w", err)
	}
	data, err := jsonvalue.Encode(value)
	return json.RawMessage(data), err
}

// template returns what the plan declares as its output, or references to the calls that no other
// call needs.
func (r *planRun) template() (any, error) {
	if len(r.plan.Output) > 0 {
		declared, err := jsonvalue.Decode(r.plan.Output)
		if err != nil {
			return nil, fmt.Errorf("the plan's output: %w", err)
		}
		return declared, nil
	}
	needed := map[string]bool{}
	for _, needs := range r.needs {
		for _, n := range needs {
			needed[n] = true
		}
	}
	last := map[string]any{}
	for _, c := range r.list {
		if !needed[c.ID] {
			last[c.ID] = "${" + c.ID + "}"
		}
	}
	return last, nil
}
