package switchyard

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit"
	"github.com/switchyard/switchyard/audit/history"
	"github.com/switchyard/switchyard/internal/connection"
	"github.com/switchyard/switchyard/internal/runstart"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"google.golang.org/grpc/codes"
)

// RequestErrorType says why a Client could not do what it was asked for. The set is closed.
type RequestErrorType string

// The types of a RequestError.
const (
	// RequestInvalid: the request is wrong, and nothing was sent or changed.
	RequestInvalid RequestErrorType = "invalid_request"
	// RunNotFound: there is no such run, or the server has deleted it.
	RunNotFound RequestErrorType = "run_not_found"
	// NotARun: the workflow of that ID is not a run.
	NotARun RequestErrorType = "not_a_run"
	// RunExists: a different run has the ID.
	RunExists RequestErrorType = "run_exists"
	// ConversationBusy: another run of the conversation is open.
	ConversationBusy RequestErrorType = "conversation_busy"
	// RunEnded: the run has ended and accepts nothing more.
	RunEnded RequestErrorType = "run_ended"
	// RequestRefused: the run refuses the request in its present state. Use errors.As with a
	// *ControlError or a *ReplyError for the reason.
	RequestRefused RequestErrorType = "request_refused"
	// RunUnanswered: no worker answered for the run in time. The run may still accept the request
	// when a worker starts.
	RunUnanswered RequestErrorType = "run_unanswered"
	// RunUnreadable: payloads of the run, or of the workers, cannot be decoded with these settings.
	RunUnreadable RequestErrorType = "run_unreadable"
	// ServerUnreachable: the server does not answer.
	ServerUnreachable RequestErrorType = "server_unreachable"
	// ServerRefused: the server denies access, or rejects the request for another reason.
	ServerRefused RequestErrorType = "server_refused"
)

// Errors of package api.
type (
	// Error is the error of a call. Its types are the constants api.Err….
	Error = api.Error
	// ControlError says why a run refuses a message, a pause or a resume.
	ControlError = api.ControlError
	// ReplyError says why a run refuses a decision or an answer.
	ReplyError = api.ReplyError
)

// RequestError says why a Client could not do what it was asked for.
type RequestError struct {
	Type    RequestErrorType
	Message string
	// WorkflowID is the ID of the run, if the error is about one.
	WorkflowID string
	// Open is the open run of a conversation that is busy.
	Open *OpenRun

	err error
}

func (e *RequestError) Error() string { return e.Message }

// Unwrap returns the cause: an error of the run, of the SDK or of the server; nil if there is none.
func (e *RequestError) Unwrap() error { return e.err }

// Is makes errors.Is(err, &RequestError{Type: t}) true for every error of type t.
func (e *RequestError) Is(target error) bool {
	t, ok := target.(*RequestError)
	return ok && t.Type == e.Type
}

// RunError is the error of a run that ended without a result.
type RunError struct {
	WorkflowID string
	// Status is failed, cancelled, terminated or timed_out.
	Status history.RunStatus
	// Type says why a run failed, and Problems are the faults of its input; both are empty for
	// other ends.
	Type     api.RunErrorType
	Message  string
	Problems []api.Problem
	// Result has the usage, the failed calls and the undone calls, as far as they are known.
	Result RunResult

	err error
}

func (e *RunError) Error() string {
	return fmt.Sprintf("the run %q %s: %s", e.WorkflowID, statusText[e.Status], e.Message)
}

var statusText = map[history.RunStatus]string{history.RunFailed: "failed",
	history.RunCancelled: "was cancelled", history.RunTerminated: "was terminated",
	history.RunTimedOut: "timed out"}

// Unwrap returns the *Error of the first failed call, if calls failed, and the SDK's error.
func (e *RunError) Unwrap() []error {
	if len(e.Result.Failures) > 0 && e.Result.Failures[0].Error != nil {
		return []error{e.Result.Failures[0].Error, e.err}
	}
	return []error{e.err}
}

