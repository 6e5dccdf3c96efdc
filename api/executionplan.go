package api

import "encoding/json"

// PlanArgument is the argument with which a call of any tool may carry its execution plan. It is
// removed before the arguments are validated, unless the tool declares a parameter of this name.
const PlanArgument = "execution_plan"

// ExecutionPlan is what a caller declares about one call (requirement G2). Its texts are recorded
// and policies can read them; its limits are enforced.
type ExecutionPlan struct {
	// Intent says what the call is for.
	Intent string `json:"intent"`
	// DryRun makes this call a dry run, unless its tool only reads.
	DryRun bool       `json:"dry_run,omitempty"`
	Limits PlanLimits `json:"limits,omitzero"`
	// Rollback says how to reverse the call.
	Rollback string `json:"rollback,omitempty"`
	// Preconditions are conditions before the call, ExpectedOutcomes conditions after it.
	Preconditions    []string `json:"preconditions,omitempty"`
	ExpectedOutcomes []string `json:"expected_outcomes,omitempty"`
}

// PlanLimits bound one call further than its tool does. Zero, or a higher value, leaves the tool's
// bound.
type PlanLimits struct {
	// Timeout bounds one attempt, and the wait for a person's answer for a human tool.
	Timeout     Duration `json:"timeout,omitzero"`
	MaxAttempts int      `json:"max_attempts,omitempty"`
	// MaxTurns, MaxCalls, MaxTokens and MaxCost bound the run of a sub-agent.
	MaxTurns  int     `json:"max_turns,omitempty"`
	MaxCalls  int     `json:"max_calls,omitempty"`
	MaxTokens int     `json:"max_tokens,omitempty"`
	MaxCost   float64 `json:"max_cost,omitempty"`
}

// WithheldEffect describes what a call of a dry run would have done. It is the output of the call's
// result.
type WithheldEffect struct {
	// DryRun is always true: it distinguishes this output from the tool's.
	DryRun bool   `json:"dry_run"`
	Tool   string `json:"would_call"`
	// Arguments are the validated arguments with sensitive values redacted.
	Arguments json.RawMessage `json:"arguments"`
	// Lane is the lane the call would have run on, with the key's part for a keyed lane.
	Lane string `json:"lane"`
	// Approval is why a person would have had to approve the call; empty if not.
	Approval string `json:"approval,omitempty"`
}

// DryRunNote is a system message to the model of a dry run.
const DryRunNote = "This is a dry run. Tools that only read are called. Every other call is withheld: it has no effect, and its result says " +
	"what it would have done. Continue as if it had succeeded, and say in your answer what you would have done."

// IsDryRun reports whether an execution plan makes its call a dry run. A nil plan does not.
func (p *ExecutionPlan) IsDryRun() bool { return p != nil && p.DryRun }
