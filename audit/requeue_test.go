package audit_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit/history"
	"github.com/switchyard/switchyard/internal/core/failures"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// tale writes a new history of a direct call after its admission: one event per second.
type tale struct {
	t testing.TB
	// before are the events up to the call; call are those of its activity: scheduled, started,
	// completed.
	before, call []*historypb.HistoryEvent
	events       []*historypb.HistoryEvent
	scheduled    int64
}

func newTale(t testing.TB) *tale {
	recorded := histories(t, "direct")[0]
	first := slices.IndexFunc(recorded, func(e *historypb.HistoryEvent) bool {
		return e.GetEventType() == enumspb.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED
	})
	w := &tale{t: t, before: recorded[:first]}
	for _, e := range recorded[first:] {
		if e.GetActivityTaskScheduledEventAttributes() != nil ||
			e.GetActivityTaskStartedEventAttributes() != nil ||
			e.GetActivityTaskCompletedEventAttributes() != nil {
			w.call = append(w.call, e)
		}
	}
	w.events = slices.Clone(w.before)
	return w
}

// add appends an event after the given number of seconds.
func (w *tale) add(seconds int64, e *historypb.HistoryEvent) {
	last := w.events[len(w.events)-1]
	at := last.GetEventTime().GetSeconds() + seconds
	if len(w.events) == len(w.before) {
		at = 1_000_000_000
	}
	e.EventId, e.EventTime = last.GetEventId()+1, &timestamppb.Timestamp{Seconds: at}
	w.events = append(w.events, e)
}

func (w *tale) clone(i int) *historypb.HistoryEvent { return proto.CloneOf(w.call[i]) }

func (w *tale) schedule(priority *commonpb.Priority) {
	e := w.clone(0)
	e.GetActivityTaskScheduledEventAttributes().Priority = priority
	w.add(0, e)
	w.scheduled = e.GetEventId()
}

// start starts an attempt after the given number of seconds.
func (w *tale) start(seconds int64, attempt int32) {
	e := w.clone(1)
	a := e.GetActivityTaskStartedEventAttributes()
	a.ScheduledEventId, a.Attempt = w.scheduled, attempt
	w.add(seconds, e)
}

func (w *tale) complete(seconds int64, r api.Result) {
	e := w.clone(2)
	a := e.GetActivityTaskCompletedEventAttributes()
	a.ScheduledEventId, a.Result = w.scheduled, payloads(w.t, r)
	w.add(seconds, e)
}

func (w *tale) fail(seconds int64, e *api.Error) {
	w.add(
		seconds,
		event(
			0,
			enumspb.EVENT_TYPE_ACTIVITY_TASK_FAILED,
			&historypb.HistoryEvent_ActivityTaskFailedEventAttributes{
				ActivityTaskFailedEventAttributes: &historypb.ActivityTaskFailedEventAttributes{
					ScheduledEventId: w.scheduled,
					Failure:          application(string(e.Type), e.Message, payloads(w.t, e)),
				}},
		),
	)
}

// decide completes a workflow task in which the run records entries of its journal.
func (w *tale) decide(entries ...api.JournalEntry) {
	w.events = append(w.events, decided(w.t, w.events, entries...)...)
}

// decided returns the events of a workflow task after recorded ones, in which the run records
// entries of its journal. They have the time of the last event.
func decided(t testing.TB, recorded []*historypb.HistoryEvent,
	entries ...api.JournalEntry) []*historypb.HistoryEvent {
	last := recorded[len(recorded)-1]
	id := last.GetEventId()
	completed := &historypb.WorkflowTaskCompletedEventAttributes{StartedEventId: id + 2}
	task := []*historypb.HistoryEvent{
		{EventType: enumspb.EVENT_TYPE_WORKFLOW_TASK_SCHEDULED},
		{EventType: enumspb.EVENT_TYPE_WORKFLOW_TASK_STARTED},
		{EventType: enumspb.EVENT_TYPE_WORKFLOW_TASK_COMPLETED,
			Attributes: &historypb.HistoryEvent_WorkflowTaskCompletedEventAttributes{
				WorkflowTaskCompletedEventAttributes: completed}},
		{EventType: enumspb.EVENT_TYPE_MARKER_RECORDED,
			Attributes: &historypb.HistoryEvent_MarkerRecordedEventAttributes{
				MarkerRecordedEventAttributes: &historypb.MarkerRecordedEventAttributes{
					MarkerName: "SideEffect",
					Details: map[string]*commonpb.Payloads{
						"data": payloads(t, entries)}}}},
	}
	for i, e := range task {
		e.EventId, e.EventTime = id+int64(i)+1, last.GetEventTime()
	}
	return task
}

