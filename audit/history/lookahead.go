package history

import (
	"slices"

	"github.com/switchyard/switchyard/api"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
)

// Lookahead reads the history of an execution ahead of a Deriver. The end of an attempt does not
// say what the run makes of it: the journal does, in the workflow task after it. So the Lookahead
// keeps that end and what follows it until the task is read, and tells the Deriver the journal.
type Lookahead struct {
	deriver *Deriver
	kept    []*historypb.HistoryEvent
	// decided is the event that completed a workflow task which knew of the first event that is
	// kept; zero for none. The events of its commands follow it.
	decided int64
	// divided are the timers with which the run has ended workflow tasks for their size, and which
	// have not fired: until then the run may not say what it has learned.
	divided map[int64]bool
}

// NewLookahead returns a Lookahead that reads ahead of a Deriver.
func NewLookahead(d *Deriver) *Lookahead {
	return &Lookahead{deriver: d, divided: map[int64]bool{}}
}

// Add takes the next event of the history and returns the events that the Deriver can now take, in
// the order of the history. The error is ErrUnreadable.
func (l *Lookahead) Add(e *historypb.HistoryEvent) ([]*historypb.HistoryEvent, error) {
	if err := l.divide(e); err != nil {
		return nil, err
	}
	if len(l.kept) == 0 && !endsAttempt(e) {
		return []*historypb.HistoryEvent{e}, nil
	}
	if e.GetEventType() == enumspb.EVENT_TYPE_WORKFLOW_TASK_SCHEDULED {
		ready, err := l.Flush()
		if len(l.kept) > 0 {
			l.kept = append(l.kept, e)
			return ready, err
		}
		return append(ready, e), err
	}
	l.kept = append(l.kept, e)
	if l.decides(e) {
		l.decided = e.GetEventId()
	}
	if !closes(e) {
		return nil, nil
	}
	return l.release(len(l.kept))
}

// decides reports whether an event completed a workflow task that knew of the first event that is
// kept, and that the run used to the end.
func (l *Lookahead) decides(e *historypb.HistoryEvent) bool {
	completed := e.GetWorkflowTaskCompletedEventAttributes()
	return completed != nil && len(l.divided) == 0 &&
		completed.GetStartedEventId() > l.kept[0].GetEventId()
}

// divide follows the timers with which the run ends workflow tasks for their size: what it has not
// said in such a task, it says in the one that the timer starts.
func (l *Lookahead) divide(e *historypb.HistoryEvent) error {
	delete(l.divided, e.GetTimerFiredEventAttributes().GetStartedEventId())
	delete(l.divided, e.GetTimerCanceledEventAttributes().GetStartedEventId())
	if e.GetEventType() != enumspb.EVENT_TYPE_TIMER_STARTED {
		return nil
	}
	summary, err := l.deriver.run.eventSummary(e)
	if summary == api.NextTaskSummary {
		l.divided[e.GetEventId()] = true
		l.decided = 0
	}
	return err
}

// Awaits reports whether the run has decided about the first event that is kept. The event that
// completed the workflow task and those of its commands, which the server writes together, may not
// be read completely.
func (l *Lookahead) Awaits() bool { return l.decided > 0 }

// Flush returns the events that the Deriver can take because the caller has read all events that
// the server wrote with the last one.
func (l *Lookahead) Flush() ([]*historypb.HistoryEvent, error) {
	if l.decided == 0 {
		return nil, nil
	}
	later := slices.IndexFunc(l.kept, func(e *historypb.HistoryEvent) bool {
		return e.GetEventId() > l.decided && endsAttempt(e)
	})
	if later < 0 {
		later = len(l.kept)
	}
	return l.release(later)
}

// release returns the first n events that are kept, whose markers the Deriver expects from now on.
func (l *Lookahead) release(n int) ([]*historypb.HistoryEvent, error) {
	ready := l.kept[:n]
	l.kept, l.decided = slices.Clone(l.kept[n:]), 0
	for _, e := range ready {
		if isJournal(e) {
			if err := l.deriver.run.journal.expect(e); err != nil {
				return nil, err
			}
		}
	}
	return ready, nil
}

// endsAttempt reports whether an activity ended without a result.
func endsAttempt(e *historypb.HistoryEvent) bool {
	switch e.GetEventType() {
	case enumspb.EVENT_TYPE_ACTIVITY_TASK_FAILED, enumspb.EVENT_TYPE_ACTIVITY_TASK_TIMED_OUT,
		enumspb.EVENT_TYPE_ACTIVITY_TASK_CANCELED:
		return true
	}
	return false
}

// closes reports whether an event is the last one of an execution.
func closes(e *historypb.HistoryEvent) bool {
	switch e.GetEventType() {
	case enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED,
		enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_FAILED,
		enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_TIMED_OUT,
		enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_CANCELED,
		enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_TERMINATED,
		enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_CONTINUED_AS_NEW:
		return true
	}
	return false
}
