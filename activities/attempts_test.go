package activities

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/switchyard/switchyard/activities/executor"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/failures"
	"github.com/switchyard/switchyard/toolspecs"
	"github.com/switchyard/switchyard/workflows/failure"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"
)

// A call that took effect, lost its answer and was then refused is not told as not done. A call
// whose attempts all failed before they did anything is.
func TestTool_RemembersWhatEarlierAttemptsMayHaveDone(t *testing.T) {
	again := func(err error) error { return api.Transient(err, api.Duration(time.Millisecond)) }
	refused := errors.New("no")
	absent := executor.NotStarted(again(errors.New("connection refused")))
	busy := again(errors.New("not now"))
	unclear := executor.Unclear(again(errors.New("cut")))
	for name, c := range map[string]struct {
		effect   api.Effect
		attempts []error
		acted    bool
	}{
		"refused at once":           {api.EffectIdempotent, []error{refused}, false},
		"absent, then refused":      {api.EffectIdempotent, []error{absent, refused}, false},
		"always absent":             {api.EffectIdempotent, []error{absent, absent, absent}, false},
		"busy twice, then refused":  {api.EffectIdempotent, []error{busy, busy, refused}, false},
		"cut, then refused":         {api.EffectIdempotent, []error{unclear, refused}, true},
		"cut, then absent":          {api.EffectIdempotent, []error{unclear, absent, absent}, true},
		"busy, cut, then refused":   {api.EffectIdempotent, []error{busy, unclear, refused}, true},
		"cut, busy, then refused":   {api.EffectIdempotent, []error{unclear, busy, refused}, true},
		"a reader cut, and refused": {api.EffectRead, []error{unclear, refused}, false},
	} {
		t.Run(name, func(t *testing.T) {
			b, compiled := toolBench(t, func(s *toolspecs.Spec) { s.Execution.Effect = c.effect },
				func(ctx context.Context, _ *toolspecs.Spec, _ json.RawMessage) (executor.Answer,
					error) {
					return executor.Answer{}, c.attempts[activity.GetInfo(ctx).Attempt-1]
				})
			suite := testsuite.WorkflowTestSuite{}
			env := suite.NewTestWorkflowEnvironment()
			env.SetTestTimeout(20 * time.Second)
			env.RegisterDynamicActivity(b.Tool, activity.DynamicRegisterOptions{})
			var e *api.Error
			env.ExecuteWorkflow(func(ctx workflow.Context) error {
				ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
					StartToCloseTimeout: time.Minute, HeartbeatTimeout: 15 * time.Second,
					RetryPolicy: &temporal.RetryPolicy{MaximumAttempts: int32(len(c.attempts))}})
				err := workflow.ExecuteActivity(ctx, "probe", executionOf(compiled)).Get(ctx, nil)
				e = failures.CallError(failure.Of(err), compiled.Tool(), api.Route{})
				return nil
			})
			if e == nil || e.MayHaveActed() != c.acted {
				t.Errorf("got %+v, want %t", e, c.acted)
			}
		})
	}
}
