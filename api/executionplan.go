package api

import (
	"cmp"
	"encoding/json"
)

// PlanArgument is the argument in which a call of any tool may carry its execution plan. It is taken off before the arguments
// are validated, unless the tool declares a parameter of this name.
const PlanArgument = "execution_plan"

// ExecutionPlan is what a caller says of one call before it runs (requirement G2). Texts are recorded, and policies can read
// them; limits are held.
type ExecutionPlan struct {
	// Intent says what the call is for.
	Intent string `json:"intent"`
	// DryRun makes this one call a dry run: it is told what it would have done, unless its tool only reads.
	DryRun bool       `json:"dry_run,omitempty"`
	Limits PlanLimits `json:"limits,omitzero"`
	// Rollback says how to put back what the call does.
	Rollback string `json:"rollback,omitempty"`
	// Preconditions are what has to be true before, ExpectedOutcomes what is to be true after the call.
	Preconditions    []string `json:"preconditions,omitempty"`
	ExpectedOutcomes []string `json:"expected_outcomes,omitempty"`
}

// PlanLimits bound one call further than its tool does. Zero leaves a bound to the tool, and so does one that is higher.
type PlanLimits struct {
	// Timeout bounds one attempt, and of a human tool how long the person may take.
	Timeout     Duration `json:"timeout,omitzero"`
	MaxAttempts int      `json:"max_attempts,omitempty"`
	// MaxTurns, MaxCalls, MaxTokens and MaxCost bound the run of a sub-agent.
	MaxTurns  int     `json:"max_turns,omitempty"`
	MaxCalls  int     `json:"max_calls,omitempty"`
	MaxTokens int     `json:"max_tokens,omitempty"`
	MaxCost   float64 `json:"max_cost,omitempty"`
}

// Under returns the tool as a call with an execution plan is held to it: with the lower one of each two bounds. A nil plan
// changes nothing.
func (t Tool) Under(p *ExecutionPlan) Tool {
	if p == nil {
		return t
	}
	if timeout := p.Limits.Timeout; timeout > 0 {
		t.Timeout = min(t.Timeout, timeout)
		if t.Kind == KindHuman {
			t.AnswerWithin = min(t.AnswerWithin, timeout)
		}
	}
	if attempts := p.Limits.MaxAttempts; attempts > 0 {
		t.Retry.MaxAttempts = min(max(t.Retry.MaxAttempts, 1), attempts)
	}
	return t
}

// Bound returns the limits of a sub-agent's run as the plan bounds them further. It may be called on nil.
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

// LowerLimit returns the lower one of two limits, of which zero is none.
func LowerLimit[T int | float64 | Duration](a, b T) T {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}

// ShortestTimeout returns the timeout of one attempt that the plan sets; zero where it sets none. It may be called on nil.
func (p *ExecutionPlan) ShortestTimeout() Duration {
	if p == nil {
		return 0
	}
	return p.Limits.Timeout
}

// Redacted returns the plan with the values of the call's sensitive arguments replaced in its texts: a caller may repeat them
// there. Where the arguments are no JSON, nothing of the texts is left.
func (p *ExecutionPlan) Redacted(mask *Mask, arguments json.RawMessage) *ExecutionPlan {
	if p == nil || mask == nil {
		return p
	}
	shown := *p
	if _, err := DecodeJSON(arguments); err != nil {
		shown.Intent, shown.Rollback, shown.Preconditions, shown.ExpectedOutcomes = Redacted, "", nil, nil
		return &shown
	}
	var none *Hider
	return p.Hidden(none.With(Redacted, mask.Values(arguments)...))
}

// Hidden returns the plan with its texts as the hider leaves them. It may be called on nil.
func (p *ExecutionPlan) Hidden(hider *Hider) *ExecutionPlan {
	if p == nil || hider == nil {
		return p
	}
	shown := *p
	shown.Intent, shown.Rollback = hider.Text(p.Intent), hider.Text(p.Rollback)
	shown.Preconditions, shown.ExpectedOutcomes = hider.Texts(p.Preconditions), hider.Texts(p.ExpectedOutcomes)
	return &shown
}
