package audit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit/history"
	"github.com/switchyard/switchyard/audit/internal/pb"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
)

// Errors of this package. Use errors.Is. Functions also return those of package history.
var (
	// ErrNotFound is returned for a run that never existed or that the server has deleted.
	ErrNotFound = errors.New("no such run")
	// ErrIncomplete is returned after the last event if the server has deleted the first histories
	// of a run. The events have no sequence numbers then. It is an ErrNotFound too.
	ErrIncomplete error = incompleteError{}
	// ErrPosition is returned for a Position that is not one of its run.
	ErrPosition = errors.New("no such position")
)

type incompleteError struct{}

func (incompleteError) Error() string { return "the first histories of the run are deleted" }

func (incompleteError) Is(target error) bool { return target == ErrNotFound }

// Events yields the events of a run so far, from its first execution over continue-as-new to its
// last. It reads page by page and keeps one page in memory. runID is any execution of the run;
// empty for the latest run with that workflow ID. An error comes last: ErrNotFound, ErrIncomplete,
// ErrNotARun, ErrUnreadable, that of ctx, or that of the server.
func Events(ctx context.Context, c client.Client,
	workflowID, runID string) iter.Seq2[api.Event, error] {
	return (&chain{client: c, workflowID: workflowID, runID: runID}).events(ctx)
}

// Follow is Events that waits for new events until the run is closed or ctx ends. If the first
// histories are deleted, it yields ErrIncomplete only. Use Subscribe to resume after a known event.
func Follow(ctx context.Context, c client.Client,
	workflowID, runID string) iter.Seq2[api.Event, error] {
	return (&chain{client: c, workflowID: workflowID, runID: runID, wait: true}).events(ctx)
}

// Records yields one record for every call of a run in the order in which they ended. Open calls
// come last. The calls of a plan exist from the moment its tools are pinned. Parameters and errors
// are those of Events.
func Records(ctx context.Context, c client.Client,
	workflowID, runID string) iter.Seq2[api.Record, error] {
	return (&chain{client: c, workflowID: workflowID, runID: runID}).records(ctx)
}

func (ch *chain) records(ctx context.Context) iter.Seq2[api.Record, error] {
	return func(yield func(api.Record, error) bool) {
		var gone error
		for event, err := range ch.events(ctx) {
			if gone = err; err != nil && !errors.Is(err, ErrIncomplete) {
				yield(api.Record{}, err)
				return
			}
			if event.Record != nil && !yield(*event.Record, nil) {
				return
			}
		}
		running, err := ch.readRunning(ctx)
		for _, r := range running {
			if !yield(r, nil) {
				return
			}
		}
		if err = cmp.Or(err, gone); err != nil {
			yield(api.Record{}, err)
		}
	}
}

// Describe returns the summary of a run. It reads the whole history. With ErrIncomplete the summary
// is that of the histories that are left. Parameters and errors are those of Events.
func Describe(ctx context.Context, c client.Client,
	workflowID, runID string) (history.Summary, error) {
	ch := &chain{client: c, workflowID: workflowID, runID: runID}
	for _, err := range ch.events(ctx) {
		if err != nil && !errors.Is(err, ErrIncomplete) {
			return history.Summary{}, err
		} else if err != nil {
			return ch.deriver.Summary(), err
		}
	}
	return ch.deriver.Summary(), nil
}

// readRunning completes the records of open calls with what the server says of their activities.
func (ch *chain) readRunning(ctx context.Context) ([]api.Record, error) {
	records := ch.deriver.RunningCalls()
	if len(records) == 0 {
		return nil, nil
	}
	info, err := describe(ctx, ch.client, ch.workflowID, ch.deriver.Execution())
	if err != nil {
		return nil, err
	}
	for _, a := range info.GetPendingActivities() {
		for i := range records {
			if r := &records[i]; r.CallID == api.CallOfActivity(a.GetActivityId()) {
				r.Attempts, r.Worker = int(a.GetAttempt()), a.GetLastWorkerIdentity()
				r.LastFailure = pb.FailureMessage(a.GetLastFailure())
				if started := pb.Time(a.GetLastStartedTime()); !started.IsZero() {
					r.Started, r.Phase = started, api.PhaseExecution
					if r.Attempts == 1 {
						r.QueueWait = pb.Between(r.Scheduled, started)
					}
				}
			}
		}
	}
	return records, nil
}