// again is the entry of a call that did not start and is attempted again.
var again = api.JournalEntry{Call: "1.1", Next: api.JournalAttempt, Failure: requeue.Message,
	Error: *failures.CancelledBeforeStart()}

func (w *tale) terminate() {
	w.add(
		1,
		event(0, enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_TERMINATED,
			&historypb.HistoryEvent_WorkflowExecutionTerminatedEventAttributes{}),
	)
}

// derive derives the events, which have no gap, and returns the records and the number of starts of
// the call.
func (w *tale) derive() (records []api.Record, starts int) {
	w.t.Helper()
	d := history.NewDeriver("", "")
	events := derive(w.t, d, w.events)
	for i, e := range events {
		if e.Sequence != i+1 {
			w.t.Errorf("event %d has the number %d", i+1, e.Sequence)
		}
		if e.Type == api.EventToolStarted {
			starts++
		}
	}
	records = recordsOf(events)
	if usage := d.Summary().Usage; usage.Calls != 1 || len(records) > 1 {
		w.t.Errorf("%d calls are counted, %d records", usage.Calls, len(records))
	}
	return records, starts
}

func seconds(n int) api.Duration {
	return api.Duration(n) * api.Duration(time.Second)
}

var requeue = &api.Error{
	Type:       api.ErrWorkerLost,
	Phase:      api.PhasePreExecution,
	Message:    "gave up the lane; nothing ran",
	NotStarted: true,
	Requeue:    true,
}

// The call starts once and its attempts add up. Its wait is the whole time until it started,
// including the wait with the lane's holder, and its duration excludes it.
func TestRequeuedCall_HasOneRecord(t *testing.T) {
	w := newTale(t)
	w.schedule(nil)
	w.start(2, 1)
	w.fail(3, requeue)
	w.decide(again)
	w.schedule(nil)
	w.start(4, 1)
	w.fail(0, requeue)
	w.decide(again)
	w.schedule(nil)
	w.start(1, 1)
	w.complete(10, api.Result{Output: []byte(`"x"`), WaitedMicros: 6_000_000})
	records, starts := w.derive()
	if len(records) != 1 || starts != 1 {
		t.Fatalf("%d records, %d starts", len(records), starts)
	}
	r := records[0]
	if r.Status != api.CallCompleted || r.Attempts != 3 || r.QueueWait != seconds(2+3+4+1+6) ||
		r.Duration != seconds(4) ||
		r.LastFailure != requeue.Message {
		t.Errorf("the record is %+v", r)
	}
}

// No wait is recorded if an earlier attempt may have started. Attempts of the server and of the run
// add up.
func TestRequeuedCall_HasNoWaitAfterAttempts(t *testing.T) {
	w := newTale(t)
	w.schedule(nil)
	w.start(1, 2)
	w.fail(1, requeue)
	w.decide(again)
	w.schedule(nil)
	w.start(1, 1)
	w.complete(1, api.Result{Output: []byte(`"x"`)})
	if records, _ := w.derive(); records[0].Attempts != 3 || records[0].QueueWait != 0 ||
		records[0].Duration != seconds(1) {
		t.Errorf("the record is %+v", records[0])
	}
}

// A call that was requeued too often ends with its run's decision. A call that never started has
// waited all the time.
func TestRequeuedTooOften_EndsTheRecord(t *testing.T) {
	const attempts = 5
	w := newTale(t)
	for n := range attempts {
		w.schedule(nil)
		w.start(1, 1)
		w.fail(1, requeue)
		if n < attempts-1 {
			w.decide(again)
		}
	}
	records, starts := w.derive()
	if len(records) != 1 || starts != 1 {
		t.Fatalf("%d records, %d starts", len(records), starts)
	}
	r := records[0]
	if r.Status != api.CallFailed || !r.Error.NotStarted || r.Attempts != attempts ||
		r.QueueWait != seconds(2*attempts) ||
		r.Duration != 0 {
		t.Errorf("the record is %+v", r)
	}
}

