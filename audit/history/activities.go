package history

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit/internal/pb"
	"github.com/switchyard/switchyard/internal/core/failures"
	"github.com/switchyard/switchyard/internal/core/queues"
	commonpb "go.temporal.io/api/common/v1"
	historypb "go.temporal.io/api/history/v1"
)

// activityKind reads the events of the activities of one type, or of tools.
type activityKind interface {
	// scheduled completes an activity from the event that schedules it, and returns the activity
	// that is open from then on: another one where this one continues it.
	readScheduled(*historypb.HistoryEvent, *activity) (*activity, error)
	readCompleted(*historypb.HistoryEvent, *activity, *commonpb.Payloads) error
	// failed reads an activity that failed, timed out or was cancelled.
	readFailed(*historypb.HistoryEvent, *activity, failures.ActivityFailure)
}

// activity is a call, a model step or a hook of the run that is scheduled and not over.
type activity struct {
	id    string
	order int64
	// kind reads the events of the activity.
	kind activityKind
	// hook is set for a hook of the run.
	hook *api.HookAction
	// inline is set for an activity that ran within a workflow task and waits for another attempt.
	inline bool
	// route is the queue of a call, and the rules by which it was chosen.
	route api.Route
	// attempts counts the attempts before the call was last scheduled. mayHaveStarted is set if an
	// attempt before the last one may have started.
	attempts       int
	mayHaveStarted bool
	// unended is the error of a call between two attempts if its run ends there.
	unended *api.Error
	// record is the record of the call so far. Only its timing is used for a model step.
	record api.Record
}

// activities are the activities of a run that are scheduled and not over, and the sub-agents.
type activities struct {
	run *run
	// open are the activities by the event that scheduled them.
	open map[int64]*activity
	// kinds are by activity type. Types without a slash are tools; other types are ignored.
	kinds map[string]activityKind
}

func newActivities(r *run) activities {
	return activities{run: r, open: map[int64]*activity{}, kinds: map[string]activityKind{
		api.ModelActivity:            &r.steps,
		api.HookActivity:             &r.hooks,
		api.LoadConversationActivity: loadedConversation{r},
	}}
}

// findKind returns the kind of an activity type; nil for types that mean nothing to a reader.
func (as *activities) findKind(activityType string) activityKind {
	if IsTool(activityType) {
		return &as.run.calls
	}
	return as.kinds[activityType]
}

// readScheduled reads the start of an activity.
func (as *activities) readScheduled(e *historypb.HistoryEvent) error {
	attributes := e.GetActivityTaskScheduledEventAttributes()
	kind := as.findKind(attributes.GetActivityType().GetName())
	if kind == nil {
		return nil
	}
	a := &activity{id: attributes.GetActivityId(), order: e.GetEventId(), kind: kind}
	a.record.Timing = api.Timing{
		Lane:      queues.LaneName(as.run.base, attributes.GetTaskQueue().GetName()),
		Scheduled: pb.Time(e.GetEventTime()),
	}
	a, err := kind.readScheduled(e, a)
	if err == nil {
		as.open[e.GetEventId()] = a
	}
	return err
}

// readStarted reads what the server says of the last attempt. The server writes this event when the
// activity is over.
func (as *activities) readStarted(e *historypb.HistoryEvent) error {
	a := e.GetActivityTaskStartedEventAttributes()
	open := as.open[a.GetScheduledEventId()]
	if open == nil {
		return nil
	}
	open.record.Phase = api.PhaseExecution
	t := &open.record.Timing
	t.Attempts, t.Worker = open.attempts+int(a.GetAttempt()), a.GetIdentity()
	t.Started = pb.Time(e.GetEventTime())
	t.LastFailure = cmp.Or(pb.FailureMessage(a.GetLastFailure()), t.LastFailure)
	if open.mayHaveStarted = open.mayHaveStarted || a.GetAttempt() > 1; !open.mayHaveStarted {
		t.QueueWait = pb.Between(t.Scheduled, t.Started)
	}
	return nil
}

// take removes and returns the activity that is over and was scheduled by that event; nil if it
// means nothing to a reader.
func (as *activities) take(scheduled int64, closed time.Time) *activity {
	a := as.open[scheduled]
	if a != nil {
		delete(as.open, scheduled)
		a.record.Closed = closed
		a.record.Duration = pb.Between(a.record.Started, closed)
	}
	return a
}

