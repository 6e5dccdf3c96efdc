package api

import (
	"encoding/json"
	"testing"
	"time"
)

// A plan never widens what a tool may do.
func TestUnder_TakesTheLowerBound(t *testing.T) {
	tool := Tool{Timeout: Duration(time.Minute), AnswerWithin: Duration(time.Hour),
		Retry: Retry{MaxAttempts: 3}}
	if got := tool.Under(nil); got.Timeout != tool.Timeout || got.Retry != tool.Retry {
		t.Errorf("without a plan: %+v", got)
	}
	lower := &ExecutionPlan{Limits: PlanLimits{Timeout: Duration(time.Second), MaxAttempts: 1,
		MaxTurns: 2, MaxCalls: 3, MaxTokens: 4, MaxCost: 0.5}}
	if got := tool.Under(lower); got.Timeout.Std() != time.Second ||
		got.AnswerWithin != tool.AnswerWithin || got.Retry.MaxAttempts != 1 {
		t.Errorf("a lower plan: %+v", got)
	}
	asks := tool
	asks.Dispatch = DispatchQuestion
	if got := asks.Under(lower); got.AnswerWithin.Std() != time.Second {
		t.Errorf("a person has %s", got.AnswerWithin)
	}
	higher := &ExecutionPlan{Limits: PlanLimits{Timeout: Duration(time.Hour), MaxAttempts: 9}}
	if got := tool.Under(higher); got.Timeout != tool.Timeout || got.Retry != tool.Retry {
		t.Errorf("a higher plan: %+v", got)
	}
	want := Limits{Turns: 2, Calls: 3, Tokens: 4, Cost: 0.5}
	if got := lower.Bound(Limits{Calls: 10, Cost: 1}); got != want {
		t.Errorf("a sub-agent has %+v", got)
	}
	if got := (*ExecutionPlan)(nil).Bound(want); got != want {
		t.Errorf("without a plan a sub-agent has %+v", got)
	}
	if lower.ShortestTimeout().Std() != time.Second ||
		(*ExecutionPlan)(nil).ShortestTimeout() != 0 {
		t.Error("the timeout of an attempt")
	}
}

// The texts of a plan do not repeat sensitive values at any depth. If the arguments cannot be read,
// nothing is shown.
func TestPlanRedacted_HidesSensitiveArguments(t *testing.T) {
	plan := &ExecutionPlan{Intent: "log in with s3cret and 471147", Rollback: "log out",
		Preconditions: []string{"hunter2 works", "a"}}
	arguments := json.RawMessage(
		`{"Password":{"value":"s3cret","also":["hunter2"]},"pin":471147,"name":"a","empty":""}`)
	got := plan.Redacted(Tool{Sensitive: []string{"password", "pin", "empty"}}.ArgumentMask(),
		arguments)
	if got.Intent != "log in with *** and ***" || got.Rollback != "log out" ||
		got.Preconditions[0] != "*** works" || got.Preconditions[1] != "a" {
		t.Errorf("shown as %+v", got)
	}
	if plan.Intent != "log in with s3cret and 471147" || plan.Preconditions[0] != "hunter2 works" {
		t.Errorf("the plan itself was changed: %+v", plan)
	}
	if got := plan.Redacted(Tool{Sensitive: []string{"password"}}.ArgumentMask(),
		json.RawMessage(`{`)); got.Intent != Redacted {
		t.Errorf("with broken arguments: %+v", got)
	}
	if got := plan.Redacted(nil, arguments); got != plan {
		t.Error("nothing is sensitive")
	}
}
