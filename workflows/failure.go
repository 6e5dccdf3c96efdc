package workflows

import (
	"errors"

	"github.com/switchyard/switchyard/api"
	"go.temporal.io/sdk/temporal"
)

// callError maps what Temporal says of a failed activity to the closed set; an error of that set is what it is. The other
// direction is activities.Failure.
func callError(err error, tool api.Tool, route api.Route) *api.Error {
	if e, ok := errors.AsType[*api.Error](err); ok {
		return e
	}
	return activityFailure(err).CallError(tool, route)
}

func activityFailure(err error) api.ActivityFailure {
	if timeout, ok := errors.AsType[*temporal.TimeoutError](err); ok {
		f := api.ActivityFailure{Timeout: api.TimeoutKind(timeout.TimeoutType().String())}
		if timeout.HasLastHeartbeatDetails() {
			f.LastHeartbeat = func(v any) error { return timeout.LastHeartbeatDetails(v) }
		}
		return f
	}
	app, ok := errors.AsType[*temporal.ApplicationError](err)
	if temporal.IsCanceledError(err) || !ok {
		return api.ActivityFailure{Cancelled: temporal.IsCanceledError(err), Message: err.Error()}
	}
	return api.ActivityFailure{Type: app.Type(), Message: app.Message(), Details: func(v any) error { return app.Details(v) }}
}

// runError is the failure of a whole run.
func runError(kind api.RunErrorType, message string, cause error, details ...any) error {
	return temporal.NewApplicationErrorWithOptions(message, string(kind), temporal.ApplicationErrorOptions{
		NonRetryable: true, Cause: cause, Details: details,
	})
}
