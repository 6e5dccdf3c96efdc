package admission

import (
	"context"
	"encoding/json"
	"slices"
	"sync"
	"time"

	"github.com/switchyard/switchyard/activities/executor"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/policyrules"
	"github.com/switchyard/switchyard/toolspecs"
	"github.com/switchyard/switchyard/toolspecs/policies"
	"go.temporal.io/sdk/activity"
)

// maxPolicies bounds how many rules a decision lists; the strictest come first.
const maxPolicies = 20

// rulesOfRuns caches compiled rules of agents.
type rulesOfRuns struct {
	mu       sync.Mutex
	byDigest map[string]*policies.Set
}

// maxRuleSets bounds the number of cached rule sets.
const maxRuleSets = 1024

// of returns the compiled rules of agents; nil if there are none.
func (s *rulesOfRuns) of(rules []api.PolicyRule) *policies.Set {
	set, _ := s.compile(api.PinnedPolicies{Digest: policies.DigestRules(rules), Rules: rules})
	return set
}

// compile returns the compiled rules that a run is pinned to, and whether they were compiled just
// now; nil if there are none.
func (s *rulesOfRuns) compile(p api.PinnedPolicies) (set *policies.Set, compiled bool) {
	if len(p.Rules) == 0 {
		return nil, false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if set, ok := s.byDigest[p.Digest]; ok {
		return set, false
	}
	if s.byDigest == nil || len(s.byDigest) >= maxRuleSets {
		s.byDigest = map[string]*policies.Set{}
	}
	set = policies.NewSet(p.Rules...)
	s.byDigest[p.Digest] = set
	return set, true
}

// inForce returns the rules that apply to the calls of a request: those that the run is pinned to,
// the current rules of this worker, and those of the agents. A worker without the pinned rules
// therefore applies them too, and a stricter file applies to running runs.
func (a *Admitter) inForce(ctx context.Context, r api.AdmissionRequest) (all []*policies.Set,
	agents *policies.Set) {
	current, agents := a.config.Policies(), a.rules.of(r.Policies)
	if r.PinnedPolicies.Digest == current.Digest() {
		return []*policies.Set{current}, agents
	}
	pinned, compiled := a.rules.compile(r.PinnedPolicies)
	if compiled && activity.IsActivity(ctx) {
		activity.GetLogger(ctx).Warn("a run is pinned to policies that this worker does not have "+
			"in --policies-file; they apply besides the worker's own", "pinned",
			r.PinnedPolicies.Digest, "own", current.Digest())
	}
	return []*policies.Set{pinned, current}, agents
}

// maxLatePinned bounds the rules that a run pins after its start, compressed and in bytes: no step
// of the run has reserved space for them.
const maxLatePinned = 256 << 10

// pinPolicies adds this worker's rules to the decisions on calls of a run that is pinned to none,
// as a run that started on a worker without --policies-file. The run then pins them.
func (a *Admitter) pinPolicies(ctx context.Context, all *turnAdmission) error {
	current := a.config.Policies()
	if all.PinnedPolicies.Digest != "" || current.Len() == 0 || len(all.decisions) == 0 {
		return nil
	}
	packed, err := api.Pack(current.PinnedPolicies()).EncodeOnce()
	if err == nil && packed.Size() <= maxLatePinned {
		all.decisions[0].Pinned = &packed
	} else if activity.IsActivity(ctx) {
		activity.GetLogger(ctx).Warn("a run that started on a worker without policies cannot be "+
			"pinned to those of this worker, because they are too large", "bytes", packed.Size(),
			"limit", maxLatePinned)
	}
	return nil
}

// applyPolicies applies the rules of the worker and the agents to the calls that passed the hooks,
// with their current arguments. It skips calls that the run itself makes: calls that undo or verify
// another call were declared with that call's tool. It marks calls that need approval by their tool
// or by a rule. The decisions end before the first call whose ledger does not answer.
func (a *Admitter) applyPolicies(ctx context.Context, all *turnAdmission) error {
	r, decisions, made := all.AdmissionRequest, all.decisions, a.reservations(all.AdmissionRequest)
	all.reservations = made
	allowed := make([]bool, len(decisions))
	a.askAhead(ctx, r, decisions, made)
	for i, v := range decisions {
		if rulesApply(r.Calls[i], v) {
			if !made.canDecide(ctx, i) {
				decisions, allowed = decisions[:i], allowed[:i]
				break
			}
			v, allowed[i] = a.checkPolicies(ctx, r, i, v, made)
			decisions[i] = v
			made.use(decisions[:i+1])
		}
		if v.Error == nil {
			// The rules for the next call of the turn count this admitted call.
			r.Facts.Calls = withRunning(r.Facts.Calls, r.Calls[i].Tool)
			r.Facts.Earlier = append(slices.Clip(r.Facts.Earlier), toEarlierCall(r, r.Calls[i], v))
		}
	}
	all.decisions = a.approvals(r, decisions, allowed)
	return nil
}

// rulesApply reports whether rules decide about a call that was admitted so far.
func rulesApply(c api.Call, v api.AdmissionDecision) bool {
	return v.Error == nil && v.Result == nil && c.IsGoverned()
}

// askAhead prepares what rules ask ledgers about the calls, so that all are asked together.
func (a *Admitter) askAhead(ctx context.Context, r api.AdmissionRequest,
	decisions []api.AdmissionDecision, made *reservations) {
	all, agents := a.inForce(ctx, r)
	sets := append(slices.Clone(all), agents)
	if !policies.AskPast(sets...) {
		return
	}
	for i := range decisions {
		if rulesApply(r.Calls[i], decisions[i]) {
			a.prepareQuestion(ctx, r, i, &decisions[i], made, sets)
		}
	}
}

// prepareQuestion prepares what rules ask ledgers about the call with an index.
func (a *Admitter) prepareQuestion(ctx context.Context, r api.AdmissionRequest, index int,
	v *api.AdmissionDecision, made *reservations, sets []*policies.Set) {
	c := r.Calls[index]
	defer containPanic(ctx, c, v)
	tool, _ := findTool(r, c.Tool)
	compiled, err := a.config.Specs.Of(tool)
	if err == nil && lacksPolicy(compiled, sets...) == nil {
		made.prepare(index, tool, newFacts(r, c, *v, tool, compiled), sets...)
	}
}

// toEarlierCall returns an admitted call of the request as an earlier one for the calls after it.
func toEarlierCall(r api.AdmissionRequest, c api.Call, v api.AdmissionDecision) *api.EarlierCall {
	arguments := c.Arguments
	if len(v.Arguments) > 0 {
		arguments = string(v.Arguments)
	}
	return &api.EarlierCall{ID: c.ID, Tool: c.Tool, Arguments: arguments, Status: api.CallRunning,
		Turn: r.Facts.Turn, Time: time.Now()}
}

func withRunning(calls []api.PastCalls, tool string) []api.PastCalls {
	calls = slices.Clone(calls)
	i := slices.IndexFunc(calls, func(p api.PastCalls) bool { return p.Tool == tool })
	if i < 0 {
		i, calls = len(calls), append(calls, api.PastCalls{Tool: tool})
	}
	calls[i].Running++
	return calls
}

// checkPolicies applies the rules to the admitted call with an index, with the arguments of its
// decision or else those of the call. The returned decision has an error if a rule denies the
// call, or else a need for approval if a rule requires it, or else notes of the rules that warn.
// allowed is set if rules allow the call without the approval that its toolspec declares.
func (a *Admitter) checkPolicies(ctx context.Context, r api.AdmissionRequest, index int,
	v api.AdmissionDecision, made *reservations) (out api.AdmissionDecision, allowed bool) {
	c := r.Calls[index]
	out = v
	defer containPanic(ctx, c, &out)
	all, agents := a.inForce(ctx, r)
	sets := append(slices.Clone(all), agents)
	tool, _ := findTool(r, c.Tool)
	compiled, err := a.config.Specs.Of(tool)
	if err != nil || rulesIn(sets)+len(compiled.Spec.Policies) == 0 {
		return v, false // without a spec there is no admitted call
	}
	facts := newFacts(r, c, v, tool, compiled)
	if v.Error = lacksPolicy(compiled, sets...); v.Error == nil {
		v.Reserved, v.Error = made.reserve(index, facts)
	}
	if v.Error != nil {
		return omitExecution(v), false
	}
	decided := policies.Decide(facts, all, agents)
	met := decided.Met
	if v.Sources = decided.Sources; len(met) == 0 {
		return v, false
	}
	v.Policies, v.Labels = recordedPolicies(met, len(tool.Sensitive) > 0), r.Facts.Labels
	if met[0].Effect == api.PolicyDeny {
		return deny(v), false
	}
	if met[0].Effect == api.PolicyAsk && met[0].AllowedBy == "" {
		v.Approval = a.needApproval(r, c, v, tool, compiled, policyrules.DescribeActions(v.Policies,
			api.PolicyAsk), met[0].Rule, policies.Approvers(met, sets...)...)
		policyrules.AddClearings(v.Approval, policies.Clearings(met, all...))
	}
	return addWarnings(v), decided.Allowed
}

// rulesIn counts the rules of sets.
func rulesIn(sets []*policies.Set) (n int) {
	for _, set := range sets {
		n += set.Len()
	}
	return n
}

// addWarnings adds notes of the rules that warn to a decision.
func addWarnings(v api.AdmissionDecision) api.AdmissionDecision {
	for _, p := range v.Policies {
		if p.Effect == api.PolicyWarn {
			v.Notes = append(slices.Clip(v.Notes),
				policyrules.DescribeActions([]api.PolicyAction{p}, api.PolicyWarn))
		}
	}
	return v
}

// deny is the decision on a call that rules deny; it lists all of them.
func deny(v api.AdmissionDecision) api.AdmissionDecision {
	v.Error = api.Errorf(api.ErrPolicyViolation, "%s", policyrules.DescribeActions(v.Policies,
		api.PolicyDeny, api.PolicyAsk, api.PolicyWarn))
	v.Error.Phase = api.PhasePreExecution
	return omitExecution(v)
}

// lacksPolicy rejects a call whose tool requires rules that are not in force.
func lacksPolicy(compiled *toolspecs.Compiled, sets ...*policies.Set) *api.Error {
	for _, name := range compiled.Spec.Policies {
		if !slices.ContainsFunc(sets, func(s *policies.Set) bool {
			return slices.Contains(s.Names(),
				name)
		}) {
			e := api.Errorf(api.ErrPreconditionFailed,
				"tool %q may be called only where the policy %q is in force, and neither the worker nor the agent has it; start the workers with --policies-file and a file that has it",
				compiled.Spec.Name, name)
			e.Phase = api.PhasePreExecution
			return e
		}
	}
	return nil
}

// newFacts returns the facts about a call that rules can use.
func newFacts(r api.AdmissionRequest, c api.Call, v api.AdmissionDecision, tool api.Tool,
	compiled *toolspecs.Compiled) *policies.Facts {
	now := time.Now()
	f := &policies.Facts{
		Tool: compiled.PolicyTool(tool),
		Plan: policies.NewPlan(v.Plan),
		Caller: policies.Caller{Type: string(r.Caller.Type), ID: r.Caller.ID,
			Auth: string(r.Caller.Auth), Claims: r.Caller.Claims},
		Run: policies.Run{ID: r.Facts.Run, Conversation: r.Facts.Conversation,
			Depth: int64(r.Depth), Turn: int64(r.Facts.Turn),
			Variables: append([]string{}, r.Variables...), Values: r.Facts.Values},
		Budget: policies.NewBudget(r.Facts.Limits, r.Facts.Usage, now.Sub(r.Facts.Started)),
		Labels: r.Facts.Labels, Calls: r.Facts.Calls, Now: now,
		Principal: policies.Principal{ID: r.Caller.Identity(), Auth: string(r.Caller.Auth)},
		Arguments: v.Arguments, Earlier: r.Facts.Earlier, Statements: r.Facts.Statements,
		NoStatements: r.Facts.NoStatements,
	}
	if r.Caller.Type == api.CallerAgent {
		f.Run.Agent = r.Caller.ID
	}
	if len(f.Arguments) == 0 {
		f.Arguments = json.RawMessage(c.Arguments)
	}
	return f
}

// recordedPolicies returns the rules that a decision records. It hides texts of failed expressions
// of sensitive calls, which may quote arguments.
func recordedPolicies(met []api.PolicyAction, sensitive bool) []api.PolicyAction {
	met = slices.Clone(met[:min(len(met), maxPolicies)])
	for i := range met {
		if met[i].Failure != "" && sensitive {
			met[i].Failure = "the reason may quote sensitive arguments and is left out"
		}
		met[i].Failure = executor.ValidText(met[i].Failure)
	}
	return met
}
