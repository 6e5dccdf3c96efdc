package audit

import (
	"context"
	"fmt"
	"time"

	"github.com/switchyard/switchyard/audit/history"
	"github.com/switchyard/switchyard/audit/internal/pb"
	"go.temporal.io/api/workflowservice/v1"
)

const (
	// sliceRuns is the number of ended runs that are listed at a time, if they did not all end
	// within minSpan.
	sliceRuns = 1000
	minSpan   = time.Second
	// deletedWithin is the time that the server may take to delete a run whose retention has
	// ended.
	deletedWithin = 48 * time.Hour
	// endedMargin is the difference between the time of the last event of a run and the time that
	// the server lists.
	endedMargin = time.Minute
)

// streamTask is a run to read.
type streamTask struct {
	workflowID string
	// listed is the execution that the server listed; empty for a run that is followed already.
	// over is set if it has ended, at closed.
	listed string
	over   bool
	closed time.Time
	// first is the first execution, and at how far the run is read. Both are unknown for a listed
	// run.
	first string
	at    streamProgress
}

// begin asks for the retention of the namespace and finds the first period.
func (s *stream) begin(ctx context.Context, now time.Time) error {
	r, err := s.client.WorkflowService().DescribeNamespace(ctx,
		&workflowservice.DescribeNamespaceRequest{Namespace: s.namespace})
	if err != nil {
		return err
	}
	s.retention = r.GetConfig().GetWorkflowExecutionRetentionTtl().AsDuration()
	if s.at.Closed.IsZero() {
		s.at.Closed = now.Add(-s.retention - deletedWithin).UTC()
		s.at.Missed = now.UTC() // what was deleted before the stream began is no gap
	}
	s.recordGap(now)
	return nil
}

// recordGap reports the period whose runs the server may have deleted before they were read.
func (s *stream) recordGap(now time.Time) {
	from, kept := s.at.Closed.UTC(), now.Add(-s.retention).UTC()
	if s.at.Missed.After(from) {
		from = s.at.Missed
	}
	if s.retention == 0 || !from.Before(kept) {
		return
	}
	gap := &StreamGap{From: from, To: kept, Reason: fmt.Sprintf("the server keeps runs that have "+
		"ended for %s: runs that ended in this period may be deleted", s.retention)}
	s.batch = append(s.batch, StreamEntry{Key: "gap/" + from.Format(time.RFC3339Nano), Gap: gap})
	s.since, s.at.Missed = now, kept
}

// listDue returns the open runs that are due.
func (s *stream) listDue(now time.Time) (tasks []streamTask) {
	for first, at := range s.at.Open {
		if p := s.polls[first]; !at.Unread && (p == nil || !now.Before(p.next)) {
			tasks = append(tasks, streamTask{workflowID: at.WorkflowID, first: first, at: at})
		}
	}
	return tasks
}

// listOpen returns the open runs that are not followed yet.
func (s *stream) listOpen(ctx context.Context) (tasks []streamTask, err error) {
	query := "CloseTime IS NULL"
	if !s.listed.IsZero() {
		query += " AND StartTime >= " + visibilityTime(s.listed.Add(-streamOverlap))
	}
	known := map[string]bool{}
	for _, at := range s.at.Open {
		known[at.Part] = true
	}
	runs, _, err := s.list(ctx, query, 0, nil)
	for _, t := range s.unread(runs) {
		if !known[t.listed] {
			tasks = append(tasks, t)
		}
	}
	return tasks, err
}

// readPeriod reads the runs that ended in the next period before until, and moves the position to
// its end. behind is set if there are more periods.
func (s *stream) readPeriod(ctx context.Context, until time.Time) (behind bool, err error) {
	from, limit := s.at.Closed, sliceRuns
	to := from.Add(s.span)
	if to.After(until) {
		to = until
	}
	if s.span = to.Sub(from); s.span <= minSpan {
		s.span, limit = minSpan, 0
	}
	tasks, more, err := s.list(ctx, "CloseTime >= "+visibilityTime(from)+" AND CloseTime < "+
		visibilityTime(to), limit, nil)
	if err != nil {
		return false, err
	}
	if more {
		s.span /= 2
		return true, nil
	}
	if err := s.readAll(ctx, s.unread(tasks)); err != nil {
		return false, err
	}
	if len(tasks) < sliceRuns/2 {
		s.span *= 2
	}
	s.at.Closed = to.UTC()
	for execution, closed := range s.at.Ended {
		if closed.Before(s.at.Closed.Add(-endedMargin)) {
			delete(s.at.Ended, execution)
		}
	}
	return to.Before(until), nil
}

// listNews returns the runs that ended lately and are not read. It stops at a page without news:
// what is listed late comes with readPeriod.
func (s *stream) listNews(ctx context.Context) ([]streamTask, error) {
	tasks, _, err := s.list(ctx, "CloseTime >= "+visibilityTime(s.at.Closed), 0,
		func(page []streamTask) bool { return len(s.unread(page)) > 0 })
	return s.unread(tasks), err
}

// unread returns the runs that are not read to their ends.
func (s *stream) unread(tasks []streamTask) (unread []streamTask) {
	for _, t := range tasks {
		if _, read := s.at.Ended[t.listed]; !read {
			unread = append(unread, t)
		}
	}
	return unread
}

// list returns the last executions of runs. It stops if there are more than limit, unless that is
// zero, and after a page for which goOn returns false, unless that is nil.
func (s *stream) list(ctx context.Context, query string, limit int,
	goOn func([]streamTask) bool) (tasks []streamTask, more bool, err error) {
	var token []byte
	for {
		response, err := s.client.ListWorkflow(ctx, &workflowservice.ListWorkflowExecutionsRequest{
			Namespace: s.namespace, Query: history.AllRuns() + " AND " + query,
			PageSize: listedAtOnce, NextPageToken: token})
		if err != nil {
			return nil, false, err
		}
		var page []streamTask
		for _, e := range response.GetExecutions() {
			page = append(page, streamTask{workflowID: e.GetExecution().GetWorkflowId(),
				listed: e.GetExecution().GetRunId(), over: e.GetCloseTime() != nil,
				closed: pb.Time(e.GetCloseTime())})
		}
		tasks, token = append(tasks, page...), response.GetNextPageToken()
		if len(token) == 0 || goOn != nil && !goOn(page) {
			return tasks, false, nil
		}
		if limit > 0 && len(tasks) >= limit {
			return nil, true, nil
		}
	}
}

func visibilityTime(t time.Time) string { return "'" + t.UTC().Format(time.RFC3339Nano) + "'" }
