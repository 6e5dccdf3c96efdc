package workflows

import (
	"errors"
	"testing"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/workflows/session"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"
)

// A server accepts 2,000 updates of an execution. People need the last ones.
func TestSession_RefusesCallsBeforeUpdatesRunOut(t *testing.T) {
	var suite testsuite.WorkflowTestSuite
	env := suite.NewTestWorkflowEnvironment()
	env.ExecuteWorkflow(func(ctx workflow.Context) error {
		s := &sessionRun{submits: maxSubmits, calls: session.Restore(nil, "run")}
		return s.maySubmit(ctx, []api.SessionCall{{ID: "c", Tool: "greet", Arguments: "{}",
			Caller: api.Caller{ID: "ana"}}})
	})
	app, ok := errors.AsType[*temporal.ApplicationError](env.GetWorkflowError())
	if !ok || app.Type() != string(api.SessionBusy) {
		t.Errorf("the call was answered %v, want %s", env.GetWorkflowError(), api.SessionBusy)
	}
}
