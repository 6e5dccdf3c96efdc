package policies

import (
	"cmp"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/policyrules"
)

// Undecided is the action of rules on a recorded call if they read facts that records do not have.
const Undecided api.PolicyEffect = "undecided"

// Replay applies rules to recorded calls, to show what the rules would have done (requirement G9).
// Create it with NewReplay, add all records, then call Results.
type Replay struct {
	rules *Set
	find  func(tool string) (Tool, bool)
	runs  map[string]*recordedRun
	// order has the runs in the order of their first record.
	order []*recordedRun
	sets  map[missing]decidable
	// contents is set if a rule reads results of earlier calls.
	contents bool
	// past are the calls of all records, if rules ask about earlier calls.
	past pastRecords
}

// recordedRun is the calls of the executions of one workflow ID: a run, its continuations and, for
// a conversation, its next runs.
type recordedRun struct {
	executions []*execution
	byID       map[string]*execution
	// isChild is set for runs of sub-agents.
	isChild bool
}

// execution is the calls of one execution, in order.
type execution struct{ calls []api.Record }

// Replayed is what the rules would have done to one recorded call.
type Replayed struct {
	WorkflowID, Run, Call, Tool string
	// Was is the action of the rules in force when the call was made: deny, ask, warn or allow.
	// Would is that of the replayed rules; Undecided if none of them denies it and some cannot be
	// evaluated.
	Was, Would api.PolicyEffect
	// Met are the replayed rules that matched, and Skipped the names of those that could not be
	// evaluated. Recorded are the rules that matched when the call was made.
	Met, Recorded []api.PolicyAction
	Skipped       []string
}

// missing says which facts of a call are unknown besides those that no record has: budget, values
// of variables, what people wrote, and so the sources of values.
type missing struct{ tool, arguments, earlier bool }

// decidable is the rules that read no unknown facts, and the others.
type decidable struct{ rules, others *Set }

// NewReplay returns a replay of rules. find returns the tool of a name as rules read it, which is
// not a part of the records.
func NewReplay(rules *Set, find func(tool string) (Tool, bool)) *Replay {
	return &Replay{rules: rules, find: find, runs: map[string]*recordedRun{},
		sets: map[missing]decidable{}, contents: slices.ContainsFunc(rules.list(),
			func(one rule) bool { return one.readsAny([]string{nameEarlier}) })}
}

// Add adds the record of a call. Records of one execution must be in the order of its calls; those
// of different executions may be mixed. It keeps the result only if a rule reads it.
func (r *Replay) Add(record api.Record) {
	record.Notes, record.Phases = nil, nil
	if !r.contents {
		record.Result = keepLabels(record.Result)
	}
	run := r.ensureRun(record.WorkflowID)
	e, known := run.byID[record.Run]
	if !known {
		e = &execution{}
		run.byID[record.Run] = e
		run.executions = append(run.executions, e)
	}
	e.calls = append(e.calls, record)
	if record.Child != nil {
		r.ensureRun(record.Child.WorkflowID).isChild = true
	}
}

func (r *Replay) ensureRun(workflowID string) *recordedRun {
	run, known := r.runs[workflowID]
	if !known {
		run = &recordedRun{byID: map[string]*execution{}}
		r.runs[workflowID] = run
		r.order = append(r.order, run)
	}
	return run
}

// Results calls each with every recorded call that rules are for, run by run. Calls that were
// refused before rules were evaluated, calls that a hook answered and those that a run makes itself
// are left out.
func (r *Replay) Results(each func(Replayed)) {
	if AskPast(r.rules) {
		r.past = r.pastRecords()
	}
	for _, run := range r.order {
		if !run.isChild {
			r.replayRun(run, nil, each)
		}
	}
}

// began returns when the execution scheduled its first call; zero if it scheduled none.
func (e *execution) began() time.Time {
	for _, c := range e.calls {
		if !c.Scheduled.IsZero() {
			return c.Scheduled
		}
	}
	return time.Time{}
}

// replayRun replays the calls of a run and of its sub-agents, and returns the labels of the run at
// its end. labels are those at its start. Labels stay over continue-as-new and in a conversation.
func (r *Replay) replayRun(run *recordedRun, labels []string, each func(Replayed)) []string {
	slices.SortStableFunc(run.executions, func(a, b *execution) int {
		return a.began().Compare(b.began())
	})
	state := &replayedRun{labels: labels, contents: r.contents}
	for _, e := range run.executions {
		state.enter(e)
		for i := range e.calls {
			c := &e.calls[i]
			state.finishBefore(c)
			if isGoverned(c) {
				each(r.replayCall(c, state))
			}
			after := r.emits(c)
			if child := r.findChild(c); child != nil {
				after = append(after, r.replayRun(child, state.labels, each)...)
			}
			state.begin(c, after)
		}
		state.finishBefore(nil)
	}
	return state.labels
}

func (r *Replay) findChild(c *api.Record) *recordedRun {
	if c.Child == nil {
		return nil
	}
	return r.runs[c.Child.WorkflowID]
}

func (r *Replay) emits(c *api.Record) []string {
	tool, _ := r.find(c.Tool)
	return slices.Clone(policyrules.EmittedLabels(api.CallOutcome{Error: c.Error, Result: c.Result},
		tool.Emits))
}

