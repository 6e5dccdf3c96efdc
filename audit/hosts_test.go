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
	"go.temporal.io/sdk/converter"
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

// hostTimedOut is activityTimedOut of a host that has sent a heartbeat.
func hostTimedOut(t *testing.T, scheduled int64) *historypb.HistoryEvent {
	t.Helper()
	e := activityTimedOut(scheduled)
	e.GetActivityTaskTimedOutEventAttributes().GetFailure().GetTimeoutFailureInfo().
		LastHeartbeatDetails = payloads(t, api.InstanceProgress{Generation: 1})
	return e
}

func activityCancelled(scheduled int64) *historypb.HistoryEvent {
	e := event(903, enumspb.EVENT_TYPE_ACTIVITY_TASK_CANCELED, nil)
	e.Attributes = &historypb.HistoryEvent_ActivityTaskCanceledEventAttributes{
		ActivityTaskCanceledEventAttributes: &historypb.ActivityTaskCanceledEventAttributes{
			ScheduledEventId: scheduled,
		}}
	return e
}

// A call that waited for an instance has the error that the run decided, although its activity was
// only cancelled: why the instance could not be created, or that it was lost. A call that the run
// cancelled stays cancelled.
func TestWaitingCalls_HaveTheErrorOfTheirInstance(t *testing.T) {
	recorded := replayedHistory(t, "call_stateful")
	i := scheduledAs(t, recorded, "1.1")
	hostInstance, call := recorded[i-1].GetEventId(), recorded[i].GetEventId()
	unmade := api.Error{
		Type:    api.ErrPreconditionFailed,
		Message: "no database",
		Phase:   api.PhaseExecution,
	}
	given := api.Error{Type: api.ErrWorkerLost, Message: "it stops", Phase: api.PhaseExecution}
	for name, test := range map[string]struct {
		end    []*historypb.HistoryEvent
		status api.CallStatus
		want   api.ErrorType
	}{
		"unmade": {[]*historypb.HistoryEvent{activityFailed(hostInstance,
			application("precondition_failed", "m", payloads(t, unmade, api.InstanceProgress{}))),
			activityCancelled(call)},
			api.CallFailed, api.ErrPreconditionFailed},
		"given up": {[]*historypb.HistoryEvent{activityFailed(hostInstance,
			application("worker_lost", "m", payloads(t, given, api.InstanceProgress{}))),
			activityCancelled(call)},
			api.CallFailed, api.ErrWorkerLost},
		"never started": {[]*historypb.HistoryEvent{activityTimedOut(hostInstance),
			activityCancelled(call)}, api.CallCancelled, api.ErrCancelled},
		"lost": {[]*historypb.HistoryEvent{hostTimedOut(t, hostInstance),
			activityCancelled(call)}, api.CallFailed, api.ErrWorkerLost},
		"lost, running": {[]*historypb.HistoryEvent{hostTimedOut(t, hostInstance),
			activityTimedOut(call)}, api.CallFailed, api.ErrOutcomeUnknown},
		"asked again": {[]*historypb.HistoryEvent{activityTimedOut(hostInstance), recorded[i-1],
			activityCancelled(call)},
			api.CallCancelled, api.ErrCancelled},
		"cancelled": {[]*historypb.HistoryEvent{activityCancelled(hostInstance),
			activityCancelled(call)}, api.CallCancelled, api.ErrCancelled},
	} {
		t.Run(name, func(t *testing.T) {
			records := recordsOf(
				derive(t, history.NewDeriver("", ""), slices.Concat(recorded[:i+1], test.end)),
			)
			if len(records) != 1 || records[0].Status != test.status ||
				records[0].Error.Type != test.want ||
				records[0].Lane != api.LaneGeneral {
				t.Errorf("got %+v", records)
			}
		})
	}
}

// A call that did not start is scheduled again, unless its instance was lost meanwhile. History has
// no event of that.
func TestRequeuedCall_HasTheErrorOfItsLostInstance(t *testing.T) {
	recorded := replayedHistory(t, "call_stateful")
	i := scheduledAs(t, recorded, "1.1")
	hostInstance, call := recorded[i-1].GetEventId(), recorded[i].GetEventId()
	unstarted := api.Error{Type: api.ErrWorkerLost, Message: "nothing ran",
		Phase: api.PhasePreExecution, NotStarted: true, Requeue: true}
	requeued := activityFailed(call, application("worker_lost", "m", payloads(t, unstarted)))
	end := recorded[len(recorded)-1]
	for name, test := range map[string]struct {
		events []*historypb.HistoryEvent
		status api.CallStatus
		want   api.ErrorType
	}{
		"lost": {[]*historypb.HistoryEvent{requeued, hostTimedOut(t, hostInstance), end},
			api.CallFailed, api.ErrWorkerLost},
		"not lost": {[]*historypb.HistoryEvent{requeued, end}, api.CallCancelled,
			api.ErrCancelled},
	} {
		records := recordsOf(derive(t, history.NewDeriver("", ""),
			slices.Concat(recorded[:i+1], test.events)))
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
	hostInstance := recorded[scheduledAs(t, recorded, "host_instance/counter")].GetEventId()
	call, next := scheduledAs(t, recorded, "2.1"), scheduledAs(t, recorded, "turn-3")
	lost := slices.Concat(
		recorded[:call],
		[]*historypb.HistoryEvent{hostTimedOut(t, hostInstance)},
		recorded[next:],
	)
	byCall = map[string]api.Record{}
	for _, r := range recordsOf(derive(t, history.NewDeriver("", ""), lost)) {
		byCall[r.CallID] = r
	}
	if r := byCall["2.1"]; r.Status != api.CallRefused ||
		r.Error.Message != "the state of counter in this run was lost (on_loss: fail): its worker was lost or could not reach Temporal; do not call counter again in this run" ||
		len(byCall) != 5 {
		t.Errorf("got %+v", byCall)
	}
}

// The history of a later part is enough to know an instance that was lost before.
func TestLostInstance_IsKnownToLaterParts(t *testing.T) {
	recorded := replayedHistory(t, "agent_stateful_continued.2")
	hostInstance := scheduledAs(t, recorded, "host_instance/counter")
	call, next := scheduledAs(t, recorded, "3.1"), scheduledAs(t, recorded, "turn-4")
	errorTypes := map[string]api.ErrorType{"it stopped": api.ErrWorkerLost, "": api.ErrCancelled}
	for lost, want := range errorTypes {
		var in api.RunInput
		start := recorded[0].GetWorkflowExecutionStartedEventAttributes()
		err := converter.GetDefaultDataConverter().FromPayloads(start.GetInput(), &in)
		if err != nil {
			t.Fatal(err)
		}
		in.State.Instances = []api.InstanceState{{Tool: "counter", Lost: lost}}
		d := history.NewDeriver("", "")
		records := recordsOf(
			derive(
				t,
				d,
				slices.Concat(
					[]*historypb.HistoryEvent{started(t, api.AgentWorkflow, payloads(t, in))},
					recorded[1:hostInstance],
					recorded[hostInstance+1:call],
					recorded[next:next+1],
				),
			),
		)
		if len(records) != 1 || records[0].CallID != "3.1" || records[0].Error.Type != want {
			t.Errorf("lost %q: got %+v", lost, records)
		}
	}
}
