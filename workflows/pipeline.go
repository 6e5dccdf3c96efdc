package workflows

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/switchyard/switchyard/api"
	"go.temporal.io/sdk/workflow"
)

// pipeline takes every call of a run through its five phases (requirement E1). Agent, plan and direct runs differ only
// in where calls come from: there is no second way in.
type pipeline struct {
	origin  api.Origin
	catalog api.Catalog
	tools   map[string]api.Tool
	mode    api.Mode
	// queue is the task queue of the workflow, from which the lanes' queues derive.
	queue string
	usage api.Usage
	// budget bounds the run's sub-agents; parent is what the run works for itself, the zero value for nothing.
	budget
	parent api.Parent
	// override is how strictly the whole tree of runs reads arguments; empty leaves it to each agent.
	override api.Mode
	// rank is where the run's calls and steps stand among those of others.
	priority priority
	// openUntil is, of admitted calls on keyed lanes by id, until when their keys' queues are served for certain; handedBack
	// counts how often workers handed a call back.
	// verified how often it was asked what had become of a call.
	openUntil map[string]time.Time
	requeued  map[string]int
	verified  map[string]int
	// parts are, of calls that are made together as one, all of them, by the id of the first.
	parts         map[string][]part
	control       *control
	questions     *questions
	instances     *instances
	inline        inline
	historyBudget historyBudget
	undo          undo
	// hooks are those of the run's agent, policies its rules and those of the agents above it.
	hooks    api.Hooks
	policies []api.PolicyRule
	// seen is what the run has seen and done, turn the turn of an agent's run.
	runFacts runFacts
	turn     int
	// admitted are verdicts that came with the model's answer, on the first calls of the turn.
	admitted []api.AdmissionDecision
	// blocked are calls that failed so often that they are refused.
	blocked    []api.Repeat
	attributes attributes
	details    *details
	// stepsInline says that the run's model steps run inline.
	stepsInline bool
}

func newPipeline(ctx workflow.Context, in api.RunInput, origin api.Origin, catalog api.Catalog, mode api.Mode, c *control) *pipeline {
	c.questions.origin = origin
	p := &pipeline{origin: origin, catalog: catalog, mode: mode, override: in.Mode, priority: priorityOf(ctx, in, origin), control: c, questions: c.questions,
		queue: workflow.GetInfo(ctx).TaskQueueName, runFacts: newRunFacts(in), tools: make(map[string]api.Tool, len(catalog.Tools)),
		openUntil: map[string]time.Time{}, requeued: map[string]int{}, verified: map[string]int{}, parts: map[string][]part{}}
	for _, t := range catalog.Tools {
		p.tools[t.Name] = t
		p.inline.on = p.inline.on || t.Lane == api.LaneInline
	}
	p.policies = in.Policies
	if in.Agent != nil {
		p.policies = slices.Concat(in.Policies, in.Agent.Policies)
	}
	p.started = workflow.Now(ctx)
	p.instances = &instances{base: p.queue, origin: origin}
	c.approvals.edit, c.approvals.notify = p.editCall, p.notify
	p.attributes.known = in.Attributes
	p.keepAttributes(ctx)
	p.follow(ctx, in)
	return p
}

// toolsOf returns the tools that calls name and may name, each once.
func (p *pipeline) toolsOf(calls []api.Call) (tools []api.Tool) {
	named := map[string]bool{}
	for _, c := range calls {
		if t, ok := p.tools[c.Tool]; ok && !named[c.Tool] && (c.OfRun() || p.own(c.Tool)) {
			named[c.Tool] = true
			tools = append(tools, t)
		}
	}
	return tools
}

// need adds tools whose calls the run makes by itself.
func (p *pipeline) need(below []api.Tool) {
	for _, t := range below {
		if _, own := p.tools[t.Name]; !own {
			p.tools[t.Name] = t
		}
	}
}

// own reports whether the run's calls may name a tool.
func (p *pipeline) own(tool string) bool {
	_, ok := p.catalog.Find(tool)
	return ok
}

// admit takes calls through the phases pre_validation and pre_execution: one recorded step for all of them, unless what the
// model answered with said it already.
func (p *pipeline) admit(ctx workflow.Context, calls []api.Call) ([]api.AdmissionDecision, error) {
	decisions := make([]api.AdmissionDecision, 0, len(calls))
	decisions, p.admitted = append(decisions, p.admitted...), nil
	p.runFacts.admitted(calls, decisions)
	used := p.usage.Calls + claimed(decisions)
	for calls = calls[len(decisions):]; len(calls) > 0; {
		n := portion(calls)
		part, err := p.admitBatch(ctx, calls[:n], used)
		if err != nil {
			return nil, err
		}
		used += claimed(part)
		p.runFacts.admitted(calls, part)
		// Where verdicts are long, the first calls are answered alone.
		decisions, calls = append(decisions, part...), calls[len(part):]
	}
	return decisions, nil
}

