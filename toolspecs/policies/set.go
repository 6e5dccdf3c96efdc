// Package policies reads and evaluates policies: rules that calls are checked against before they
// run (requirement G1).
package policies

import (
	"cmp"
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strings"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/ledgerrules"
	"github.com/switchyard/switchyard/internal/value/display"
)

// Set is compiled rules, in order. It does not change and may be used by many goroutines. A nil one
// has none.
type Set struct {
	rules  []rule
	digest string
	// asks is set if a rule asks about earlier calls.
	asks bool
	// labels is the table of labels.
	labels  []labelFile
	budgets []ledgerrules.Budget
}

type rule struct {
	api.PolicyRule
	condition *Condition
	// fault is why the condition is missing.
	fault error
	// unless is the exception; nil if there is none, or if unlessFault says why it is missing.
	unless      *Condition
	unlessFault error
}

// NewSet compiles rules. One that does not compile denies every call that it is for: Decode is what
// refuses it.
func NewSet(rules ...api.PolicyRule) *Set {
	s := &Set{rules: make([]rule, len(rules))}
	c := newCompiler()
	for i, r := range rules {
		s.rules[i].PolicyRule = r
		names := c.scope(r.Define)
		s.rules[i].condition, s.rules[i].fault = compileBool(names, r.When)
		if r.Unless != "" {
			s.rules[i].unless, s.rules[i].unlessFault = compileBool(names, r.Unless)
		}
		s.rules[i].ReadsContents = s.rules[i].condition.readsContents() ||
			s.rules[i].unless.readsContents()
		s.asks = s.asks || len(s.rules[i].listAsks()) > 0
	}
	s.digest = DigestRules(s.Rules())
	return s
}

// DigestRules identifies rules; empty for none.
func DigestRules(rules []api.PolicyRule) string {
	if len(rules) == 0 {
		return ""
	}
	data, err := json.Marshal(rules)
	if err != nil { // a rule has only text
		panic(err)
	}
	return api.Digest(data)
}

// Digest identifies the rules; empty for none.
func (s *Set) Digest() string {
	if s == nil {
		return ""
	}
	return s.digest
}

// PinnedPolicies returns the rules as a run pins them; the zero value for none.
func (s *Set) PinnedPolicies() api.PinnedPolicies {
	if s.Len() == 0 {
		return api.PinnedPolicies{}
	}
	return api.PinnedPolicies{Digest: s.digest, Rules: s.Rules()}
}

// Rules returns the rules, in order.
func (s *Set) Rules() []api.PolicyRule {
	if s == nil {
		return nil
	}
	rules := make([]api.PolicyRule, len(s.rules))
	for i, r := range s.rules {
		rules[i] = r.PolicyRule
	}
	return rules
}

// Names returns the names of the rules, in order.
func (s *Set) Names() []string {
	var names []string
	for _, r := range s.Rules() {
		names = append(names, r.Name)
	}
	return names
}

// allows reports whether the set has a rule of that name that allows calls.
func (s *Set) allows(name string) bool {
	return slices.ContainsFunc(s.list(), func(r rule) bool {
		return r.Name == name && r.Then == api.PolicyAllow
	})
}

// Len returns how many rules there are.
func (s *Set) Len() int {
	if s == nil {
		return 0
	}
	return len(s.rules)
}

// severity orders matching rules; the first one decides.
var severity = []api.PolicyEffect{api.PolicyDeny, api.PolicyAsk, api.PolicyWarn, api.PolicyAllow}

// rank is the place of an action among those on a call.
func rank(a api.PolicyAction) int {
	if a.AllowedBy != "" {
		return len(severity)
	}
	return slices.Index(severity, a.Effect)
}

// checkAll returns the effects of the sets' rules on a call: rules that match, and rules that fail,
// which deny. Denials come first, then asks, warnings and permissions, and at last the asks that a
// permission of their own set overrules. Within each, the order is that of the sets and their
// rules. Equal effects of two sets are returned once.
func checkAll(f *Facts, sets ...*Set) []api.PolicyAction {
	met := make([][]api.PolicyAction, len(sets))
	var v *values
	for i, s := range sets {
		met[i] = s.met(f, &v)
	}
	return merge(met)
}

// met returns the effects of the set's rules on a call. It makes the values when it needs them.
func (s *Set) met(f *Facts, v **values) (met []api.PolicyAction) {
	if s == nil {
		return nil
	}
	for i := range s.rules {
		r := &s.rules[i]
		if !r.concerns(f) {
			continue
		}
		if *v == nil && r.condition != nil {
			*v = newValues(f, r.condition.adapt)
		}
		if action, holds := r.check(*v); holds {
			met = append(met, action)
		}
	}
	overrule(met)
	return met
}

// overrule marks the asks among the actions of one set that one of its rules allows.
func overrule(met []api.PolicyAction) {
	allowing := slices.IndexFunc(met, allows)
	if allowing < 0 {
		return
	}
	for i := range met {
		if met[i].Effect == api.PolicyAsk {
			met[i].AllowedBy = met[allowing].Rule
		}
	}
}

