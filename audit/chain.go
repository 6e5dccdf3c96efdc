package audit

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit/history"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
)

// chain reads the histories of the executions of a run, one after the other.
type chain struct {
	client            client.Client
	workflowID, runID string
	// wait is set to read until the run is closed.
	wait bool
	// from is the position of the last event that the reader has seen; zero for none.
	from Position
	// end is the last history event when reading began: its execution and its ID. It is set only if
	// from is.
	end struct {
		runID string
		event int64
	}
	deriver *history.Deriver
}

func (ch *chain) events(ctx context.Context) iter.Seq2[api.Event, error] {
	return func(yield func(api.Event, error) bool) {
		runID, gone := ch.open(ctx)
		if ch.deriver == nil {
			yield(api.Event{}, gone)
			return
		}
		for runID != "" {
			if !ch.execution(ctx, runID, yield) {
				return
			}
			if next := ch.deriver.Next(); next != runID {
				runID = next
			} else {
				runID = ""
			}
		}
		if gone == nil {
			gone = ch.pastEnd(true)
		}
		if gone != nil {
			yield(api.Event{}, gone)
		}
	}
}

// open finds the first execution to read and makes the deriver. If the deriver is nil, nothing can
// be read and the error says why. Otherwise the error follows the last event.
func (ch *chain) open(ctx context.Context) (runID string, err error) {
	info, err := describe(ctx, ch.client, ch.workflowID, ch.runID)
	if err != nil {
		return "", err
	}
	if err := ch.find(ctx, info); err != nil {
		return "", err
	}
	runID, err = ch.findFirst(ctx, info)
	incomplete := errors.Is(err, ErrIncomplete)
	if incomplete && ch.from.Sequence > 0 {
		err = nil // the reader has seen what is deleted
	}
	if err != nil && (ch.wait || !incomplete) {
		return "", err
	}
	ch.deriver = history.NewDeriver(ch.workflowID, runID)
	if incomplete {
		ch.deriver.StopNumbering()
	}
	return runID, err
}

// find checks that the position from belongs to this run, and keeps how far the run has come.
func (ch *chain) find(ctx context.Context,
	info *workflowservice.DescribeWorkflowExecutionResponse) error {
	if ch.from.Sequence == 0 {
		return nil
	}
	if first := firstRun(info); ch.from.Run != first {
		return fmt.Errorf(
			"%w: the position is of run %q of workflow %q, but execution %q belongs to run %q",
			ErrPosition, ch.from.Run, ch.workflowID, ch.from.Part, first)
	}
	latest, err := describeLatest(ctx, ch.client, ch.workflowID, ch.runID)
	if err != nil {
		return err
	}
	ch.end.runID = latest.GetWorkflowExecutionInfo().GetExecution().GetRunId()
	ch.end.event = latest.GetWorkflowExecutionInfo().GetHistoryLength()
	return nil
}

// findFirst returns the first execution of the chain that the server still has. The error is
// ErrIncomplete if earlier ones are deleted.
func (ch *chain) findFirst(ctx context.Context,
	info *workflowservice.DescribeWorkflowExecutionResponse) (runID string, err error) {
	first, known := firstRun(info), info.GetWorkflowExecutionInfo().GetExecution().GetRunId()
	if first == known {
		return first, nil
	}
	if _, err := describe(ctx, ch.client, ch.workflowID, first); !errors.Is(err, ErrNotFound) {
		return first, err
	}
	for {
		previous, err := ch.previous(ctx, known)
		if errors.Is(err, ErrNotFound) {
			break
		}
		if err != nil {
			return "", err
		}
		known = previous
	}
	return known, fmt.Errorf("%w: workflow %q: the server has deleted all executions before %q",
		ErrIncomplete, ch.workflowID, known)
}

// previous returns the execution that this one continues. The error is ErrNotFound if the server
// has deleted it.
func (ch *chain) previous(ctx context.Context, runID string) (string, error) {
	pages := ch.client.GetWorkflowHistory(ctx, ch.workflowID, runID, false,
		enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	event, err := pages.Next()
	if err != nil {
		return "", ReadError(ctx, err, ch.workflowID, runID)
	}
	previous := event.GetWorkflowExecutionStartedEventAttributes().GetContinuedExecutionRunId()
	if previous == "" {
		return "", fmt.Errorf("%w: execution %q has no predecessor", ErrNotFound, runID)
	}
	if _, err := describe(ctx, ch.client, ch.workflowID, previous); err != nil {
		return "", err
	}
	return previous, nil
}

// execution reads one history and reports whether the reader wants more.
func (ch *chain) execution(ctx context.Context, runID string,
	yield func(api.Event, error) bool) bool {
	if !ch.deriver.HasNumbers() && ch.from.Sequence > 0 && runID == ch.from.Part {
		ch.deriver.NumberAfter(ch.from.Before)
	}
	taken := int64(0)
	for event, err := range readHistory(ctx, ch.client, ch.deriver, ch.workflowID, runID, ch.wait) {
		if err != nil {
			yield(api.Event{}, err)
			return false
		}
		if !ch.take(event, yield) {
			return false
		}
		taken++
		if err := ch.pastEnd(runID == ch.end.runID && taken >= ch.end.event); err != nil {
			yield(api.Event{}, err)
			return false
		}
	}
	return true
}

// take yields the events of a history event that the reader has not seen, and reports whether the
// reader wants more.
func (ch *chain) take(event *historypb.HistoryEvent, yield func(api.Event, error) bool) bool {
	derived, err := ch.deriver.Add(event)
	for _, e := range derived {
		if (ch.from.Sequence == 0 || e.Sequence > ch.from.Sequence) && !yield(e, nil) {
			return false
		}
	}
	if err != nil {
		yield(api.Event{}, fmt.Errorf("workflow %q: %w", ch.workflowID, err))
	}
	return err == nil
}

// pastEnd returns the error for a position that the run had not reached when reading began. atEnd
// is set when that point is reached.
func (ch *chain) pastEnd(atEnd bool) error {
	if !atEnd || ch.deriver.Sequence() >= ch.from.Sequence {
		return nil
	}
	return fmt.Errorf("%w: the position is event %d, but run %q of workflow %q has %d events",
		ErrPosition, ch.from.Sequence, ch.from.Run, ch.workflowID, ch.deriver.Sequence())
}