func (as *activities) readFailed(e *historypb.HistoryEvent) error {
	a := e.GetActivityTaskFailedEventAttributes()
	as.end(e, a.GetScheduledEventId(), activityFailure(a.GetFailure()))
	return nil
}

func (as *activities) readTimedOut(e *historypb.HistoryEvent) error {
	a := e.GetActivityTaskTimedOutEventAttributes()
	as.end(e, a.GetScheduledEventId(), activityFailure(a.GetFailure()))
	return nil
}

func (as *activities) readCancelled(e *historypb.HistoryEvent) error {
	a := e.GetActivityTaskCanceledEventAttributes()
	as.end(e, a.GetScheduledEventId(), cancelledBy(a.GetDetails()))
	return nil
}

func (as *activities) readCompleted(e *historypb.HistoryEvent) error {
	attributes := e.GetActivityTaskCompletedEventAttributes()
	a := as.take(attributes.GetScheduledEventId(), pb.Time(e.GetEventTime()))
	if a == nil {
		return nil
	}
	return a.kind.readCompleted(e, a, attributes.GetResult())
}

// end ends an activity that gave no result.
func (as *activities) end(e *historypb.HistoryEvent, scheduled int64, f failures.ActivityFailure) {
	if a := as.take(scheduled, pb.Time(e.GetEventTime())); a != nil {
		a.kind.readFailed(e, a, f)
	}
}

// readCancelRequested ends a call of a human tool. The run no longer waits for it, and no worker
// has it that could report its end.
func (as *activities) readCancelRequested(e *historypb.HistoryEvent) error {
	scheduled := e.GetActivityTaskCancelRequestedEventAttributes().GetScheduledEventId()
	if a := as.open[scheduled]; a != nil &&
		as.run.tools[a.record.Tool].Dispatch == api.DispatchQuestion {
		as.end(e, scheduled, failures.ActivityFailure{Cancelled: true})
	}
	return nil
}

// openInOrder returns the scheduled calls in the order in which they were first scheduled.
func (as *activities) openInOrder() []*activity {
	return slices.DeleteFunc(inOrder(as.open),
		func(a *activity) bool { return a.kind != activityKind(&as.run.calls) })
}

// inOrder returns calls in the order in which they were first scheduled.
func inOrder[K comparable](calls map[K]*activity) []*activity {
	return slices.SortedFunc(maps.Values(calls),
		func(a, b *activity) int { return cmp.Compare(a.order, b.order) })
}

// retry keeps an inline activity that waits for its next attempt.
func (as *activities) retry(a *activity, l local) {
	a.record.LastFailure = pb.FailureMessage(l.failure)
	as.open[l.event.GetEventId()] = a
}

// takeInline removes and returns the inline activity that waits for another attempt; nil if there
// is none.
func (as *activities) takeInline(id string) *activity {
	for event, a := range as.open {
		if a.inline && a.id == id {
			delete(as.open, event)
			return a
		}
	}
	return nil
}

// takeChild removes and returns the record of the open call that a sub-agent executes.
func (as *activities) takeChild(callID string, e *historypb.HistoryEvent) (r api.Record, ok bool) {
	for event, a := range as.open {
		if a.id == callID && a.record.Child != nil {
			return as.take(event, pb.Time(e.GetEventTime())).record, true
		}
	}
	return r, false
}

// findCall returns the open activity of a call; nil if there is none.
func (as *activities) findCall(id string) *activity {
	for _, a := range as.open {
		if a.id == id && a.kind == activityKind(&as.run.calls) {
			return a
		}
	}
	return nil
}

// loadedConversation reads the activity that loads the conversation's earlier runs.
type loadedConversation struct{ run *run }

func (loadedConversation) readScheduled(_ *historypb.HistoryEvent, a *activity) (*activity, error) {
	return a, nil
}

func (loadedConversation) readFailed(*historypb.HistoryEvent, *activity,
	failures.ActivityFailure) {
}

// readCompleted reads which run the current one continues. The messages are large and not needed.
func (lc loadedConversation) readCompleted(e *historypb.HistoryEvent, _ *activity,
	result *commonpb.Payloads) error {
	var r struct {
		api.LoadedConversation
		Messages json.RawMessage `json:"messages"`
	}
	if err := lc.run.decodeEvent(e, "earlier messages", result, &r); err != nil {
		return err
	}
	if r.RunID != "" {
		lc.run.summary.Continues = &api.ContinuedRun{WorkflowID: r.WorkflowID, RunID: r.RunID}
	}
	return nil
}
