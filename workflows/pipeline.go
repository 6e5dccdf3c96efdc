package workflows

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/failures"
	"github.com/switchyard/switchyard/internal/core/policyrules"
	"github.com/switchyard/switchyard/internal/value/jsonvalue"
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
	admitter  admitter
	control   *control
	questions *questions
	instances *instances
	// sizes counts what the run hands to the server. passed is the origin as activities get it, and
	// passedSize its size with that of the hooks after calls, in bytes.
	sizes      *budget.Sizes
	passed     *api.Origin
	passedSize int
	// childBytes is the size of what the inputs of sub-agents have in common.
	childBytes int
	undo       undo
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

func newPipeline(ctx workflow.Context, in *api.RunInput, origin api.Origin, pinned *api.Pinned,
	mode api.Mode, c *control) *pipeline {
	catalog := &pinned.Catalog
	p := &pipeline{origin: &origin, mode: mode, override: in.Mode, parent: &noParent,
		hooks:    &noHooks,
		priority: turn.NewPriority(ctx, in, origin), control: c, questions: c.questions,
		sizes: c.sizes, queue: workflow.GetInfo(ctx).TaskQueueName, runFacts: turn.NewFacts(in),
		pinned: pinned}
	p.admitter = admitter{p}
	c.questions.origin = p.originOf
	p.need(catalog.Tools)
	p.inlineOn = slices.ContainsFunc(catalog.Tools, func(t api.Tool) bool {
		return t.Lane == api.LaneInline
	})
	p.policies = in.Policies
	if in.Agent != nil {
		p.policies = slices.Concat(in.Policies, in.Agent.Policies)
	}
	p.Started = workflow.Now(ctx)
	p.runFacts.Log.Keep = func() bool {
		return policyrules.KeepContents(p.policies) ||
			policyrules.KeepContents(p.pinned.Policies.Rules)
	}
	p.statements = turn.NewStatements(in, p.runFacts.Log.Keep)
	p.passed = passed(p.origin)
	p.measure()
	p.instances = &instances{base: p.queue, origin: p.passed, tools: &p.tools, sizes: p.sizes,
		conversation: conversationOf(ctx, in)}
	c.instances = p.instances
	c.approvals.edit, c.approvals.notify = p.admitter.editCall, p.notify
	c.approvals.caller = func(callID string) api.Caller { return p.originOf(callID).Caller }
	p.attributes.known = in.Attributes
	p.undo = undo{run: origin.Run, tools: &p.tools}
	// Forks, which come after these, read the labels that the facts have after the end of a call.
	p.followers = followers{sizesFollower{p: p}, c, p.questions, factsFollower{p: p},
		newReservations(ctx, p), p.instances, &p.undo}
	p.follow(ctx, in)
	return p
}

// originOf returns the origin of a call, with who asked for it. A call that verifies another
// has the origin of that one.
func (p *pipeline) originOf(callID string) api.Origin {
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
	return p.asker(c.Asked())
}

// admitter takes the calls of a run through the phases pre_validation and pre_execution.
type admitter struct{ *pipeline }

// toolsOf returns the tools that calls name and that they may name, without duplicates.
func (p admitter) toolsOf(calls []api.Call) (tools []api.Tool) {
	named := map[string]bool{}
	for _, c := range calls {
		if t := p.tools.Get(c.Tool); t != nil && !named[c.Tool] && (c.OfRun() || p.own(c.Tool)) {
			named[c.Tool] = true
			tools = append(tools, *t)
		}
	}
	return tools
}

// need adds the tools of calls that the run or its sub-agents make, unless the run has a tool of
// that name.
func (p *pipeline) need(below []api.Tool) { p.tools.Add(below) }

// own reports whether the run's calls may name a tool.
func (p admitter) own(tool string) bool {
	_, ok := p.pinned.Catalog.Find(tool)
	return ok
}

