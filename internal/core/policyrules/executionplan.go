package policyrules

import (
	"cmp"

	"github.com/switchyard/switchyard/api"
)

// LimitTool returns the tool with the lower of its own bounds and those of the plan. A nil plan
// changes nothing.
func LimitTool(t api.Tool, p *api.ExecutionPlan) api.Tool {
	if p == nil {
		return t
	}
	if timeout := p.Limits.Timeout; timeout > 0 {
		t.Timeout = min(t.Timeout, timeout)
		if t.Dispatch == api.DispatchQuestion {
			t.AnswerWithin = min(t.AnswerWithin, timeout)
		}
	}
	if attempts := p.Limits.MaxAttempts; attempts > 0 {
		t.Retry.MaxAttempts = min(max(t.Retry.MaxAttempts, 1), attempts)
	}
	return t
}

// LimitRun returns the limits of a sub-agent's run with the plan's bounds applied. A nil plan
// changes nothing.
func LimitRun(p *api.ExecutionPlan, l api.Limits) api.Limits {
	if p == nil {
		return l
	}
	l.Turns = LowerLimit(cmp.Or(l.Turns, api.DefaultTurns), p.Limits.MaxTurns)
	l.Calls = LowerLimit(l.Calls, p.Limits.MaxCalls)
	l.Tokens = LowerLimit(l.Tokens, p.Limits.MaxTokens)
	l.Cost = LowerLimit(l.Cost, p.Limits.MaxCost)
	return l
}

// LowerLimit returns the lower of two limits; zero is no limit.
func LowerLimit[T int | float64 | api.Duration](a, b T) T {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}

// AttemptTimeout returns the timeout of one attempt that the plan sets; zero if it sets none. The
// plan may be nil.
func AttemptTimeout(p *api.ExecutionPlan) api.Duration {
	if p == nil {
		return 0
	}
	return p.Limits.Timeout
}

// Withholds reports whether a dry run withholds the tool's calls because they may change something.
// A sub-agent is not withheld: its run is a dry run too.
func Withholds(t api.Tool) bool {
	return t.Effect != api.EffectRead && t.Dispatch != api.DispatchChildWorkflow
}
