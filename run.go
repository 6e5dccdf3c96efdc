package switchyard

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"sync"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit"
	"github.com/switchyard/switchyard/audit/history"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/temporal"
)

// Types of what is read of a run.
type (
	// Event is one event of a run.
	Event = api.Event
	// Record is the audit entry of one call.
	Record = api.Record
	// RunResult is the result of a run: the answer of an agent, or the output of a plan or a call.
	RunResult = api.RunResult
	// Summary describes a run: kind, status, times, usage, tools, executions.
	Summary = history.Summary
)

// Run is a handle of a run. It is safe for concurrent use and needs not be closed.
type Run struct {
	client *Client
	id     string
	// runID is any execution of the run; empty for the run that has the ID now.
	runID   string
	existed bool
	missing []string

	mu sync.Mutex
	// first is the first execution of the run; empty if it is not known or runID is empty.
	first string
}

// ID returns the workflow ID of the run.
func (r *Run) ID() string { return r.id }

// RunID returns the first execution of a run that was started with this handle, or the execution
// that OpenExecution was called with; empty for Open.
func (r *Run) RunID() string { return r.runID }

// Existed reports whether Start found the run instead of starting it.
func (r *Run) Existed() bool { return r.existed }

// MissingAttributes returns the search attributes that the namespace lacks, so that the run cannot
// be found by them. `starter setup` registers them.
func (r *Run) MissingAttributes() []string { return r.missing }

// firstRun returns the first execution of the run; empty for the run that has the ID now.
func (r *Run) firstRun(ctx context.Context) (string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.first != "" || r.runID == "" {
		return r.first, nil
	}
	s, err := audit.Outline(ctx, r.client.temporal, r.id, r.runID)
	if err != nil {
		return "", requestError(ctx, r.id, err)
	}
	r.first = s.Run
	return r.first, nil
}

// Result waits for the end of the run and returns its result. It can be called any number of times,
// from any process, until the server deletes the run.
//
// Errors: *RunError if the run failed, was cancelled, terminated or timed out. If it failed because
// of a call, errors.As finds the call's *Error as well. *RequestError of the types run_not_found,
// run_unreadable, server_unreachable and server_refused, and that of ctx. While the server does not
// answer, Result tries again for about a minute.
func (r *Run) Result(ctx context.Context) (RunResult, error) {
	var result RunResult
	run := r.client.temporal.GetWorkflow(ctx, r.id, r.runID)
	err := run.Get(ctx, &result)
	if err == nil {
		return result, nil
	}
	failed := runError(r.id, err)
	if failed == nil {
		return RunResult{}, requestError(ctx, r.id, err)
	}
	return failed.Result, failed
}

// Output waits for the end of the run and decodes the output of a plan or a direct call into the
// value that v points to. Errors are those of Result and of encoding/json.
func (r *Run) Output(ctx context.Context, v any) error {
	result, err := r.Result(ctx)
	if err != nil {
		return err
	}
	return json.Unmarshal(result.Output, v)
}

// runError returns how a run ended without a result; nil if err does not say so.
func runError(id string, err error) *RunError {
	if _, ended := errors.AsType[*temporal.WorkflowExecutionError](err); !ended {
		return nil
	}
	e := &RunError{WorkflowID: id, Status: history.RunFailed, Message: err.Error(), err: err}
	_, terminated := errors.AsType[*temporal.TerminatedError](err)
	_, late := errors.AsType[*temporal.TimeoutError](err)
	cancelled, isCancelled := errors.AsType[*temporal.CanceledError](err)
	app, isApplication := errors.AsType[*temporal.ApplicationError](err)
	switch {
	case isApplication:
		e.Type, e.Message = api.RunErrorType(app.Type()), app.Message()
		e.takeDetails(app.Details)
	case isCancelled:
		e.Status, e.Message = history.RunCancelled, "a request to cancel it was received"
		_ = cancelled.Details(&e.Result.Usage, &e.Result.Undone) // either may be missing
	case terminated:
		e.Status, e.Message = history.RunTerminated, "its calls were not undone"
	case late:
		e.Status, e.Message = history.RunTimedOut, "it exceeded its timeout"
	}
	return e
}

