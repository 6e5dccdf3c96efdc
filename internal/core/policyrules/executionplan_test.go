package policyrules

import (
	"testing"
	"time"

	"github.com/switchyard/switchyard/api"
)

// A plan never widens what a tool may do.
func TestUnder_TakesTheLowerBound(t *testing.T) {
	tool := api.Tool{Timeout: api.Duration(time.Minute), AnswerWithin: api.Duration(time.Hour),
		Retry: api.Retry{MaxAttempts: 3}}
	if got := LimitTool(tool, nil); got.Timeout != tool.Timeout || got.Retry != tool.Retry {
		t.Errorf("without a plan: %+v", got)
	}
	lower := &api.ExecutionPlan{Limits: api.PlanLimits{Timeout: api.Duration(time.Second),
		MaxAttempts: 1,
		MaxTurns:    2, MaxCalls: 3, MaxTokens: 4, MaxCost: 0.5}}
	if got := LimitTool(tool, lower); got.Timeout.Std() != time.Second ||
		got.AnswerWithin != tool.AnswerWithin || got.Retry.MaxAttempts != 1 {
		t.Errorf("a lower plan: %+v", got)
	}
	asks := tool
	asks.Dispatch = api.DispatchQuestion
	if got := LimitTool(asks, lower); got.AnswerWithin.Std() != time.Second {
		t.Errorf("a person has %s", got.AnswerWithin)
	}
	higher := &api.ExecutionPlan{Limits: api.PlanLimits{Timeout: api.Duration(time.Hour),
		MaxAttempts: 9}}
	if got := LimitTool(tool, higher); got.Timeout != tool.Timeout || got.Retry != tool.Retry {
		t.Errorf("a higher plan: %+v", got)
	}
	want := api.Limits{Turns: 2, Calls: 3, Tokens: 4, Cost: 0.5}
	if got := LimitRun(lower, api.Limits{Calls: 10, Cost: 1}); got != want {
		t.Errorf("a sub-agent has %+v", got)
	}
	if got := LimitRun((*api.ExecutionPlan)(nil), want); got != want {
		t.Errorf("without a plan a sub-agent has %+v", got)
	}
	if AttemptTimeout(lower).Std() != time.Second ||
		AttemptTimeout((*api.ExecutionPlan)(nil)) != 0 {
		t.Error("the timeout of an attempt")
	}
}