// claimed is how many calls of the run's budget verdicts take.
func claimed(decisions []api.AdmissionDecision) (calls int) {
	for _, v := range decisions {
		if v.Error == nil {
			calls += 1 + v.Claim
		}
	}
	return calls
}

// Calls are admitted together up to these bounds, so that their verdicts fit into one marker: all of a turn, but for
// turns beyond reason.
const (
	maxAdmitCalls = 200
	maxAdmitBytes = 256 << 10
)

// portion returns how many of the calls are admitted together, at least one.
func portion(calls []api.Call) int {
	size := 0
	for i, c := range calls {
		if size += len(c.Arguments); i > 0 && (i == maxAdmitCalls || size > maxAdmitBytes) {
			return i
		}
	}
	return len(calls)
}

// admission is a request without calls and tools, when the calls so far have used that many of the run's.
func (p *pipeline) admission(used int) api.AdmissionRequest {
	request := api.AdmissionRequest{Run: p.origin.Run, Base: p.queue, Caller: p.origin.Caller, Known: p.catalog.Names(), AnyTool: p.origin.Caller.Type == api.CallerDirect, Mode: p.mode,
		Variables: slices.Sorted(maps.Keys(p.origin.Variables)), Depth: p.parent.Depth, Spent: p.spent(p.usage), DryRun: p.origin.DryRun, Blocked: p.blocked,
		Policies: p.policies, Facts: p.facts()}
	if p.limits.Calls > 0 {
		allow := max(p.limits.Calls-used, 0)
		request.Allow = &allow
	}
	p.withHooks(&request)
	return request
}

func (p *pipeline) admitBatch(ctx workflow.Context, calls []api.Call, used int) ([]api.AdmissionDecision, error) {
	request := p.admission(used)
	request.Calls = calls
	if calls[0].OfRun() {
		// Finding out and putting back is not held up by what the run may use.
		request.Allow = nil
	}
	request.Tools = p.toolsOf(calls)
	began := workflow.Now(ctx)
	var decisions []api.AdmissionDecision
	err := workflow.ExecuteLocalActivity(saying(withAdmitOptions(ctx, p.hooks.BeforeCall), "check of "+named(calls)), api.AdmitActivity, request).Get(ctx, &decisions)
	if err == nil && len(decisions) == 0 {
		err = errors.New("admission answered for none of the calls")
	}
	for _, v := range decisions {
		p.admittedAt(v, began)
	}
	if p.inline.on {
		p.inline.add(ctx, decisionsSize(decisions))
	}
	return decisions, err
}

// toolFor returns the tool of an admitted call, with the bounds that the call's execution plan sets.
func (p *pipeline) toolFor(c api.Call, v api.AdmissionDecision) api.Tool {
	return p.tools[c.Tool].Under(v.Plan)
}

// refused returns the outcome of a call that its verdict stops, and counts it.
func (p *pipeline) refused(c api.Call, v api.AdmissionDecision) api.CallOutcome {
	p.usage.Calls++
	p.usage.Failed++
	p.runFacts.refused(c)
	return api.CallOutcome{ID: c.ID, Tool: c.Tool, Error: v.Error}
}

// notStarted returns the outcome of a call that waited for others when the run was cancelled, and counts it.
func (p *pipeline) notStarted(c api.Call) api.CallOutcome {
	return p.refused(c, api.AdmissionDecision{Error: api.NotStartedError()})
}

// unadmitted returns the outcomes of calls that were not admitted because the run was cancelled or its wall time was over, and counts
// them: their records tell of them too. It returns nil where admission failed for another reason, which ends the run.
func (p *pipeline) unadmitted(ctx workflow.Context, calls []api.Call) []api.CallOutcome {
	if ctx.Err() == nil {
		return nil
	}
	outcomes := make([]api.CallOutcome, len(calls))
	for i, c := range calls {
		outcomes[i] = p.notStarted(c)
	}
	return outcomes
}

// execute starts an admitted call, at once or when a person has approved it.
func (p *pipeline) execute(ctx workflow.Context, c api.Call, v api.AdmissionDecision) workflow.Future {
	p.usage.Calls++
	if v.Approval != nil {
		return p.whenApproved(ctx, c, v)
	}
	return p.begin(ctx, c, v)
}

