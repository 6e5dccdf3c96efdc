// Package failure reads why an activity failed from Temporal's error, and makes the errors of
// rejected updates.
package failure

import (
	"errors"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/failures"
	"go.temporal.io/sdk/temporal"
)

// Of returns the failure that the error of an activity reports.
func Of(err error) failures.ActivityFailure {
	if timeout, ok := errors.AsType[*temporal.TimeoutError](err); ok {
		f := failures.ActivityFailure{Timeout: failures.TimeoutKind(timeout.TimeoutType().String())}
		if timeout.HasLastHeartbeatDetails() {
			f.LastHeartbeat = func(v any) error { return timeout.LastHeartbeatDetails(v) }
		}
		return f
	}
	if cancelled, ok := errors.AsType[*temporal.CanceledError](err); ok {
		return failures.ActivityFailure{Cancelled: true, Message: err.Error(),
			Details: func(v any) error { return cancelled.Details(v) }}
	}
	app, ok := errors.AsType[*temporal.ApplicationError](err)
	if !ok {
		return failures.ActivityFailure{Message: err.Error()}
	}
	return failures.ActivityFailure{Type: app.Type(), Message: app.Message(),
		Details: func(v any) error { return app.Details(v) },
		Left:    func(v any) error { return app.Details(&api.Error{}, v) }}
}

// Progress returns what the error of an instance's host reports of the instance, and whether it
// reports anything.
func Progress(err error) (left api.InstanceProgress, known bool) {
	read := errors.New("the error has no progress")
	if timeout, ok := errors.AsType[*temporal.TimeoutError](err); ok &&
		timeout.HasLastHeartbeatDetails() {
		read = timeout.LastHeartbeatDetails(&left)
	}
	if app, ok := errors.AsType[*temporal.ApplicationError](err); ok {
		var e api.Error
		read = app.Details(&e, &left)
	}
	return left, read == nil
}

// Refusal returns the error by which an update handler rejects a request because of e; nil for nil.
func Refusal(e *api.ControlError) error {
	if e == nil {
		return nil
	}
	return temporal.NewApplicationErrorWithOptions(e.Message, string(e.Type),
		temporal.ApplicationErrorOptions{NonRetryable: true, Details: []any{*e}})
}