// admit takes calls through the phases pre_validation and pre_execution in one recorded step. It
// makes no step for decisions that came with the model's answer. It waits for ledgers that do not
// answer.
func (p admitter) admit(f *flow, calls []api.Call) ([]api.AdmissionDecision, error) {
	decisions := make([]api.AdmissionDecision, 0, len(calls))
	var wait ledgerWait
	for {
		rest := calls[len(decisions):]
		part, err := p.admitReady(f, rest, claimed(decisions), wait.last(f.ctx))
		if len(part) > 0 {
			wait = ledgerWait{}
		}
		decisions, rest = append(decisions, part...), rest[len(part):]
		if err == nil && len(rest) == 0 {
			return decisions, nil
		}
		if err == nil {
			err = wait.pause(f, rest[0])
		}
		if err != nil {
			return nil, err
		}
	}
}

// admitReady is admit for the calls before the first one whose ledger does not answer; last refuses
// that one. claims are the calls of the run's budget that others have taken meanwhile.
func (p admitter) admitReady(f *flow, calls []api.Call, claims int,
	last bool) (decisions []api.AdmissionDecision, err error) {
	decisions, p.admitted = p.admitted, nil
	p.followers.admit(calls, decisions, workflow.Now(f.ctx))
	for len(decisions) < len(calls) {
		rest := calls[len(decisions):]
		used := p.usage.Calls + p.uncounted + claims + claimed(decisions)
		part, err := p.admitBatch(f, rest[:p.portion(rest)], used, last)
		if err != nil || len(part) == 0 {
			return decisions, err
		}
		p.followers.admit(rest, part, workflow.Now(f.ctx))
		// If decisions are long, the activity answers only the first calls.
		decisions, last = append(decisions, part...), false
	}
	return decisions, nil
}

// Bounds of the time that calls wait for a ledger which does not answer: it lags because many ask
// it, or no worker executes it. The pauses double.
const (
	ledgerPatience    = 5 * time.Minute
	longestLedgerWait = 30 * time.Second
)

// ledgerWait is the wait of calls for a ledger. While it lasts, no worker holds anything.
type ledgerWait struct {
	since time.Time
	n     int
}

// last reports whether the next admission is to refuse the calls.
func (w *ledgerWait) last(ctx workflow.Context) bool {
	return w.n > 0 && workflow.Now(ctx).Sub(w.since) >= ledgerPatience
}

// pause waits before the ledger is asked again. What the flow waits for goes on.
func (w *ledgerWait) pause(f *flow, c api.Call) error {
	if w.n == 0 {
		w.since = workflow.Now(f.ctx)
	}
	d := min(time.Second<<min(w.n, 10), longestLedgerWait)
	w.n++
	over := workflow.NewTimerWithOptions(f.ctx, d, workflow.TimerOptions{
		Summary: "a ledger does not answer for call " + c.ID})
	f.Add(over, func(workflow.Future) {})
	f.until(over.IsReady)
	return over.Get(f.ctx, nil)
}

// claimed returns how many calls of the run's budget the decisions take.
func claimed(decisions []api.AdmissionDecision) (calls int) {
	for _, v := range decisions {
		if v.Error == nil {
			calls += 1 + v.Claim
		}
	}
	return calls
}

// Bounds of the calls admitted in one step, so that their decisions fit into one marker. Only
// unusually large turns exceed them.
const (
	maxAdmitCalls = 200
	maxAdmitBytes = 256 << 10
)

// portion returns how many of the calls one step admits, at least one. They have one caller, whom
// the rules ask about.
func (p *pipeline) portion(calls []api.Call) int {
	size, who := 0, p.requester(calls[0])
	for i, c := range calls {
		size += len(c.Arguments)
		if i > 0 && (i == maxAdmitCalls || size > maxAdmitBytes || p.requester(c) != who) {
			return i
		}
	}
	return len(calls)
}