// takeDetails reads the details of a failed run. A failure without details has a message only.
func (e *RunError) takeDetails(details func(...any) error) {
	switch e.Type {
	case api.RunInvalid:
		_ = details(&e.Problems)
	case api.RunModelFailed:
		_ = details(&e.Result.Usage, &e.Result.Undone)
	default:
		_ = details(&e.Result)
	}
}

// Follow yields the events of the run after the one with the sequence number after, and waits for
// more until the run has ended. Zero starts with the first event. Events are numbered from 1
// without gaps, and a number always means the same event: after a lost connection or in another
// process, pass the number of the last event that was handled. Stop by ending the loop or ctx.
//
// Follow reads the history from the start, about 20,000 calls per second. An error comes last. It
// is one of ctx or a *RequestError of the types run_not_found, also if the server has deleted the
// first executions of the run, invalid_request if the run has no event of that number,
// run_unreadable, server_unreachable or server_refused. While the server does not answer, Follow
// tries again for about a minute.
func (r *Run) Follow(ctx context.Context, after int) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		if after == 0 {
			yieldAll(ctx, r.id, audit.Follow(ctx, r.client.temporal, r.id, r.runID), yield)
			return
		}
		s, err := audit.Outline(ctx, r.client.temporal, r.id, r.runID)
		if err != nil {
			yield(Event{}, requestError(ctx, r.id, err))
			return
		}
		at := audit.Position{WorkflowID: r.id, Run: s.Run, Sequence: after}
		yieldAll(ctx, r.id, audit.Subscribe(r.client.temporal, at).Events(ctx), yield)
	}
}

// FollowTree yields the events of the run and of its sub-agents from the start, in the order of
// their times, numbered by TreeSequence. While several runs are open, an event comes up to a second
// late. Errors are those of Follow.
func (r *Run) FollowTree(ctx context.Context) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		yieldAll(ctx, r.id, audit.FollowTree(ctx, r.client.temporal, r.id, r.runID), yield)
	}
}

func yieldAll(ctx context.Context, id string, events iter.Seq2[Event, error],
	yield func(Event, error) bool) {
	for event, err := range events {
		if !yield(event, requestError(ctx, id, err)) {
			return
		}
	}
}

// Records yields the audit record of every call of the run so far: those of ended calls in the
// order of their ends, then those of open calls. Errors are those of Follow; they come last.
func (r *Run) Records(ctx context.Context) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		for record, err := range audit.Records(ctx, r.client.temporal, r.id, r.runID) {
			if !yield(record, requestError(ctx, r.id, err)) {
				return
			}
		}
	}
}

// Summary returns the present state of the run. It reads the whole history. Errors are those of
// Follow.
func (r *Run) Summary(ctx context.Context) (Summary, error) {
	s, err := audit.Describe(ctx, r.client.temporal, r.id, r.runID)
	return s, requestError(ctx, r.id, err)
}

// endedAs returns the error of a request to a run that has ended.
func (r *Run) endedAs(status history.RunStatus) *RequestError {
	return &RequestError{Type: RunEnded, WorkflowID: r.id,
		Message: "the run \"" + r.id + "\" has already ended: " + string(status)}
}

// ended returns the error of a request to a run that has ended, in place of err if that only says
// that there is no open run.
func (r *Run) ended(ctx context.Context, err error) error {
	if _, gone := errors.AsType[*serviceerror.NotFound](err); !gone || ctx.Err() != nil {
		return requestError(ctx, r.id, err)
	}
	s, lookup := audit.Outline(ctx, r.client.temporal, r.id, r.runID)
	if lookup != nil {
		return requestError(ctx, r.id, lookup)
	}
	e := r.endedAs(s.Status)
	e.err = err
	if s.Closed.IsZero() { // the ID belongs to a later run now
		e.Message = "the run \"" + r.id + "\" has already ended; a later run has its ID"
	}
	return e
}
