package api

import (
	"cmp"
	"encoding/json"
)

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

// Under returns the tool with the lower of its own bounds and those of the plan. A nil plan changes
// nothing.
func (t Tool) Under(p *ExecutionPlan) Tool {
	if p == nil {
		return t
	}
	if timeout := p.Limits.Timeout; timeout > 0 {
		t.Timeout = min(t.Timeout, timeout)
		if t.Dispatch == DispatchQuestion {
			t.AnswerWithin = min(t.AnswerWithin, timeout)
		}
	}
	if attempts := p.Limits.MaxAttempts; attempts > 0 {
		t.Retry.MaxAttempts = min(max(t.Retry.MaxAttempts, 1), attempts)
	}
	return t
}

// Bound returns the limits of a sub-agent's run with the plan's bounds applied. A nil plan changes
// nothing.
func (p *ExecutionPlan) Bound(l Limits) Limits {
	if p == nil {
		return l
	}
	l.Turns = LowerLimit(cmp.Or(l.Turns, DefaultTurns), p.Limits.MaxTurns)
	l.Calls = LowerLimit(l.Calls, p.Limits.MaxCalls)
	l.Tokens = LowerLimit(l.Tokens, p.Limits.MaxTokens)
	l.Cost = LowerLimit(l.Cost, p.Limits.MaxCost)
	return l
}

// LowerLimit returns the lower of two limits; zero is no limit.
func LowerLimit[T int | float64 | Duration](a, b T) T {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}

// ShortestTimeout returns the timeout of one attempt that the plan sets; zero if it sets none. The
// plan may be nil.
func (p *ExecutionPlan) ShortestTimeout() Duration {
	if p == nil {
		return 0
	}
	return p.Limits.Timeout
}

// Redacted returns the plan with the values of the call's sensitive arguments replaced in its
// texts, because a caller may repeat them there. If the arguments are not valid JSON, the texts are
// removed.
func (p *ExecutionPlan) Redacted(mask *Mask, arguments json.RawMessage) *ExecutionPlan {
	if p == nil || mask == nil {
		return p
	}
	shown := *p
	if _, err := DecodeJSON(arguments); err != nil {
		shown.Intent, shown.Rollback, shown.Preconditions, shown.ExpectedOutcomes = Redacted, "",
			nil, nil
		return &shown
	}
	var none *Hider
	return p.Hidden(none.With(Redacted, mask.Values(arguments)...))
}

// Hidden returns the plan with its texts hidden by the hider. The plan may be nil.
func (p *ExecutionPlan) Hidden(hider *Hider) *ExecutionPlan {
	if p == nil || hider == nil {
		return p
	}
	shown := *p
	shown.Intent, shown.Rollback = hider.Text(p.Intent), hider.Text(p.Rollback)
	shown.Preconditions, shown.ExpectedOutcomes = hider.Texts(p.Preconditions),
		hider.Texts(p.ExpectedOutcomes)
	return &shown
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

// Withholds reports whether a dry run withholds the tool's calls because they may change something.
// A sub-agent is not withheld: its run is a dry run too.
func (t Tool) Withholds() bool {
	return t.Effect != EffectRead && t.Dispatch != DispatchChildWorkflow
}

// IsDryRun reports whether an execution plan makes its call a dry run. A nil plan does not.
func (p *ExecutionPlan) IsDryRun() bool { return p != nil && p.DryRun }
