package audit_test

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit/history"
	library "github.com/switchyard/switchyard/internal/test/histories"
	enumspb "go.temporal.io/api/enums/v1"
	failurepb "go.temporal.io/api/failure/v1"
	historypb "go.temporal.io/api/history/v1"
)

// replayedHistory returns a history that package workflows replays.
func replayedHistory(t *testing.T, name string) []*historypb.HistoryEvent {
	t.Helper()
	file, err := library.Open(filepath.Join("..", "workflows", "testdata", "histories", name))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	events, err := history.Parse(file)
	if err != nil {
		t.Fatal(err)
	}
	return events
}

// scheduledAs returns the index of the event that schedules an activity.
func scheduledAs(t *testing.T, recorded []*historypb.HistoryEvent, id string) int {
	t.Helper()
	i := slices.IndexFunc(recorded, func(e *historypb.HistoryEvent) bool {
		return e.GetActivityTaskScheduledEventAttributes().GetActivityId() == id
	})
	if i < 0 {
		t.Fatalf("the history has no activity %s", id)
	}
	return i
}

func activityFailed(scheduled int64, f *failurepb.Failure) *historypb.HistoryEvent {
	return event(
		901,
		enumspb.EVENT_TYPE_ACTIVITY_TASK_FAILED,
		&historypb.HistoryEvent_ActivityTaskFailedEventAttributes{
			ActivityTaskFailedEventAttributes: &historypb.ActivityTaskFailedEventAttributes{
				ScheduledEventId: scheduled,
				Failure:          f,
			}},
	)
}

func activityTimedOut(scheduled int64) *historypb.HistoryEvent {
	return event(
		902,
		enumspb.EVENT_TYPE_ACTIVITY_TASK_TIMED_OUT,
		&historypb.HistoryEvent_ActivityTaskTimedOutEventAttributes{
			ActivityTaskTimedOutEventAttributes: &historypb.ActivityTaskTimedOutEventAttributes{
				ScheduledEventId: scheduled,
				Failure:          timeout(enumspb.TIMEOUT_TYPE_HEARTBEAT),
			}},
	)
}

func activityCancelled(scheduled int64) *historypb.HistoryEvent {
	e := event(903, enumspb.EVENT_TYPE_ACTIVITY_TASK_CANCELED, nil)
	e.Attributes = &historypb.HistoryEvent_ActivityTaskCanceledEventAttributes{
		ActivityTaskCanceledEventAttributes: &historypb.ActivityTaskCanceledEventAttributes{
			ScheduledEventId: scheduled,
		}}
	return e
}

// instanceLost is the error of a call whose instance was lost before it started.
var instanceLost = &api.Error{Type: api.ErrWorkerLost, Message: "the state was lost",
	Phase: api.PhaseExecution, NotStarted: true}

// A call that waited for an instance has the error that the run decided, although its activity was
// only cancelled: why the instance could not be created, or that it was lost. A call of which the
// run records nothing has the error of its activity.
func TestWaitingCalls_HaveTheErrorOfTheirInstance(t *testing.T) {
	recorded := replayedHistory(t, "call_stateful")
	i := scheduledAs(t, recorded, "1.1")
	call := recorded[i].GetEventId()
	for name, test := range map[string]struct {
		end     *historypb.HistoryEvent
		entries []api.JournalEntry
		status  api.CallStatus
		want    api.ErrorType
	}{
		"unmade": {activityCancelled(call), []api.JournalEntry{{Call: "1.1",
			Error: *api.Errorf(api.ErrPreconditionFailed, "no database")}},
			api.CallFailed, api.ErrPreconditionFailed},
		"lost": {activityCancelled(call), []api.JournalEntry{{Call: "1.1", Error: *instanceLost}},
			api.CallFailed, api.ErrWorkerLost},
		"lost, running": {activityTimedOut(call), nil, api.CallFailed, api.ErrOutcomeUnknown},
		"another call": {activityCancelled(call), []api.JournalEntry{{Call: "1.2",
			Error: *instanceLost}}, api.CallCancelled, api.ErrCancelled},
		"cancelled": {activityCancelled(call), nil, api.CallCancelled, api.ErrCancelled},
	} {
		t.Run(name, func(t *testing.T) {
			events := append(slices.Clone(recorded[:i+1]), test.end)
			events = append(events, decided(t, events, test.entries...)...)
			records := recordsOf(derive(t, history.NewDeriver("", ""), events))
			if len(records) != 1 || records[0].Status != test.status ||
				records[0].Error.Type != test.want ||
				records[0].Lane != api.LaneGeneral {
				t.Errorf("got %+v", records)
			}
		})
	}
}

// A call that did not start is scheduled again, unless its instance was lost meanwhile. It ends
// when the run records that, else with the run.
func TestRequeuedCall_HasTheErrorOfItsLostInstance(t *testing.T) {
	recorded := replayedHistory(t, "call_stateful")
	i := scheduledAs(t, recorded, "1.1")
	unstarted := api.Error{Type: api.ErrWorkerLost, Message: "nothing ran",
		Phase: api.PhasePreExecution, NotStarted: true, Requeue: true}
	requeued := append(slices.Clone(recorded[:i+1]), activityFailed(recorded[i].GetEventId(),
		application("worker_lost", "m", payloads(t, unstarted))))
	requeued = append(requeued, decided(t, requeued, again)...)
	lost := append(requeued, decided(t, requeued,
		api.JournalEntry{Call: "1.1", Error: *instanceLost})...)
	end := recorded[len(recorded)-1]
	for name, test := range map[string]struct {
		events []*historypb.HistoryEvent
		status api.CallStatus
		want   api.ErrorType
	}{
		"lost": {lost, api.CallFailed, api.ErrWorkerLost},
		"not lost": {append(slices.Clone(requeued), end), api.CallCancelled,
			api.ErrCancelled},
	} {
		records := recordsOf(derive(t, history.NewDeriver("", ""), test.events))
		if len(records) != 1 || records[0].Status != test.status ||
			records[0].Error.Type != test.want {
			t.Errorf("%s: got %+v", name, records)
		}
	}
}

// History has no events of these calls, because the run refused them without scheduling them.
func TestCallsOfLostInstance_HaveRecords(t *testing.T) {
	byCall := map[string]api.Record{}
	for _, r := range recordsOf(derive(t, history.NewDeriver("", ""),
		replayedHistory(t, "plan_stateful_lost"))) {
		byCall[r.CallID] = r
	}
	if r := byCall["b"]; r.Status != api.CallRefused || r.Error.Type != api.ErrWorkerLost ||
		len(byCall) != 3 ||
		byCall["a"].Status != api.CallCompleted {
		t.Errorf("got %+v", byCall)
	}

	recorded := replayedHistory(t, "agent_stateful")
	call, next := scheduledAs(t, recorded, "2.1"), scheduledAs(t, recorded, "turn-3")
	lost := slices.Clone(recorded[:call])
	lost = slices.Concat(lost, decided(t, lost,
		api.JournalEntry{Call: "2.1", Error: *instanceLost}), recorded[next:])
	byCall = map[string]api.Record{}
	for _, r := range recordsOf(derive(t, history.NewDeriver("", ""), lost)) {
		byCall[r.CallID] = r
	}
	if r := byCall["2.1"]; r.Status != api.CallRefused ||
		r.Error.Message != instanceLost.Message || len(byCall) != 5 {
		t.Errorf("got %+v", byCall)
	}
}
