package activities

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/switchyard/switchyard/toolspecs"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"
)

// A call is kept alive without its author's doing, also while a cancelled one takes its time to end.
func TestToolIsKeptAlive(t *testing.T) {
	beats := make(chan struct{}, 100)
	b, compiled := toolBench(t, nil, func(ctx context.Context, _ *toolspecs.Spec, _ json.RawMessage) (Answer, error) {
		<-beats
		<-beats
		return Answer{Output: json.RawMessage("1")}, nil
	})
	for _, cancelled := range []bool{false, true} {
		suite := testsuite.WorkflowTestSuite{}
		env := suite.NewTestWorkflowEnvironment()
		env.SetTestTimeout(20 * time.Second)
		env.RegisterDynamicActivity(func(ctx context.Context, in converter.EncodedValues) (any, error) {
			ctx, end := context.WithCancelCause(ctx)
			defer end(nil)
			if cancelled {
				end(temporal.NewCanceledError())
			}
			return b.Tool(ctx, in)
		}, activity.DynamicRegisterOptions{})
		env.SetOnActivityHeartbeatListener(func(*activity.Info, converter.EncodedValues) { beats <- struct{}{} })
		env.ExecuteWorkflow(func(ctx workflow.Context) error {
			ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{StartToCloseTimeout: time.Minute, HeartbeatTimeout: 90 * time.Millisecond})
			return workflow.ExecuteActivity(ctx, "probe", executionOf(compiled)).Get(ctx, nil)
		})
		if err := env.GetWorkflowError(); err != nil {
			t.Errorf("cancelled %v: %v", cancelled, err)
		}
	}
}