// begin starts the phase execution of a call: one activity on its lane, whose type is the tool's name.
func (p *pipeline) begin(ctx workflow.Context, c api.Call, v api.AdmissionDecision) workflow.Future {
	t := p.toolFor(c, v)
	p.historyBudget.enter(c.ID, p.historyBudget.need(t, c, v))
	p.runFacts.begin(c.ID, p.parts[c.ID])
	if t.Lane == api.LaneInline {
		return p.inlineCall(ctx, c, v, t)
	}
	if t.Kind == api.KindAgent {
		return p.subAgent(ctx, c, v)
	}
	p.questions.begin(ctx, c, v, t)
	return p.schedule(ctx, c, v)
}

// outcome waits for an executed call. What the phase post_execution found came back with the result; a failure goes
// through error_handling here. again is not nil where the call is made once more, because a worker handed it back: then
// there is no outcome yet.
func (p *pipeline) outcome(ctx workflow.Context, c api.Call, v api.AdmissionDecision, f workflow.Future) (out api.CallOutcome, again workflow.Future) {
	out = api.CallOutcome{ID: c.ID, Tool: c.Tool}
	v = p.control.approvals.asDecided(v)
	var r api.Result
	err := f.Get(ctx, &r)
	if err != nil {
		again, out.Error = p.again(ctx, c, v, callError(err, p.toolFor(c, v), v.Route))
		if again == nil {
			again = p.verify(ctx, c, v, out.Error)
		}
		if again != nil {
			return out, again
		}
		p.usage.Failed++
	} else {
		out.Result = &r
	}
	p.historyBudget.leave(c.ID)
	p.inline.leave(ctx, c.ID, len(r.Output))
	delete(p.openUntil, c.ID)
	delete(p.requeued, c.ID)
	delete(p.verified, c.ID)
	p.questions.end(out)
	p.runFacts.ended(out, p.tools[c.Tool])
	if v.Result == nil { // else an edit was answered in the tool's place, and there is nothing to undo
		p.noteAll(c, v, out, err)
	}
	return out, nil
}

// runTurn admits the calls of one turn and runs them as their access allows. Outcomes are in the order of the calls.
func (p *pipeline) runTurn(ctx workflow.Context, calls []api.Call, order api.Order) ([]api.CallOutcome, error) {
	decisions, err := p.admit(ctx, calls)
	if err != nil {
		return p.unadmitted(ctx, calls), err
	}
	p.divide(p.usage, decisions)
	t := p.batching(calls, decisions)
	calls, decisions = t.calls, t.decisions
	outcomes := make([]api.CallOutcome, len(calls))
	var admitted []int
	var slots []slot
	for i, v := range decisions {
		if v.Error != nil {
			outcomes[i] = p.refused(calls[i], v)
			continue
		}
		if v.Result != nil {
			outcomes[i] = p.overridden(calls[i], v)
			continue
		}
		p.control.approvals.ask(ctx, calls[i], v)
		admitted = append(admitted, i)
		slots = append(slots, slotOf(p.tools[calls[i].Tool], v.Route.Key))
	}
	b := dispatcher{
		waits: waits(slots, order),
		launch: func(ctx workflow.Context, ready []int) ([]workflow.Future, error) {
			futures := make([]workflow.Future, len(ready))
			for n, i := range ready {
				futures[n] = p.execute(ctx, calls[admitted[i]], decisions[admitted[i]])
			}
			return futures, nil
		},
		fits: func(ctx workflow.Context, ready []int) int {
			return p.fitting(ctx, len(ready), func(n int) int {
				c := admitted[ready[n]]
				return p.historyBudget.need(p.toolFor(calls[c], decisions[c]), calls[c], decisions[c])
			})
		},
		refuse: func(ctx workflow.Context, ready []int) error {
			refused := make([]api.Call, len(ready))
			for n, i := range ready {
				refused[n] = calls[admitted[i]]
			}
			full, err := p.noHistoryLeft(ctx, refused)
			for n, v := range full {
				outcomes[admitted[ready[n]]] = p.refused(refused[n], v)
			}
			return err
		},
		skip: func(i int) { outcomes[admitted[i]] = p.notStarted(calls[admitted[i]]) },
		finish: func(ctx workflow.Context, i int, f workflow.Future) (again workflow.Future) {
			c := admitted[i]
			outcomes[c], again = p.outcome(ctx, calls[c], decisions[c], f)
			return again
		},
	}
	err = p.run(ctx, b)
	return p.apart(t, outcomes), err
}

// run runs calls that wait for each other. When it returns, nothing is asked or replied on their behalf any more.
func (p *pipeline) run(ctx workflow.Context, b dispatcher) error {
	b.control = p.control
	failure := b.run(ctx)
	return cmp.Or(failure, p.questions.finish(ctx))
}
