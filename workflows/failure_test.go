package workflows

import (
	"errors"
	"testing"

	"github.com/switchyard/switchyard/api"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"
)

// Each way in which an activity fails has a type of the closed set, with the details of the tool's
// own failure.
func TestCallError_MapsTemporalsFailures(t *testing.T) {
	own := &api.Error{Type: api.ErrInvalidOutput, Message: "not the form",
		Problems: []api.Problem{{Path: "$.a"}}}
	for _, test := range []struct {
		name   string
		err    error
		effect api.Effect
		want   api.ErrorType
	}{
		{"no worker took it", temporal.NewTimeoutError(enumspb.TIMEOUT_TYPE_SCHEDULE_TO_START, nil),
			api.EffectOnce, api.ErrQueueTimeout},
		{"silent", temporal.NewTimeoutError(enumspb.TIMEOUT_TYPE_HEARTBEAT, nil), api.EffectRead,
			api.ErrWorkerLost},
		{"silent, once", temporal.NewTimeoutError(enumspb.TIMEOUT_TYPE_HEARTBEAT, nil),
			api.EffectOnce, api.ErrOutcomeUnknown},
		{"hanging", temporal.NewTimeoutError(enumspb.TIMEOUT_TYPE_START_TO_CLOSE, nil),
			api.EffectIdempotent, api.ErrTimeout},
		{"hanging, once", temporal.NewTimeoutError(enumspb.TIMEOUT_TYPE_START_TO_CLOSE, nil),
			api.EffectOnce, api.ErrOutcomeUnknown},
		{"cancelled", temporal.NewCanceledError(), api.EffectRead, api.ErrCancelled},
		{"its own", temporal.NewApplicationError("not the form", string(own.Type), own),
			api.EffectRead, api.ErrInvalidOutput},
		{"a stranger's", temporal.NewApplicationError("boom", "PanicError"), api.EffectRead,
			api.ErrExecution},
		{"no type at all", errors.New("boom"), api.EffectRead, api.ErrExecution},
	} {
		// As read from a history.
		failures := temporal.GetDefaultFailureConverter()
		got := callError(failures.FailureToError(failures.ErrorToFailure(test.err)),
			api.Tool{Name: "t", Lane: "serial", Effect: test.effect}, api.Route{})
		if got.Type != test.want || got.Message == "" || got.Phase == "" && test.name != "its own" {
			t.Errorf("%s: got %+v, want %s", test.name, got, test.want)
		}
		if test.name == "its own" && len(got.Problems) != 1 {
			t.Errorf("the problems are lost: %+v", got)
		}
	}
}