// keepLabels returns what a result says about labels; nil if it says nothing.
func keepLabels(r *api.Result) *api.Result {
	if r == nil || len(r.NotEmitted)+len(r.Cleared) == 0 {
		return nil
	}
	return &api.Result{NotEmitted: r.NotEmitted, Cleared: r.Cleared}
}

// isGoverned reports whether rules were evaluated for a call.
func isGoverned(c *api.Record) bool {
	if c.Purpose != "" || c.Phase == api.PhasePreExecution && c.Status == api.CallCompleted &&
		!c.DryRun {
		return false
	}
	if c.Status != api.CallRefused {
		return true
	}
	return len(c.Policies) > 0 || c.Approval != nil
}

func (r *Replay) replayCall(c *api.Record, state *replayedRun) Replayed {
	out := Replayed{WorkflowID: c.WorkflowID, Run: c.Run, Call: c.CallID, Tool: c.Tool,
		Was: withTool(c, c.Policies), Recorded: c.Policies}
	tool, known := r.find(c.Tool)
	if !known {
		tool = Tool{Name: c.Tool}
	}
	sets := r.decidable(missing{tool: !known, arguments: hides(c.Arguments),
		earlier: state.redacted})
	f := &Facts{Unknown: true, Tool: tool, Arguments: c.Arguments, Labels: state.labels,
		Now:   evaluationTime(c),
		Calls: state.past(), Earlier: state.earlier(), Plan: NewPlan(c.Plan),
		Caller: Caller{Type: string(c.Caller.Type), ID: c.Caller.ID,
			Auth: string(c.Caller.Auth), Claims: c.Caller.Claims},
		Run: Run{ID: c.WorkflowID, Conversation: c.Conversation, Turn: int64(c.Turn),
			Depth: int64(countParents(c))}}
	f.Tool.Version = cmp.Or(c.Version, f.Tool.Version)
	f.Principal = Principal{ID: c.Caller.Identity(), Auth: string(c.Caller.Auth)}
	f.Past = r.past.before(c)
	if c.Caller.Type == api.CallerAgent {
		f.Run.Agent = c.Caller.ID
	}
	var v *values
	out.Met = merge([][]api.PolicyAction{sets.rules.met(f, &v)})
	if v != nil {
		out.Skipped = v.skipped
	}
	for _, other := range sets.others.list() {
		if other.concerns(f) {
			out.Skipped = append(out.Skipped, other.Name)
		}
	}
	out.Would = withTool(c, out.Met)
	if len(out.Skipped) > 0 && out.Would != api.PolicyDeny {
		out.Would = Undecided
	}
	return out
}

// asksItself reports whether a call waited for approval because of its toolspec, not of a rule.
func asksItself(c *api.Record) bool {
	return c.Approval != nil && c.Approval.Rule == "" && !slices.ContainsFunc(c.Policies,
		func(a api.PolicyAction) bool { return a.Effect == api.PolicyAsk && a.AllowedBy == "" })
}

// withTool returns the action of rules on a call, and of its toolspec if that asked for approval.
func withTool(c *api.Record, met []api.PolicyAction) api.PolicyEffect {
	action := strictestEffect(met)
	if action == api.PolicyDeny || slices.ContainsFunc(met, allows) || !asksItself(c) {
		return action
	}
	return api.PolicyAsk
}

// countParents returns the number of runs above the run of a call, from the path of the call: calls
// of
// sub-agents follow a slash.
func countParents(c *api.Record) int { return strings.Count(c.Path, "/") }

// evaluationTime returns when the rules were evaluated, as far as the record tells.
func evaluationTime(c *api.Record) time.Time {
	if !c.Scheduled.IsZero() {
		return c.Scheduled
	}
	return c.Closed
}

// strictestEffect returns the strictest effect of rules; allow if none matched.
func strictestEffect(met []api.PolicyAction) api.PolicyEffect {
	for _, effect := range severity {
		if slices.ContainsFunc(met, func(a api.PolicyAction) bool {
			return a.Effect == effect && a.AllowedBy == ""
		}) {
			return effect
		}
	}
	return api.PolicyAllow
}

// unknownToolNames are those of a tool of which only the record is known, which has its name and
// version.
var unknownToolNames = func() (names []string) {
	for _, field := range fieldNames(reflect.TypeFor[Tool]()) {
		if field != "name" && field != "version" {
			names = append(names, nameTool+"."+field)
		}
	}
	return names
}()

// decidable divides the rules by whether they read facts that are unknown.
func (r *Replay) decidable(unknown missing) decidable {
	if known, ok := r.sets[unknown]; ok {
		return known
	}
	names := slices.Clone(unrecordedNames)
	if unknown.earlier {
		names = append(names, nameEarlier)
	}
	if unknown.tool {
		names = append(names, unknownToolNames...)
	}
	if unknown.arguments {
		names = append(names, nameArgs)
	}
	d := decidable{rules: &Set{}, others: &Set{}}
	for _, one := range r.rules.list() {
		to := d.rules
		if one.readsAny(names) {
			to = d.others
		}
		to.rules = append(to.rules, one)
	}
	r.sets[unknown] = d
	return d
}

func (s *Set) list() []rule {
	if s == nil {
		return nil
	}
	return s.rules
}