func allows(a api.PolicyAction) bool { return a.Effect == api.PolicyAllow }

// merge returns the effects of several sets, each once, the strictest first.
func merge(sets [][]api.PolicyAction) (met []api.PolicyAction) {
	for _, actions := range sets {
		for _, action := range actions {
			if !slices.Contains(met, action) {
				met = append(met, action)
			}
		}
	}
	slices.SortStableFunc(met, func(a, b api.PolicyAction) int { return rank(a) - rank(b) })
	return met
}

// Decided is what the rules in force do to a call.
type Decided struct {
	// Met are the rules that matched or failed, as checkAll returns them.
	Met []api.PolicyAction
	// Allowed is set if the call needs no approval that its toolspec declares: a rule of each of
	// the sets for all runs that have rules allows it.
	Allowed bool
	// Sources are those of values that rules asked about.
	Sources []api.ValueSources
}

// Decide applies the rules for all runs and those of agents to a call. Agents come with a run, so
// their rules cannot relax those of the workers and toolspecs: one that allows has no effect.
func Decide(f *Facts, all []*Set, agents *Set) Decided {
	met := make([][]api.PolicyAction, 0, len(all)+1)
	var v *values
	voting, allowing := 0, 0
	for _, s := range all {
		actions := s.met(f, &v)
		met = append(met, actions)
		if s.Len() > 0 {
			voting++
		}
		if slices.ContainsFunc(actions, allows) {
			allowing++
		}
	}
	theirs := slices.DeleteFunc(agents.met(f, &v), allows)
	for i := range theirs {
		theirs[i].AllowedBy = ""
	}
	decided := Decided{Met: merge(append(met, theirs)), Allowed: voting > 0 && voting == allowing}
	if v != nil {
		decided.Sources = v.recorded
	}
	return decided
}

// Approvers returns who may decide about a call, by the rules among met that ask and restrict it.
func Approvers(met []api.PolicyAction, sets ...*Set) []api.ApproverRule {
	var all []api.ApproverRule
	for _, action := range met {
		if action.Effect != api.PolicyAsk || action.AllowedBy != "" {
			continue
		}
		for _, r := range slices.Concat(listRules(sets)...) {
			rule := api.ApproverRule{Rule: r.Name, Any: r.Approvers}
			known := slices.ContainsFunc(all, func(other api.ApproverRule) bool {
				return reflect.DeepEqual(other, rule)
			})
			if r.Name == action.Rule && r.Then == action.Effect && len(r.Approvers) > 0 && !known {
				all = append(all, rule)
			}
		}
	}
	return all
}

func listRules(sets []*Set) [][]api.PolicyRule {
	rules := make([][]api.PolicyRule, len(sets))
	for i, s := range sets {
		rules[i] = s.Rules()
	}
	return rules
}

// concerns reports whether the rule is for the call.
func (r *rule) concerns(f *Facts) bool {
	return (len(r.Tools) == 0 || slices.Contains(r.Tools, f.Tool.Name)) && (len(r.Agents) == 0 ||
		slices.Contains(r.Agents, f.Run.Agent))
}

func (r *rule) check(v *values) (api.PolicyAction, bool) {
	action := api.PolicyAction{Rule: r.Name, Effect: r.Then, Message: r.Message}
	if v != nil {
		v.overTime.tools, v.overTime.saw = r.Tools, nil
	}
	holds, err := r.holds(v)
	if v != nil {
		action.Saw = strings.Join(v.overTime.saw, "; ")
	}
	if errors.Is(err, errUnknown) {
		v.skipped = append(v.skipped, r.Name)
		return action, false
	}
	if err != nil {
		action.Effect, action.Failure = api.PolicyDeny, failureText(err)
		return action, true
	}
	return action, holds
}

// holds reports whether the condition is true and the exception is not. The exception is evaluated
// only where the condition is true; one that fails makes the rule fail.
func (r *rule) holds(v *values) (bool, error) {
	if err := cmp.Or(r.fault, r.unlessFault); err != nil {
		return false, err
	}
	holds, err := r.condition.holds(v)
	if err != nil || !holds || r.unless == nil {
		return holds, err
	}
	excepted, err := r.unless.holds(v)
	return !excepted, err
}

// readsAny reports whether an expression of the rule reads one of the names, or fields of them.
func (r *rule) readsAny(names []string) bool {
	return r.condition != nil && r.condition.readsAny(names) ||
		r.unless != nil && r.unless.readsAny(names)
}

// maxFailure bounds the text about an expression that could not be evaluated, in bytes.
const maxFailure = 300

func failureText(err error) string {
	if f, ok := errors.AsType[*Fault](err); ok {
		return display.Shorten("the expression does not compile: "+f.Error(), maxFailure)
	}
	return display.Shorten(err.Error(), maxFailure)
}