// admission returns a request about calls with the caller of one of them, without calls and tools;
// used is the number of the run's calls so far.
func (p admitter) admission(of api.Call, used int) api.AdmissionRequest {
	request := api.AdmissionRequest{Run: p.origin.Run, Base: p.queue,
		Caller: p.originOf(of.Asked()).Caller,
		Known:  p.pinned.Catalog.Names(), AnyTool: p.anyTool(), Mode: p.mode,
		Variables: slices.Sorted(maps.Keys(p.origin.Variables)), Depth: p.parent.Depth,
		Spent: p.Spent(p.usage), DryRun: p.origin.DryRun, Blocked: p.blocked,
		Policies: p.policies, PinnedPolicies: p.pinned.Policies, Facts: p.facts()}
	if p.Limits.Calls > 0 {
		allow := max(p.Limits.Calls-used, 0)
		request.Allow = &allow
	}
	p.withHooks(&request)
	return request
}

// admitBatch admits calls, or only the first of them; none if the ledger of the first one does not
// answer and this is not the last attempt.
func (p admitter) admitBatch(f *flow, calls []api.Call, used int,
	last bool) (decisions []api.AdmissionDecision, err error) {
	over := false
	f.admit(calls, used, last, func(answer []api.AdmissionDecision, failure error) {
		decisions, err, over = answer, failure, true
	})
	f.until(func() bool { return over })
	return decisions, err
}

// admit is admitBatch, which passes what it returns to then.
func (f *flow) admit(calls []api.Call, used int, last bool,
	then func([]api.AdmissionDecision, error)) {
	p := f.pipeline.admitter
	request := p.admission(calls[0], used)
	request.Final = last
	request.Calls, request.Tools = calls, p.toolsOf(calls)
	if calls[0].OfRun() {
		// Allow does not restrict calls that the run itself makes, such as verify and undo.
		request.Allow = nil
	}
	var decisions []api.AdmissionDecision
	var err error
	start := func() workflow.Future {
		return workflow.ExecuteLocalActivity(saying(withAdmitOptions(f.ctx, p.hooks.BeforeCall),
			"check of "+named(calls)), api.AdmitActivity, request)
	}
	take := func(answered workflow.Future) int {
		err = answered.Get(f.ctx, &decisions)
		if err == nil && len(decisions) == 0 && last {
			err = errors.New("admission answered for none of the calls")
		}
		p.pinRules(decisions...)
		return budget.DecisionsSize(decisions)
	}
	f.record(recordedStep{f.ctx, admissionSize(request), start, take}, func(cancelled error) {
		then(decisions, cmp.Or(cancelled, err))
	})
}

// admissionSize returns at most how many bytes the decisions about calls are recorded with.
func admissionSize(r api.AdmissionRequest) (size int) {
	for _, c := range r.Calls {
		size += jsonvalue.PayloadSize([]byte(c.Arguments))
	}
	if len(r.Hooks)+len(r.Policies)+len(r.PinnedPolicies.Rules) > 0 {
		size += 2 * maxAdmitBytes
	}
	if slices.ContainsFunc(r.Tools, func(t api.Tool) bool { return t.Dispatch != "" }) {
		size += 2 * maxAdmitBytes
	}
	return size
}

// refuse counts a call that is not executed because of e and returns its outcome.
func (p *pipeline) refuse(ctx workflow.Context, c api.Call, e *api.Error) api.CallOutcome {
	return p.newCall(c, api.AdmissionDecision{ID: c.ID}).refuse(ctx, e)
}

// unadmitted returns the outcomes of calls that were not admitted because the run was cancelled or
// its wall time had passed, and counts them, so that the audit records have them. It returns nil if
// admission failed for another reason, which ends the run.
func (p admitter) unadmitted(ctx workflow.Context, calls []api.Call) []api.CallOutcome {
	if ctx.Err() == nil {
		return nil
	}
	outcomes := make([]api.CallOutcome, len(calls))
	for i, c := range calls {
		outcomes[i] = p.refuse(ctx, c, failures.CancelledBeforeStart())
	}
	return outcomes
}

