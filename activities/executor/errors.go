package executor

import (
	"context"
	"errors"
	"fmt"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/failures"
	"github.com/switchyard/switchyard/toolspecs"
	"go.temporal.io/sdk/temporal"
)

// ErrTimeout is the cause of a call's context that ended with the tool's timeout.
var ErrTimeout = errors.New("the tool's timeout has passed")

// NotStarted marks the error of a call of which nothing left the worker: no request was sent and no
// program or function was started. A nil err gives nil.
func NotStarted(err error) error {
	if err == nil {
		return nil
	}
	return &progressError{err, false}
}

// Unclear marks the error of a call that may have taken effect: it started, and its failure does
// not say what became of it. A nil err gives nil.
func Unclear(err error) error {
	if err == nil {
		return nil
	}
	return &progressError{err, true}
}

// progressError is an error with what is known about the progress of its call.
type progressError struct {
	error
	started bool
}

func (p *progressError) Unwrap() error { return p.error }

// progressFromError returns what an executor knows about the progress of the call that failed with
// err.
func progressFromError(err error) (notStarted, unclear bool) {
	p, ok := errors.AsType[*progressError](err)
	return ok && !p.started, ok && p.started
}

// IsNotStarted reports whether err is marked by NotStarted. If it is marked several times, the
// outermost mark counts.
func IsNotStarted(err error) bool {
	notStarted, _ := progressFromError(err)
	return notStarted
}

// CallError returns why an execution failed: the tool's own error, its timeout, a cancelled run, a
// stopping worker, or an operator who paused or reset the activity. A call of a tool with effect
// once that may have taken effect fails with outcome_unknown, whoever ended it.
func CallError(ctx context.Context, err error, spec *toolspecs.Spec) *api.Error {
	cause := context.Cause(ctx)
	if cause == nil || !errors.Is(err, cause) && !errors.Is(err, ctx.Err()) {
		return ownError(cause, err, spec)
	}
	notStarted := IsNotStarted(err)
	when := "while the tool ran"
	if notStarted {
		when = "before the tool started"
	}
	e := &api.Error{Phase: api.PhaseExecution, NotStarted: notStarted}
	switch {
	case errors.Is(cause, ErrTimeout), errors.Is(cause, context.DeadlineExceeded):
		e.Type = api.ErrTimeout
		e.Message = fmt.Sprintf("%s did not answer within %s", spec.Name, spec.Execution.Timeout)
	case temporal.IsCanceledError(cause):
		e.Type, e.Message = api.ErrCancelled, "the call was cancelled "+when
	default:
		e.Type = api.ErrWorkerLost
		e.Message = "the call was interrupted " + when + ": " + cause.Error()
	}
	e.Retryable = e.Type != api.ErrCancelled
	if !notStarted {
		failures.SetUnclear(e, spec.Execution.Effect)
	}
	return e
}

// ownError returns the tool's own error. cause is why the call's context has ended, if it has. A
// plain error then leaves open whether the call took effect: the tool may hide its interruption.
func ownError(cause, err error, spec *toolspecs.Spec) *api.Error {
	e := ToolError(err, spec)
	if _, typed := errors.AsType[*api.Error](err); cause != nil && !typed && !e.NotStarted {
		failures.SetUnclear(e, spec.Execution.Effect)
	}
	return e
}

// ToolError returns a tool's own error, its message bounded as a result is. It is a copy, because
// the tool may return the same value to many calls.
func ToolError(err error, spec *toolspecs.Spec) *api.Error {
	e := *api.AsError(err)
	// Only an executor can know whether the call started, and no tool can requeue its call.
	notStarted, unclear := progressFromError(err)
	e.NotStarted, e.Requeue, e.Unclear, e.NotDone = notStarted, false, false, false
	if e.Phase == "" || e.BeforeStart() && !notStarted {
		e.Phase = api.PhaseExecution // a tool may return the error of a call of its own
	}
	// A call that started and ended as cancelled does not say what it did until then: an MCP server
	// cancelled its task, or the run withdrew its question.
	if unclear || e.Type == api.ErrCancelled && !notStarted {
		failures.SetUnclear(&e, spec.Execution.Effect)
	}
	if limit := spec.Execution.MaxResult; limit > 0 && len(e.Message) > limit {
		e.Message = fmt.Sprintf("%s… (cut to %d of %d bytes)",
			e.Message[:FittingPrefix(e.Message, limit)], limit, len(e.Message))
	}
	return &e
}
