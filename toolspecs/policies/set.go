// Package policies reads and evaluates policies: rules that calls are checked against before they
// run (requirement G1).
package policies

import (
	"cmp"
	"encoding/json"
	"errors"
	"reflect"
	"slices"

	"github.com/switchyard/switchyard/api"
)

// Set is compiled rules, in order. It does not change and may be used by many goroutines. A nil one
// has none.
type Set struct {
	rules  []rule
	digest string
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

// Of compiles rules. One that does not compile denies every call that it is for: Decode is what
// refuses it.
func Of(rules ...api.PolicyRule) *Set {
	s := &Set{rules: make([]rule, len(rules)), digest: DigestOf(rules)}
	for i, r := range rules {
		s.rules[i].PolicyRule = r
		s.rules[i].condition, s.rules[i].fault = Compile(r.When)
		if r.Unless != "" {
			s.rules[i].unless, s.rules[i].unlessFault = Compile(r.Unless)
		}
	}
	return s
}

// DigestOf identifies rules; empty for none.
func DigestOf(rules []api.PolicyRule) string {
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

// Pinned returns the rules as a run pins them; the zero value for none.
func (s *Set) Pinned() api.PinnedPolicies {
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

// Len returns how many rules there are.
func (s *Set) Len() int {
	if s == nil {
		return 0
	}
	return len(s.rules)
}

// severity orders matching rules; the first one decides.
var severity = []api.PolicyEffect{api.PolicyDeny, api.PolicyAsk, api.PolicyWarn}

// Check returns the effects of the sets' rules on a call: rules that match, and rules that fail,
// which deny. Denials come first, then asks, then warnings; within each, the order is that of the
// sets and their rules. Equal effects of two sets are returned once.
func Check(f *Facts, sets ...*Set) []api.PolicyAction {
	var met []api.PolicyAction
	var v *values
	for _, s := range sets {
		if s == nil {
			continue
		}
		for i := range s.rules {
			r := &s.rules[i]
			if !r.concerns(f) {
				continue
			}
			if v == nil && r.condition != nil {
				v = newValues(f, r.condition.adapt)
			}
			if action, holds := r.check(v); holds && !slices.Contains(met, action) {
				met = append(met, action)
			}
		}
	}
	slices.SortStableFunc(met, func(a, b api.PolicyAction) int {
		return slices.Index(severity, a.Effect) - slices.Index(severity, b.Effect)
	})
	return met
}

// Approvers returns who may decide about a call, by the rules among met that ask and restrict it.
func Approvers(met []api.PolicyAction, sets ...*Set) []api.ApproverRule {
	var all []api.ApproverRule
	for _, action := range met {
		if action.Effect != api.PolicyAsk {
			continue
		}
		for _, r := range slices.Concat(rulesOf(sets)...) {
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

func rulesOf(sets []*Set) [][]api.PolicyRule {
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
	holds, err := r.holds(v)
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
		return api.Shorten("the expression does not compile: "+f.Error(), maxFailure)
	}
	return api.Shorten(err.Error(), maxFailure)
}