// runTurn admits the calls of one turn and runs them as their access rules allow. Outcomes are in
// the order of the calls.
func (p *pipeline) runTurn(ctx workflow.Context, calls []api.Call,
	order api.Order) ([]api.CallOutcome, error) {
	t, err := p.admitter.admitTurn(ctx, calls)
	if err != nil {
		return p.admitter.unadmitted(ctx, calls), err
	}
	defer p.runFacts.BeginTurn()()
	err = p.dispatch(ctx, turn.Waits(t.slots, order), t)
	return p.unbatch(len(calls), t.all, t.outcomes), err
}

// admitTurn admits the calls of a turn and asks for the approvals that they need.
func (p admitter) admitTurn(ctx workflow.Context, calls []api.Call) (*turnCalls, error) {
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

// turnCalls are the calls of a turn.
type turnCalls struct {
	// all are the calls of the turn, and outcomes theirs.
	all      []*callRun
	outcomes []api.CallOutcome
	// calls are those that are executed, with the indices of their outcomes and their slots.
	calls  []*callRun
	places []int
	slots  []turn.Slot
}

func (t *turnCalls) at(indices []int) []*callRun { return at(t.calls, indices) }

func (t *turnCalls) prepare(_ *flow, ready []int) ([]*callRun, error) {
	return t.at(ready), nil
}

func (t *turnCalls) end(i int, out api.CallOutcome) { t.outcomes[t.places[i]] = out }

// at returns the elements of all with those indices.
func at[T any](all []T, indices []int) []T {
	some := make([]T, len(indices))
	for n, i := range indices {
		some[n] = all[i]
	}
	return some
}

// dispatch runs calls that wait for each other. When it returns, none of them has an open question
// or approval.
func (p *pipeline) dispatch(ctx workflow.Context, waits [][]int, calls dispatched) error {
	d := &dispatcher{pipeline: p, waits: waits, calls: calls}
	failure := d.run(ctx)
	return cmp.Or(failure, p.followers.finish(ctx))
}

// written returns the length of the history in events and bytes, including what the workflow task
// still has to record.
func (p *pipeline) written(ctx workflow.Context) (events, bytes int) {
	info := workflow.GetInfo(ctx)
	events, bytes = p.sizes.Task.Pending(ctx)
	return events + info.GetCurrentHistoryLength(), bytes + info.GetCurrentHistorySize()
}

// fitting returns how many of the calls, from the first on, may start besides those that run, so
// that the history stays under the size at which the server ends the run.
func (p *pipeline) fitting(ctx workflow.Context, calls []*callRun) int {
	events, bytes := p.written(ctx)
	return p.sizes.History.Fit(events, bytes, len(calls),
		func(i int) int { return calls[i].historyNeed() })
}

// rejectionSize is about how many bytes a rejection for lack of history is recorded with.
const rejectionSize = 1 << 10

// noHistoryLeft admits calls as rejected because the run's history is too long for them, and sets
// those decisions. Each part of a batched call has its own decision in history. Approvals of the
// calls are withdrawn.
func (p admitter) noHistoryLeft(ctx workflow.Context, calls []*callRun) error {
	why := p.fullness(ctx)
	byCall := map[string]api.AdmissionDecision{}
	for rest := unbatched(calls); len(rest) > 0; {
		n := p.portion(rest)
		request := api.AdmissionRequest{Run: p.origin.Run, Base: p.queue, Calls: rest[:n],
			Full: why}
		var part []api.AdmissionDecision
		var err error
		options := saying(withAdmitOptions(ctx, nil), "no history left for "+named(request.Calls))
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

// unbatched returns calls as the model made them: the parts in place of batched calls.
func unbatched(calls []*callRun) (all []api.Call) {
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
