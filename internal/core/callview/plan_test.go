package callview

import (
	"encoding/json"
	"testing"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/value/redaction"
)

// The texts of a plan do not repeat sensitive values at any depth. If the arguments cannot be read,
// nothing is shown.
func TestPlanRedacted_HidesSensitiveArguments(t *testing.T) {
	plan := &api.ExecutionPlan{Intent: "log in with s3cret and 471147", Rollback: "log out",
		Preconditions: []string{"hunter2 works", "a"}}
	arguments := json.RawMessage(
		`{"Password":{"value":"s3cret","also":["hunter2"]},"pin":471147,"name":"a","empty":""}`)
	got := RedactPlan(plan, ArgumentMask(api.Tool{Sensitive: []string{"password", "pin", "empty"}}),
		arguments)
	if got.Intent != "log in with *** and ***" || got.Rollback != "log out" ||
		got.Preconditions[0] != "*** works" || got.Preconditions[1] != "a" {
		t.Errorf("shown as %+v", got)
	}
	if plan.Intent != "log in with s3cret and 471147" || plan.Preconditions[0] != "hunter2 works" {
		t.Errorf("the plan itself was changed: %+v", plan)
	}
	if got := RedactPlan(plan, ArgumentMask(api.Tool{Sensitive: []string{"password"}}),
		json.RawMessage(`{`)); got.Intent != redaction.Word {
		t.Errorf("with broken arguments: %+v", got)
	}
	if got := RedactPlan(plan, nil, arguments); got != plan {
		t.Error("nothing is sensitive")
	}
}
