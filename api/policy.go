package api

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// PolicyEffect is the effect of a rule that matches a call (requirement G1).
type PolicyEffect string

const (
	// PolicyDeny refuses the call with policy_violation.
	PolicyDeny PolicyEffect = "deny"
	// PolicyAsk requires a person's approval.
	PolicyAsk PolicyEffect = "ask"
	// PolicyWarn lets the call run, with the rule's message among the notes of its result.
	PolicyWarn PolicyEffect = "warn"
)

// PolicyRule is one rule that calls are checked against before they run.
type PolicyRule struct {
	// Name is unique among the rules of a call.
	Name string `json:"name"`
	// When is a CEL expression of type bool; docs/policies.md lists its variables.
	When string `json:"when"`
	// Then is the effect if When is true.
	Then PolicyEffect `json:"then"`
	// Message is the reason given to the caller.
	Message string `json:"message"`
	// Tools are the tools whose calls the rule applies to; empty for all.
	Tools []string `json:"tools,omitempty"`
	// Agents are the agents whose calls the rule applies to; empty for the calls of all runs, plans
	// and direct calls included.
	Agents []string `json:"agents,omitempty"`
}

// PolicyAction is what a rule did to a call. It is recorded with the admission decision.
type PolicyAction struct {
	Rule    string       `json:"rule"`
	Effect  PolicyEffect `json:"effect"`
	Message string       `json:"message,omitempty"`
	// Failure is why the expression could not be evaluated; a rule that fails denies.
	Failure string `json:"failure,omitempty"`
}

// PoliciesSaid returns the messages of the rules with some effects, one after the other; empty if
// there are none.
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

// PastCalls counts the calls of a run by tool, for policies.
type PastCalls struct {
	Tool      string `json:"tool"`
	Completed int    `json:"completed,omitempty"`
	Failed    int    `json:"failed,omitempty"`
	Refused   int    `json:"refused,omitempty"`
	// Running counts calls that were admitted and have not ended.
	Running int `json:"running,omitempty"`
}

// RunFacts are the facts of a run that policies can use, besides those in AdmissionRequest.
type RunFacts struct {
	// Run is the id of the first execution of the run's chain.
	Run          string `json:"run_id,omitempty"`
	Conversation string `json:"conversation,omitempty"`
	// Turn is the turn of an agent run.
	Turn int `json:"turn,omitempty"`
	// Labels are the labels the run has collected, sorted.
	Labels []string `json:"labels,omitempty"`
	// Calls are the run's calls by tool. Calls of sub-agents count for their own runs.
	Calls   []PastCalls `json:"calls,omitempty"`
	Usage   Usage       `json:"usage,omitzero"`
	Limits  Limits      `json:"limits,omitzero"`
	Started time.Time   `json:"started,omitzero"`
}
