package policies

import (
	"cmp"
	"slices"

	"github.com/switchyard/switchyard/api"
)

// ReplayReport compares what rules would have done with what happened. It is JSON as well.
type ReplayReport struct {
	// Calls is the number of recorded calls that rules are for, Runs that of their runs.
	Calls int `json:"calls"`
	Runs  int `json:"runs"`
	// Same, Changed and Undecided divide the calls.
	Same      int `json:"same"`
	Changed   int `json:"changed"`
	Undecided int `json:"undecided"`
	// Changes are the differences by action, tool and rule, the most frequent first.
	Changes []ReplayChange `json:"changes"`
	// Rules has one entry for each replayed rule, in their order.
	Rules []ReplayedRule `json:"rules"`
}

// ReplayChange is a difference.
type ReplayChange struct {
	Was   api.PolicyEffect `json:"was"`
	Would api.PolicyEffect `json:"would"`
	Tool  string           `json:"tool"`
	// Rule is the strictest rule that would act, else the one that acted.
	Rule  string `json:"rule"`
	Calls int    `json:"calls"`
	Runs  int    `json:"runs"`
	// WorkflowID and Call are the first such call.
	WorkflowID string `json:"workflow_id"`
	Call       string `json:"call_id"`

	runs map[string]bool
}

// ReplayedRule counts the calls that a rule would match, by effect. A rule that fails denies.
type ReplayedRule struct {
	Rule      string           `json:"rule"`
	Then      api.PolicyEffect `json:"then"`
	Matched   int              `json:"matched"`
	Failed    int              `json:"failed"`
	Undecided int              `json:"undecided"`
}

// Report replays the added records and adds up the results.
func (r *Replay) Report() *ReplayReport {
	out := &ReplayReport{Changes: []ReplayChange{}, Rules: []ReplayedRule{}}
	byRule := map[string]int{}
	for _, rule := range r.rules.Rules() {
		byRule[rule.Name] = len(out.Rules)
		out.Rules = append(out.Rules, ReplayedRule{Rule: rule.Name, Then: rule.Then})
	}
	runs := map[string]bool{}
	r.Results(func(call Replayed) {
		out.Calls++
		runs[call.Run] = true
		out.compare(call)
		for _, met := range call.Met {
			rule := &out.Rules[byRule[met.Rule]]
			if met.Failure != "" {
				rule.Failed++
			} else {
				rule.Matched++
			}
		}
		for _, name := range call.Skipped {
			out.Rules[byRule[name]].Undecided++
		}
	})
	out.Runs = len(runs)
	slices.SortStableFunc(out.Changes, func(a, b ReplayChange) int {
		return cmp.Or(cmp.Compare(b.Calls, a.Calls), cmp.Compare(a.Tool, b.Tool),
			cmp.Compare(a.Rule, b.Rule))
	})
	return out
}

// compare counts a call.
func (out *ReplayReport) compare(call Replayed) {
	switch call.Would {
	case call.Was:
		out.Same++
		return
	case Undecided:
		out.Undecided++
		return
	}
	out.Changed++
	rule := findRule(call.Met, call.Would)
	if rule == "" {
		rule = findRule(call.Recorded, call.Was)
	}
	i := slices.IndexFunc(out.Changes, func(c ReplayChange) bool {
		return c.Was == call.Was && c.Would == call.Would && c.Tool == call.Tool && c.Rule == rule
	})
	if i < 0 {
		i = len(out.Changes)
		out.Changes = append(out.Changes, ReplayChange{Was: call.Was, Would: call.Would,
			Tool: call.Tool, Rule: rule, WorkflowID: call.WorkflowID, Call: call.Call,
			runs: map[string]bool{}})
	}
	change := &out.Changes[i]
	change.runs[call.Run] = true
	change.Calls, change.Runs = change.Calls+1, len(change.runs)
}

// findRule returns the first rule with an effect.
func findRule(met []api.PolicyAction, effect api.PolicyEffect) string {
	for _, action := range met {
		if action.Effect == effect && action.AllowedBy == "" {
			return action.Rule
		}
	}
	return ""
}
