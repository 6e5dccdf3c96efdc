package workflows

import (
	"errors"

	"github.com/switchyard/switchyard"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"
)

// callError maps what Temporal says of a failed activity to the closed set. It is the one place in this direction; the
// other one is activities.Failure.
func callError(err error, tool switchyard.Tool) *switchyard.Error {
	if timeout, ok := errors.AsType[*temporal.TimeoutError](err); ok {
		return timeoutError(timeout.TimeoutType(), tool)
	}
	if temporal.IsCanceledError(err) {
		return &switchyard.Error{Type: switchyard.ErrCancelled, Message: "the run was cancelled while this call waited or ran",
			Phase: switchyard.PhaseExecution}
	}
	app, ok := errors.AsType[*temporal.ApplicationError](err)
	if !ok {
		return &switchyard.Error{Type: switchyard.ErrExecution, Message: err.Error(), Phase: switchyard.PhaseExecution}
	}
	var e switchyard.Error
	if switchyard.ErrorType(app.Type()).Known() && app.Details(&e) == nil {
		return &e
	}
	return &switchyard.Error{Type: switchyard.ErrExecution, Message: app.Message(), Phase: switchyard.PhaseExecution}
}

func timeoutError(kind enumspb.TimeoutType, tool switchyard.Tool) *switchyard.Error {
	e := &switchyard.Error{Phase: switchyard.PhaseExecution}
	switch {
	case kind == enumspb.TIMEOUT_TYPE_SCHEDULE_TO_START:
		e.Type, e.Phase = switchyard.ErrQueueTimeout, switchyard.PhasePreExecution
		e.Message = "no worker of lane " + tool.Lane + " took the call within " + tool.QueueTimeout.String()
	case tool.Effect == switchyard.EffectOnce:
		e.Type, e.Message = switchyard.ErrOutcomeUnknown, "the worker that ran "+tool.Name+" was lost before it reported"
	case kind == enumspb.TIMEOUT_TYPE_HEARTBEAT:
		e.Type, e.Message = switchyard.ErrWorkerLost, "the worker that ran "+tool.Name+" was lost, at every attempt"
	default:
		e.Type, e.Message = switchyard.ErrTimeout, tool.Name+" did not answer within "+tool.Timeout.String()
	}
	return e
}

// runError is the failure of a whole run.
func runError(kind switchyard.RunErrorType, message string, cause error, details ...any) error {
	return temporal.NewApplicationErrorWithOptions(message, string(kind), temporal.ApplicationErrorOptions{
		NonRetryable: true, Cause: cause, Details: details,
	})
}