// startError maps an error of a start.
func startError(ctx context.Context, id string, err error) error {
	e := &RequestError{WorkflowID: id, Message: err.Error(), err: err}
	if size, ok := errors.AsType[*runstart.SizeError](err); ok {
		return api.TooLarge("the run's input with its earlier messages", size.Input+size.Earlier,
			size.Limit, "shorten the prompt, the messages, the variables or the arguments")
	}
	if taken, ok := errors.AsType[*runstart.ExistsError](err); ok {
		e.Type = RunExists
		if !taken.Equal {
			e.Message = fmt.Sprintf("the run %q already exists with another input; nothing was "+
				"started", id)
		}
		return e
	}
	if busy, ok := errors.AsType[*runstart.BusyError](err); ok {
		e.Type, e.Open = ConversationBusy, &busy.Open
		return e
	}
	if _, ok := errors.AsType[*runstart.UnreadableError](err); ok {
		e.Type = RunUnreadable
		return e
	}
	return requestError(ctx, id, err)
}

// requestError is the one place that maps errors of the SDK, of the server and of package audit.
// nil gives nil.
func requestError(ctx context.Context, id string, err error) error {
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if own, ok := errors.AsType[*RequestError](err); ok {
		return own
	}
	e := &RequestError{WorkflowID: id, Message: err.Error(), err: err}
	e.Type = errorType(err)
	switch e.Type {
	case RunUnanswered:
		e.Message = fmt.Sprintf("no worker of the run %q answered within %s; the run may still "+
			"accept the request when a worker starts", id, ReplyWithin)
	case RunNotFound:
		if !errors.Is(err, audit.ErrIncomplete) {
			e.Message = fmt.Sprintf("there is no run %q, or the server no longer has it: %v", id,
				err)
		}
	}
	return e
}

// errorType returns the type of an error of the SDK, of the server or of package audit.
func errorType(err error) RequestErrorType {
	for t, is := range map[RequestErrorType]bool{
		RunUnanswered: isA[*client.WorkflowUpdateServiceTimeoutOrCanceledError](err) ||
			isA[*serviceerror.WorkflowNotReady](err),
		RunNotFound:    isA[*serviceerror.NotFound](err) || errors.Is(err, audit.ErrNotFound),
		NotARun:        errors.Is(err, history.ErrNotARun),
		RunUnreadable:  errors.Is(err, history.ErrUnreadable),
		RequestInvalid: errors.Is(err, audit.ErrPosition),
	} {
		if is {
			return t
		}
	}
	return serverErrorType(err)
}

// isA reports whether an error wraps one of type E.
func isA[E error](err error) bool {
	_, is := errors.AsType[E](err)
	return is
}

// refused returns the error of an update that the run itself refused, with the run's reason; nil if
// it did not.
func refused(id string, err error, reason func(*temporal.ApplicationError) error) error {
	app, ok := errors.AsType[*temporal.ApplicationError](err)
	if !ok {
		return nil
	}
	why := reason(app)
	return &RequestError{Type: RequestRefused, WorkflowID: id, Message: why.Error(),
		err: errors.Join(why, err)}
}

// refusedControl returns the reason for which a run refuses a message, a pause or a resume. The
// error's type is readable even if the rest is encrypted.
func refusedControl(app *temporal.ApplicationError) error {
	e := &api.ControlError{}
	if app.Details(e) != nil {
		t := api.ControlErrorType(app.Type())
		e = &api.ControlError{Type: t, Message: cmp.Or(controlText[t], string(t))}
	}
	return e
}

// controlText has the reasons of runs with unreadable payloads.
var controlText = map[api.ControlErrorType]string{
	api.PauseAlready: "the run is already paused",
	api.NotPaused:    "the run is not paused",
	api.RunEnding:    "the run is ending",
	api.NoInstance:   "the run has no open instance of that name",
	api.ControlFull:  "the run has received too many messages, pauses and resumptions",
}

// refusedReply returns the reason for which a run refuses a decision or an answer.
func refusedReply(app *temporal.ApplicationError) error {
	e := &api.ReplyError{}
	if app.Details(e) != nil {
		e = &api.ReplyError{Type: api.ReplyErrorType(app.Type())}
	}
	return e
}

// serverErrorType returns the type of an error of the connection.
func serverErrorType(err error) RequestErrorType {
	if errors.Is(err, context.DeadlineExceeded) {
		return ServerUnreachable
	}
	switch connection.Code(err) {
	case codes.Unavailable, codes.DeadlineExceeded:
		return ServerUnreachable
	case codes.InvalidArgument:
		return RequestInvalid
	}
	return ServerRefused
}
