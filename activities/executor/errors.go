package executor

import (
	"context"
	"errors"
	"fmt"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/toolspecs"
	"go.temporal.io/sdk/temporal"
)

// CallError returns why an execution failed: the tool's own error, its timeout, a cancelled run, a
// stopping worker, or an operator who paused or reset the activity.
func CallError(ctx context.Context, err error, spec *toolspecs.Spec) *api.Error {
	cause := context.Cause(ctx)
	if cause == nil || !errors.Is(err, cause) && !errors.Is(err, ctx.Err()) {
		return ToolError(err, spec)
	}
	repeatable := spec.Execution.Effect != api.EffectOnce
	e := &api.Error{Phase: api.PhaseExecution}
	switch {
	case errors.Is(cause, ErrTimeout), errors.Is(cause, context.DeadlineExceeded):
		e.Type, e.Retryable = api.ErrTimeout, repeatable
		e.Message = fmt.Sprintf("%s did not answer within %s", spec.Name, spec.Execution.Timeout)
	case temporal.IsCanceledError(cause):
		e.Type, e.Message = api.ErrCancelled, "the call was cancelled while it ran"
	case repeatable:
		e.Type, e.Retryable = api.ErrWorkerLost, true
		e.Message = "the call was interrupted while the tool ran: " + cause.Error()
	default:
		e.Type = api.ErrOutcomeUnknown
		e.Message = "the call was interrupted while the tool ran: " + cause.Error()
	}
	return e
}

// ToolError returns a tool's own error, its message bounded as a result is. It is a copy, because
// the tool may return the same value to many calls.
func ToolError(err error, spec *toolspecs.Spec) *api.Error {
	e := *api.AsError(err)
	e.NotStarted = false // it has: only who did not begin a call may hand it back
	if e.Phase == "" {
		e.Phase = api.PhaseExecution
	}
	if limit := spec.Execution.MaxResult; limit > 0 && len(e.Message) > limit {
		e.Message = fmt.Sprintf("%s… (cut to %d of %d bytes)",
			e.Message[:FittingPrefix(e.Message, limit)], limit, len(e.Message))
	}
	return &e
}

var ErrTimeout = errors.New("the tool's timeout has passed")
