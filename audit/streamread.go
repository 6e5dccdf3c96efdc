package audit

import (
	"context"
	"errors"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit/history"
	"github.com/switchyard/switchyard/audit/internal/pb"
	historypb "go.temporal.io/api/history/v1"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
)

// streamArrival is news of a run: entries, and how far it is read after them.
type streamArrival struct {
	// first, last and listed are executions of the run; the last and the listed one may be empty.
	first, last, listed string
	entries             []StreamEntry
	at                  streamProgress
	// ended is set if the run ended at closed, or will not be read on.
	ended  bool
	closed time.Time
	// took is how long reading took.
	took time.Duration
	err  error
}

// streamReader reads what is new in one run.
type streamReader struct {
	client client.Client
	task   streamTask
	// known returns how far a run is read.
	known    func(first string) (streamProgress, bool)
	arrivals chan<- streamArrival
	// skipping is set while events are read that the reader has seen.
	skipping bool
	// ended is set after the last event of the run.
	ended   bool
	deriver *history.Deriver
}

// tell sends news, and reports whether there is a receiver.
func (r *streamReader) tell(ctx context.Context, a streamArrival) bool {
	a.first, a.listed = r.task.first, r.task.listed
	select {
	case r.arrivals <- a:
		return true
	case <-ctx.Done():
		return false
	}
}

// read tells the entries that are new. Errors of the run itself become gaps.
func (r *streamReader) read(ctx context.Context) {
	err := r.readNews(ctx)
	switch {
	case err == nil || ctx.Err() != nil:
	case errors.Is(err, ErrNotFound):
		r.tell(ctx, streamArrival{entries: r.gap("", err), ended: true, closed: r.endTime()})
	case errors.Is(err, history.ErrUnreadable) || errors.Is(err, history.ErrNotARun):
		at := r.task.at
		at.WorkflowID, at.Unread = r.task.workflowID, true
		r.tell(ctx, streamArrival{entries: r.gap("/unreadable", err), at: at, ended: r.task.over,
			closed: r.endTime()})
	default:
		r.tell(ctx, streamArrival{err: err})
	}
}

// endTime is when the run ended, as far as it is known.
func (r *streamReader) endTime() time.Time {
	if r.task.closed.IsZero() {
		return time.Now().UTC()
	}
	return r.task.closed
}

// gap returns the entry that says that the run, or a part of it, could not be read.
func (r *streamReader) gap(part string, why error) []StreamEntry {
	if r.task.first == "" {
		r.task.first = r.task.listed
	}
	return []StreamEntry{{Key: "gap/" + r.task.first + part, Gap: &StreamGap{
		WorkflowID: r.task.workflowID, RunID: r.task.first, Reason: why.Error()}}}
}

// readNews reads the run if it has events after what is read.
func (r *streamReader) readNews(ctx context.Context) error {
	started, t := time.Now(), &r.task
	info, missing, err := r.find(ctx)
	if err != nil || info == nil {
		return err
	}
	if t.at.Unread {
		r.tell(ctx, streamArrival{at: t.at, ended: t.over, closed: r.endTime()})
		return nil
	}
	execution := info.GetWorkflowExecutionInfo()
	if r.isUnchanged(execution) {
		r.tell(ctx, streamArrival{at: t.at})
		return nil
	}
	from, err := r.prepare(ctx, info, missing)
	if err != nil {
		return err
	}
	at, err := r.readFrom(ctx, from)
	if err != nil || r.ended {
		return err
	}
	if at.Part == execution.GetExecution().GetRunId() {
		at.length = execution.GetHistoryLength()
	}
	r.tell(ctx, streamArrival{at: at, took: time.Since(started), ended: t.over,
		closed: r.endTime()})
	return nil
}

// isUnchanged reports whether an open execution has no event since it was read.
func (r *streamReader) isUnchanged(execution *workflowpb.WorkflowExecutionInfo) bool {
	at := r.task.at
	return at.Part == execution.GetExecution().GetRunId() && !r.task.over &&
		execution.GetCloseTime() == nil && at.length == execution.GetHistoryLength()
}

