package api

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// PolicyEffect is what comes of a rule that a call meets (requirement G1).
type PolicyEffect string

const (
	// PolicyDeny refuses the call as a policy_violation.
	PolicyDeny PolicyEffect = "deny"
	// PolicyAsk holds the call until a person has approved it.
	PolicyAsk PolicyEffect = "ask"
	// PolicyWarn lets it run, with the rule's message among the notes of its result.
	PolicyWarn PolicyEffect = "warn"
)

// PolicyRule is one rule that calls are checked against before they run.
type PolicyRule struct {
	// Name is unique among the rules that a call is checked against.
	Name string `json:"name"`
	// When is a CEL expression of the type bool; docs/policies.md tells what it can name.
	When string `json:"when"`
	// Then is what comes of it where When is true.
	Then PolicyEffect `json:"then"`
	// Message says why; the caller is told.
	Message string `json:"message"`
	// Tools are those whose calls the rule is for; empty for all.
	Tools []string `json:"tools,omitempty"`
	// Agents are those for whose calls the rule is, by name; empty for the calls of all runs, of plans and direct ones too.
	Agents []string `json:"agents,omitempty"`
}

// PolicyAction is what a rule did to a call. It is recorded with the call's verdict.
type PolicyAction struct {
	Rule    string       `json:"rule"`
	Effect  PolicyEffect `json:"effect"`
	Message string       `json:"message,omitempty"`
	// Failure is why the expression could not be evaluated on this call; a rule that fails denies.
	Failure string `json:"failure,omitempty"`
}

// PoliciesSaid puts what rules of some effects say into words, a rule after the other; empty where there is none.
func PoliciesSaid(met []PolicyAction, effects ...PolicyEffect) string {
	var texts []string
	for _, p := range met {
		if !slices.Contains(effects, p.Effect) {
			continue
		}
		text := fmt.Sprintf("the policy %q %s: %s", p.Rule, cmp.Or(policySaying[p.Effect], string(p.Effect)), p.Message)
		if p.Failure != "" {
			text = fmt.Sprintf("the policy %q cannot be evaluated on this call, and so denies it: %s (its message: %s)", p.Rule, p.Failure, p.Message)
		}
		texts = append(texts, text)
	}
	return strings.Join(texts, "; ")
}

var policySaying = map[PolicyEffect]string{PolicyDeny: "says", PolicyAsk: "asks for approval", PolicyWarn: "warns"}

// PastCalls counts what a run has done with one tool so far, for policies.
type PastCalls struct {
	Tool      string `json:"tool"`
	Completed int    `json:"completed,omitempty"`
	Failed    int    `json:"failed,omitempty"`
	Refused   int    `json:"refused,omitempty"`
	// Running are those that were let through and have not ended.
	Running int `json:"running,omitempty"`
}

// RunFacts are what policies can know of the run that makes a call, beside what an AdmitRequest says anyway.
type RunFacts struct {
	// Run is the id of the first execution of the run's chain.
	Run          string `json:"run_id,omitempty"`
	Conversation string `json:"conversation,omitempty"`
	// Turn is an agent run's.
	Turn int `json:"turn,omitempty"`
	// Labels are those that the run has seen, sorted.
	Labels []string `json:"labels,omitempty"`
	// Calls are what it has done, by tool; those of its sub-agents count for their own runs.
	Calls   []PastCalls `json:"calls,omitempty"`
	Usage   Usage       `json:"usage,omitzero"`
	Limits  Limits      `json:"limits,omitzero"`
	Started time.Time   `json:"started,omitzero"`
}
