package workflows

import (
	"errors"
	"testing"

	"github.com/switchyard/switchyard"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"
)

// TestCallError proves that each way in which Temporal says that an activity failed becomes the type of the closed set
// that tells the caller what happened, with the details of the tool's own failure kept.
func TestCallError(t *testing.T) {
	own := &switchyard.Error{Type: switchyard.ErrInvalidOutput, Message: "not the form", Problems: []switchyard.Problem{{Path: "$.a"}}}
	for _, test := range []struct {
		name   string
		err    error
		effect switchyard.Effect
		want   switchyard.ErrorType
	}{
		{"nobody took it", temporal.NewTimeoutError(enumspb.TIMEOUT_TYPE_SCHEDULE_TO_START, nil), switchyard.EffectOnce, switchyard.ErrQueueTimeout},
		{"silent", temporal.NewTimeoutError(enumspb.TIMEOUT_TYPE_HEARTBEAT, nil), switchyard.EffectRead, switchyard.ErrWorkerLost},
		{"silent, once", temporal.NewTimeoutError(enumspb.TIMEOUT_TYPE_HEARTBEAT, nil), switchyard.EffectOnce, switchyard.ErrOutcomeUnknown},
		{"hanging", temporal.NewTimeoutError(enumspb.TIMEOUT_TYPE_START_TO_CLOSE, nil), switchyard.EffectIdempotent, switchyard.ErrTimeout},
		{"hanging, once", temporal.NewTimeoutError(enumspb.TIMEOUT_TYPE_START_TO_CLOSE, nil), switchyard.EffectOnce, switchyard.ErrOutcomeUnknown},
		{"cancelled", temporal.NewCanceledError(), switchyard.EffectRead, switchyard.ErrCancelled},
		{"its own", temporal.NewApplicationError("not the form", string(own.Type), own), switchyard.EffectRead, switchyard.ErrInvalidOutput},
		{"a stranger's", temporal.NewApplicationError("boom", "PanicError"), switchyard.EffectRead, switchyard.ErrExecution},
		{"no type at all", errors.New("boom"), switchyard.EffectRead, switchyard.ErrExecution},
	} {
		// As it comes out of a history.
		failures := temporal.GetDefaultFailureConverter()
		got := callError(failures.FailureToError(failures.ErrorToFailure(test.err)), switchyard.Tool{Name: "t", Lane: "serial", Effect: test.effect}, switchyard.Route{})
		if got.Type != test.want || got.Message == "" || got.Phase == "" && test.name != "its own" {
			t.Errorf("%s: got %+v, want %s", test.name, got, test.want)
		}
		if test.name == "its own" && len(got.Problems) != 1 {
			t.Errorf("the problems are lost: %+v", got)
		}
	}
}