// describe describes an execution. The error is ErrNotARun for other workflows.
func describe(ctx context.Context, c client.Client,
	workflowID, runID string) (*workflowservice.DescribeWorkflowExecutionResponse, error) {
	response, err := c.DescribeWorkflowExecution(ctx, workflowID, runID)
	if err != nil {
		return nil, ReadError(ctx, err, workflowID, runID)
	}
	if name := response.GetWorkflowExecutionInfo().GetType().GetName(); history.KindFromType(name) == "" {
		return nil, fmt.Errorf("workflow %q has type %q: %w", workflowID, name, history.ErrNotARun)
	}
	return response, nil
}

// describeLatest is describe for the last execution of the chain.
func describeLatest(ctx context.Context, c client.Client,
	workflowID, runID string) (*workflowservice.DescribeWorkflowExecutionResponse, error) {
	r, err := describe(ctx, c, workflowID, runID)
	if err != nil ||
		r.GetWorkflowExecutionInfo().GetStatus() !=
			enumspb.WORKFLOW_EXECUTION_STATUS_CONTINUED_AS_NEW {
		return r, err
	}
	latest, err := describe(ctx, c, workflowID, "")
	if err != nil {
		return nil, err
	}
	if firstRun(latest) != firstRun(r) {
		return r, nil // another run has the ID now; this one is closed
	}
	return latest, nil
}

// firstRun returns the first execution of the chain that an execution belongs to.
func firstRun(r *workflowservice.DescribeWorkflowExecutionResponse) string {
	if first := r.GetWorkflowExecutionInfo().GetFirstRunId(); first != "" {
		return first
	}
	return r.GetWorkflowExecutionInfo().GetExecution().GetRunId()
}

func ReadError(ctx context.Context, err error, workflowID, runID string) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	run := fmt.Sprintf("workflow %q", workflowID)
	if runID != "" {
		run += fmt.Sprintf(", run %q", runID)
	}
	if _, ok := errors.AsType[*serviceerror.NotFound](err); ok {
		return fmt.Errorf("%w: %s: it never existed, or its retention has ended", ErrNotFound, run)
	}
	if _, ok := errors.AsType[*serviceerror.InvalidArgument](err); ok {
		return fmt.Errorf("%w: %s: the server rejects the ID: %w", ErrNotFound, run, err)
	}
	// Package payloads returns this error if it cannot decode a payload.
	if _, ok := errors.AsType[*serviceerror.FailedPrecondition](err); ok {
		return &unreadableError{run, err}
	}
	return fmt.Errorf("%s: %w", run, err)
}

// IsMissing reports whether an error concerns one run of a tree, so that the others can still be
// read: ErrNotFound or ErrUnreadable.
func IsMissing(err error) bool {
	return errors.Is(err, ErrNotFound) || errors.Is(err, history.ErrUnreadable)
}

// WorstError returns the error to report of two errors of missing parts: ErrUnreadable, which can
// be repaired, before the first.
func WorstError(first, second error) error {
	if first == nil || errors.Is(second, history.ErrUnreadable) {
		return second
	}
	return first
}

// unreadableError is an ErrUnreadable of a run whose payloads cannot be decoded.
type unreadableError struct {
	run string
	err error
}

func (e *unreadableError) Error() string { return e.run + ": " + e.err.Error() }

func (e *unreadableError) Unwrap() []error { return []error{history.ErrUnreadable, e.err} }
