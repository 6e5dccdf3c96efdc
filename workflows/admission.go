package workflows

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/value/jsonvalue"
	"github.com/switchyard/switchyard/workflows/budget"
	"go.temporal.io/sdk/workflow"
)

// listTools returns the tools that calls name and that they may name, without duplicates.
func (p *pipeline) listTools(calls []api.Call) (tools []api.Tool) {
	named := map[string]bool{}
	for _, c := range calls {
		if t := p.tools.Get(c.Tool); t != nil && !named[c.Tool] && (c.OfRun() || p.own(c.Tool)) {
			named[c.Tool] = true
			tools = append(tools, *t)
		}
	}
	return tools
}

// own reports whether the run's calls may name a tool.
func (p *pipeline) own(tool string) bool {
	_, ok := p.pinned.Catalog.Find(tool)
	return ok
}

// admit takes calls through the phases pre_validation and pre_execution in one recorded step. It
// makes no step for decisions that came with the model's answer. It waits for ledgers that do not
// answer.
func (p *pipeline) admit(f *flow, calls []api.Call) ([]api.AdmissionDecision, error) {
	decisions := make([]api.AdmissionDecision, 0, len(calls))
	var wait ledgerWait
	for {
		rest := calls[len(decisions):]
		part, err := p.admitReady(f, rest, countClaims(decisions), wait.last(f.ctx))
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
func (p *pipeline) admitReady(f *flow, calls []api.Call, claims int,
	last bool) (decisions []api.AdmissionDecision, err error) {
	decisions, p.admitted = p.admitted, nil
	p.followers.Admit(calls, decisions, workflow.Now(f.ctx))
	for len(decisions) < len(calls) {
		rest := calls[len(decisions):]
		used := p.usage.Calls + p.uncounted + claims + countClaims(decisions)
		part, err := p.admitBatch(f, rest[:p.portion(rest)], used, last)
		if err != nil || len(part) == 0 {
			return decisions, err
		}
		p.followers.Admit(rest, part, workflow.Now(f.ctx))
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

// countClaims returns how many calls of the run's budget the decisions take.
func countClaims(decisions []api.AdmissionDecision) (calls int) {
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
func (p *pipeline) admission(of api.Call, used int) api.AdmissionRequest {
	request := api.AdmissionRequest{Run: p.origin.Run, Base: p.queue,
		Caller: p.findOrigin(of.RequestedID()).Caller,
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
func (p *pipeline) admitBatch(f *flow, calls []api.Call, used int,
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
	p := f.pipeline
	request := p.admission(calls[0], used)
	request.Final = last
	request.Calls, request.Tools = calls, p.listTools(calls)
	if calls[0].OfRun() {
		// Allow does not restrict calls that the run itself makes, such as verify and undo.
		request.Allow = nil
	} else {
		request.Refuse = p.cut
	}
	var decisions []api.AdmissionDecision
	var err error
	start := func() workflow.Future {
		return workflow.ExecuteLocalActivity(withSummary(withAdmitOptions(f.ctx,
			p.hooks.BeforeCall),
			"check of "+nameCalls(calls)), api.AdmitActivity, request)
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

// pinRules pins the run to the rules for all runs that came with decisions, if it has none.
func (p *pipeline) pinRules(decisions ...api.AdmissionDecision) {
	for _, v := range decisions {
		if v.Pinned != nil && p.pinned.Policies.Digest == "" {
			p.pinned.Policies = v.Pinned.Value
		}
	}
}

// facts returns what policies can use of the run's state.
func (p *pipeline) facts() api.RunFacts {
	return api.RunFacts{Run: p.origin.Run, Conversation: p.origin.Conversation, Turn: p.turn,
		Labels: p.runFacts.Labels, Calls: p.runFacts.Past(""),
		Usage: p.usage, Limits: p.Limits, Started: p.Started, Earlier: p.runFacts.Log.Calls(""),
		Statements: p.statements.All(), NoStatements: p.statements.Unknown,
		Values: p.origin.Variables}
}

// withHooks adds the input of hooks before the calls to an admission request.
func (p *pipeline) withHooks(request *api.AdmissionRequest) {
	if len(p.hooks.BeforeCall) > 0 {
		request.Hooks, request.Origin, request.Parent = p.hooks.BeforeCall, p.origin, p.parent.Call
	}
}

// anyTool reports whether the run's caller may call every tool: the run pins those that it names.
func (p *pipeline) anyTool() bool {
	caller := p.origin.Caller.Type
	return caller == api.CallerDirect || caller == api.CallerSession
}

// stepAdmission returns what an inline model step needs to admit its own calls. It returns nil if
// the step cannot admit them: because what sub-agents may use depends on the step's own usage, or
// because hooks before calls would delay the step.
func (p *pipeline) stepAdmission() *api.AdmissionRequest {
	if len(p.hooks.BeforeCall) > 0 || slices.ContainsFunc(p.pinned.Catalog.Tools,
		func(t api.Tool) bool { return t.Dispatch == api.DispatchChildWorkflow }) {
		return nil
	}
	request := p.admission(api.Call{}, p.usage.Calls)
	request.Tools = p.pinned.Catalog.Tools
	return &request
}