// A call that was to be attempted again when its run ended has a record with that state.
func TestRequeuedCall_IsOpenUntilTheRunEnds(t *testing.T) {
	w := newTale(t)
	w.schedule(nil)
	w.start(1, 1)
	w.fail(1, requeue)
	w.decide(again)
	d := history.NewDeriver("", "")
	derive(t, d, w.events)
	if running := d.RunningCalls(); len(running) != 1 || running[0].Status != api.CallRunning ||
		running[0].Phase != api.PhasePreExecution ||
		!running[0].Started.IsZero() {
		t.Errorf("running: %+v", running)
	}
	w.terminate()
	records, _ := w.derive()
	if len(records) != 1 || records[0].Status != api.CallCancelled ||
		records[0].Error.Type != api.ErrCancelled ||
		records[0].Attempts != 1 {
		t.Errorf("the records are %+v", records)
	}
}

// A call that its lane's holder refused or released has waited all the time and has no duration.
func TestQueueErrors_CountAsWaiting(t *testing.T) {
	for _, kind := range []api.ErrorType{api.ErrQueueFull, api.ErrQueueTimeout} {
		w := newTale(t)
		w.schedule(nil)
		w.start(1, 1)
		w.fail(5, &api.Error{Type: kind, Phase: api.PhasePreExecution, Message: "m"})
		if records, _ := w.derive(); records[0].QueueWait != seconds(6) ||
			records[0].Duration != 0 ||
			records[0].Phase != api.PhasePreExecution {
			t.Errorf("%s: the record is %+v", kind, records[0])
		}
	}
}

// The priority is that of the call, else that of the workflow, else normal.
func TestRecord_HasThePriorityOfTheQueue(t *testing.T) {
	for _, test := range []struct {
		workflow, call *commonpb.Priority
		want           api.Priority
	}{
		{nil, nil, api.PriorityNormal},
		{nil, &commonpb.Priority{FairnessKey: "talk"}, api.PriorityNormal},
		{nil, &commonpb.Priority{PriorityKey: 1}, api.PriorityUrgent},
		{&commonpb.Priority{PriorityKey: 2}, nil, api.PriorityHigh},
		{&commonpb.Priority{PriorityKey: 2}, &commonpb.Priority{PriorityKey: 4}, api.PriorityLow},
	} {
		w := newTale(t)
		w.events[0] = proto.CloneOf(w.events[0])
		w.events[0].GetWorkflowExecutionStartedEventAttributes().Priority = test.workflow
		w.schedule(test.call)
		w.start(1, 1)
		w.complete(1, api.Result{Output: []byte(`"x"`)})
		if records, _ := w.derive(); records[0].Priority != test.want {
			t.Errorf("workflow %v, call %v: the record says %s, want %s", test.workflow, test.call,
				records[0].Priority, test.want)
		}
	}
}

// A record names the lane of a call whatever its task queue is called, with the key of a keyed
// lane, and by the rules in force at the time.
func TestRecord_NamesTheLane(t *testing.T) {
	for _, test := range []struct {
		route api.Route
		queue string
		want  string
	}{
		{api.Route{}, queue, "general"},
		{api.Route{Queue: "company/far"}, "company/far", "general"},
		{api.Route{Queue: "company/far/pixel-7", Key: "pixel-7"}, "company/far/pixel-7",
			"general/pixel-7"},
		{api.Route{Queue: queue + "/bypass/general"}, queue + "/bypass/general", "bypass/general"},
	} {
		w := newTale(t)
		for i, e := range w.events {
			if strings.Contains(e.String(), api.AdmitActivity) {
				w.events[i] = proto.CloneOf(e)
				w.events[i].GetMarkerRecordedEventAttributes().Details["result"] = payloads(t,
					[]api.AdmissionDecision{{ID: "1.1", Tokens: 1, Route: test.route}})
			}
		}
		w.call[0] = w.clone(0)
		w.call[0].GetActivityTaskScheduledEventAttributes().TaskQueue.Name = test.queue
		w.schedule(nil)
		w.start(1, 1)
		w.complete(1, api.Result{Output: []byte(`"x"`)})
		if records, _ := w.derive(); records[0].Lane != test.want {
			t.Errorf("on the queue %s: the record says %s, want %s", test.queue, records[0].Lane,
				test.want)
		}
	}
}