// prepare makes the deriver, tells what is missing before the first execution that the server has,
// and returns that execution.
func (r *streamReader) prepare(ctx context.Context,
	info *workflowservice.DescribeWorkflowExecutionResponse,
	missing bool) (from string, err error) {
	t := &r.task
	from, err = (&chain{client: r.client, workflowID: t.workflowID}).findFirst(ctx, info)
	incomplete := errors.Is(err, ErrIncomplete)
	if err != nil && !incomplete {
		return "", err
	}
	r.deriver = history.NewDeriver(t.workflowID, from)
	if incomplete {
		r.deriver.StopNumbering()
	}
	if missing || incomplete && t.at.Part == "" {
		t.at = streamProgress{WorkflowID: t.workflowID, Part: from}
		r.tell(ctx, streamArrival{entries: r.gap("/"+from, ErrIncomplete), at: t.at})
	}
	r.skipping = t.at.Part != ""
	return from, nil
}

// find describes the run and completes the task. info is nil if there is nothing to read. missing
// is set if the server has deleted the execution up to which the run is read.
func (r *streamReader) find(ctx context.Context) (
	info *workflowservice.DescribeWorkflowExecutionResponse, missing bool, err error) {
	t := &r.task
	if t.first == "" {
		info, err = describe(ctx, r.client, t.workflowID, t.listed)
		if err != nil {
			return nil, false, err
		}
		t.first = firstRun(info)
		at, followed := r.known(t.first)
		if followed && !t.over {
			return nil, false, nil
		}
		if t.at = at; at.Part == "" || at.Part == t.listed {
			return info, false, nil
		}
	}
	return r.findPart(ctx)
}

// findPart is find for a run of which a part is read.
func (r *streamReader) findPart(ctx context.Context) (
	info *workflowservice.DescribeWorkflowExecutionResponse, missing bool, err error) {
	t := &r.task
	info, err = describe(ctx, r.client, t.workflowID, t.at.Part)
	if !errors.Is(err, ErrNotFound) {
		return info, false, err
	}
	info, gone := describe(ctx, r.client, t.workflowID, t.listed)
	if gone != nil || firstRun(info) != t.first {
		return nil, false, err
	}
	t.at = streamProgress{}
	return info, true, nil
}

// readFrom reads the executions of the run from one on, and returns how far it is read.
func (r *streamReader) readFrom(ctx context.Context, execution string) (streamProgress, error) {
	at := streamProgress{WorkflowID: r.task.workflowID, Part: execution}
	for {
		for event, err := range readHistory(ctx, r.client, r.deriver, r.task.workflowID, execution,
			false) {
			if err != nil {
				return at, err
			}
			if at, err = r.event(ctx, event, at); err != nil || r.ended {
				return at, err
			}
		}
		next := r.deriver.Next()
		if next == "" || next == execution {
			return at, nil
		}
		execution, at.Part, at.Event = next, next, 0
	}
}

// event tells the entries of a history event together, so that no position is between them, and
// returns how far the run is read after it.
func (r *streamReader) event(ctx context.Context, event *historypb.HistoryEvent,
	at streamProgress) (streamProgress, error) {
	derived, err := r.deriver.Add(event)
	if err != nil {
		return at, err
	}
	a := streamArrival{last: at.Part, closed: pb.Time(event.GetEventTime())}
	a.entries, a.ended = r.toEntries(derived)
	if r.skipping && at.Part == r.task.at.Part && event.GetEventId() > r.task.at.Event {
		r.skipping = false
	}
	if len(a.entries) == 0 {
		return at, nil
	}
	at.Event = event.GetEventId()
	if r.skipping {
		return at, nil
	}
	if a.at, r.ended = at, a.ended; !r.tell(ctx, a) {
		return at, ctx.Err()
	}
	return at, nil
}

// toEntries returns the entries of events. ended is set if the run has ended.
func (r *streamReader) toEntries(events []api.Event) (entries []StreamEntry, ended bool) {
	for _, e := range events {
		if e.Record != nil {
			entries = append(entries, StreamEntry{Key: e.Record.Run + "/" + e.Record.CallID,
				Record: e.Record})
		}
		switch e.Type {
		case api.EventRunCompleted, api.EventRunFailed, api.EventRunCancelled:
			s := r.deriver.Summary()
			entries, ended = append(entries, StreamEntry{Key: s.Run, Run: &s}), true
		}
	}
	return entries, ended
}
