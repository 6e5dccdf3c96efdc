package audit

import (
	"context"
	"iter"

	"github.com/switchyard/switchyard/audit/history"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/client"
)

// historyReader yields the history of an execution to a deriver, which has to know what the run
// made of the end of an attempt.
type historyReader struct {
	client            client.Client
	workflowID, runID string
	// wait is set to read until the execution is closed.
	wait  bool
	ahead *history.Lookahead
	// present is how many events the history has for certain.
	present int64
}

// readHistory yields the history of an execution; with wait, until it is closed. It yields the end
// of an attempt, and what follows it, when the run has decided about it.
func readHistory(ctx context.Context, c client.Client, d *history.Deriver, workflowID,
	runID string, wait bool) iter.Seq2[*historypb.HistoryEvent, error] {
	r := &historyReader{client: c, workflowID: workflowID, runID: runID, wait: wait,
		ahead: history.NewLookahead(d)}
	return func(yield func(*historypb.HistoryEvent, error) bool) {
		pages := c.GetWorkflowHistory(ctx, workflowID, runID, wait,
			enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
		for pages.HasNext() {
			event, err := pages.Next()
			if err != nil {
				yield(nil, ReadError(ctx, err, workflowID, runID))
				return
			}
			ready, err := r.add(ctx, event)
			if !yieldAll(yield, ready, err) {
				return
			}
		}
		rest, err := r.ahead.Flush()
		yieldAll(yield, rest, err)
	}
}

// yieldAll yields events, and then an error if there is one, and reports whether to go on.
func yieldAll(yield func(*historypb.HistoryEvent, error) bool, events []*historypb.HistoryEvent,
	err error) bool {
	for _, e := range events {
		if !yield(e, nil) {
			return false
		}
	}
	if err != nil {
		yield(nil, err)
	}
	return err == nil
}

// add takes the next event and returns those that the deriver can take.
func (r *historyReader) add(ctx context.Context, event *historypb.HistoryEvent) (
	[]*historypb.HistoryEvent, error) {
	ready, err := r.ahead.Add(event)
	if err != nil || !r.wait || !r.ahead.Awaits() {
		return ready, err
	}
	// The next event may come much later. The server has all events that it wrote with this one.
	if r.present < event.GetEventId() {
		info, err := describe(ctx, r.client, r.workflowID, r.runID)
		if err != nil {
			return ready, err
		}
		r.present = info.GetWorkflowExecutionInfo().GetHistoryLength()
	}
	if event.GetEventId() < r.present {
		return ready, nil
	}
	rest, err := r.ahead.Flush()
	return append(ready, rest...), err
}
