package audit_test

import (
	"bytes"
	"errors"
	"io"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit/history"
	library "github.com/switchyard/switchyard/internal/test/histories"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	failurepb "go.temporal.io/api/failure/v1"
	historypb "go.temporal.io/api/history/v1"
	taskqueuepb "go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/sdk/converter"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"
)

func payloads(t testing.TB, values ...any) *commonpb.Payloads {
	t.Helper()
	p, err := converter.GetDefaultDataConverter().ToPayloads(values...)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func started(t testing.TB, workflow string, input *commonpb.Payloads) *historypb.HistoryEvent {
	t.Helper()
	return event(
		1,
		enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_STARTED,
		&historypb.HistoryEvent_WorkflowExecutionStartedEventAttributes{
			WorkflowExecutionStartedEventAttributes: &startedAttributes{
				WorkflowId:             "w",
				OriginalExecutionRunId: "r",
				FirstExecutionRunId:    "r",
				WorkflowType:           &commonpb.WorkflowType{Name: workflow},
				TaskQueue:              &taskqueuepb.TaskQueue{Name: queue},
				Input:                  input,
			}},
	)
}

func event(id int64, kind enumspb.EventType, attributes any) *historypb.HistoryEvent {
	e := &historypb.HistoryEvent{
		EventId:   id,
		EventType: kind,
		EventTime: &timestamppb.Timestamp{Seconds: 1_000_000_000 + id},
	}
	switch a := attributes.(type) {
	case *historypb.HistoryEvent_WorkflowExecutionStartedEventAttributes:
		e.Attributes = a
	case *historypb.HistoryEvent_ActivityTaskTimedOutEventAttributes:
		e.Attributes = a
	case *historypb.HistoryEvent_ActivityTaskFailedEventAttributes:
		e.Attributes = a
	case *historypb.HistoryEvent_WorkflowExecutionFailedEventAttributes:
		e.Attributes = a
	case *historypb.HistoryEvent_WorkflowExecutionTerminatedEventAttributes:
		e.Attributes = a
	}
	return e
}

func runFailed(f *failurepb.Failure) *historypb.HistoryEvent {
	return event(
		99,
		enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_FAILED,
		&historypb.HistoryEvent_WorkflowExecutionFailedEventAttributes{
			WorkflowExecutionFailedEventAttributes: &failedAttributes{
				Failure: f,
			}},
	)
}

func application(kind, message string, details *commonpb.Payloads) *failurepb.Failure {
	return &failurepb.Failure{
		Message: message,
		FailureInfo: &failurepb.Failure_ApplicationFailureInfo{
			ApplicationFailureInfo: &failurepb.ApplicationFailureInfo{
				Type:    kind,
				Details: details,
			}},
	}
}

func timeout(kind enumspb.TimeoutType) *failurepb.Failure {
	return &failurepb.Failure{
		Message: "activity timeout",
		FailureInfo: &failurepb.Failure_TimeoutFailureInfo{
			TimeoutFailureInfo: &failurepb.TimeoutFailureInfo{
				TimeoutType: kind,
			}},
		Cause: application("x", "earlier", nil),
	}
}

func lastOf(t *testing.T, recorded ...*historypb.HistoryEvent) (api.Event, history.Summary) {
	t.Helper()
	d := history.NewDeriver("", "")
	events := derive(t, d, recorded)
	return events[len(events)-1], d.Summary()
}

// Each way in which an activity ends without a result gives the error that the workflow returns.
// The history is that of a direct call up to the end of its activity.
func TestFailedActivities_HaveTheErrorOfTheWorkflow(t *testing.T) {
	recorded := histories(t, "direct")[0]
	end := slices.IndexFunc(recorded, func(e *historypb.HistoryEvent) bool {
		return e.GetEventType() == enumspb.EVENT_TYPE_ACTIVITY_TASK_COMPLETED
	})
	scheduled := recorded[end].GetActivityTaskCompletedEventAttributes().GetScheduledEventId()
	failed := func(f *failurepb.Failure) *historypb.HistoryEvent {
		return event(
			50,
			enumspb.EVENT_TYPE_ACTIVITY_TASK_FAILED,
			&historypb.HistoryEvent_ActivityTaskFailedEventAttributes{
				ActivityTaskFailedEventAttributes: &historypb.ActivityTaskFailedEventAttributes{
					ScheduledEventId: scheduled,
					Failure:          f,
				}},
		)
	}
	timedOut := func(kind enumspb.TimeoutType) *historypb.HistoryEvent {
		return event(
			50,
			enumspb.EVENT_TYPE_ACTIVITY_TASK_TIMED_OUT,
			&historypb.HistoryEvent_ActivityTaskTimedOutEventAttributes{
				ActivityTaskTimedOutEventAttributes: &historypb.ActivityTaskTimedOutEventAttributes{
					ScheduledEventId: scheduled,
					Failure:          timeout(kind),
				}},
		)
	}
	cancelled := &failurepb.Failure{
		Message: "canceled",
		FailureInfo: &failurepb.Failure_CanceledFailureInfo{
			CanceledFailureInfo: &failurepb.CanceledFailureInfo{}},
	}
	typed := payloads(t,
		api.Error{Type: api.ErrInvalidOutput, Message: "no number", Phase: api.PhasePostExecution})
	tests := []struct {
		name   string
		end    *historypb.HistoryEvent
		status api.CallStatus
		want   api.ErrorType
		phase  api.Phase
	}{
		{
			"queue timeout",
			timedOut(enumspb.TIMEOUT_TYPE_SCHEDULE_TO_START),
			api.CallFailed,
			api.ErrQueueTimeout,
			api.PhasePreExecution,
		},
		{
			"timeout",
			timedOut(enumspb.TIMEOUT_TYPE_START_TO_CLOSE),
			api.CallFailed,
			api.ErrTimeout,
			api.PhaseExecution,
		},
		{
			"typed",
			failed(application("invalid_output", "m", typed)),
			api.CallFailed,
			api.ErrInvalidOutput,
			api.PhasePostExecution,
		},
		{
			"typed without details",
			failed(application("invalid_output", "m", nil)),
			api.CallFailed,
			api.ErrExecution,
			api.PhaseExecution,
		},
		{
			"the server's own",
			failed(&failurepb.Failure{Message: "m"}),
			api.CallFailed,
			api.ErrExecution,
			api.PhaseExecution,
		},
		{"cancelled", failed(cancelled), api.CallCancelled, api.ErrCancelled, api.PhaseExecution},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			e, _ := lastOf(t, append(slices.Clone(recorded[:end]), tt.end)...)
			r := e.Record
			if e.Type != api.EventToolFailed || r == nil || r.Status != tt.status ||
				r.Error.Type != tt.want ||
				r.Phase != tt.phase {
				t.Fatalf("got %s with %+v", e.Type, r)
			}
		})
	}
}

// The cases are ends of runs that the recorded histories do not have.
func TestRunEnds_AreDerived(t *testing.T) {
	begin := started(t, api.AgentWorkflow, payloads(t, agent(api.Limits{})))
	tests := []struct {
		name   string
		end    *historypb.HistoryEvent
		event  api.EventType
		status history.RunStatus
		kind   api.RunErrorType
		words  string
	}{
		{
			"refused",
			runFailed(
				application("model_refused", "the model declined: no",
					payloads(t, api.RunResult{Answer: "no"})),
			),
			api.EventRunFailed,
			history.RunFailed,
			api.RunRefused,
			"the model declined: no",
		},
		{
			"an activity's failure",
			runFailed(&failurepb.Failure{
				Message: "activity error",
				Cause:   application("", "the pin step failed", nil),
			}),
			api.EventRunFailed,
			history.RunFailed,
			"",
			"the pin step failed",
		},
		{
			"the server's own",
			runFailed(&failurepb.Failure{Message: "history too large"}),
			api.EventRunFailed,
			history.RunFailed,
			"",
			"history too large",
		},
		{
			"timed out",
			event(99, enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_TIMED_OUT, nil),
			api.EventRunFailed,
			history.RunTimedOut,
			"",
			"the run exceeded its timeout",
		},
		{
			"terminated without a reason",
			event(99, enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_TERMINATED, nil),
			api.EventRunCancelled,
			history.RunTerminated,
			"",
			"the run was terminated",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			e, s := lastOf(t, begin, tt.end)
			if e.Type != tt.event || e.FailureType != tt.kind ||
				e.Failure != tt.words ||
				s.Status != tt.status ||
				s.Failure != e.Failure {
				t.Errorf("got %+v, %s", e, s.Status)
			}
		})
	}
}

// The history of a later part of a chain is enough to derive its own events and the facts of the
// whole run.
func TestLaterPart_HasItsEventsAndTheFactsOfTheRun(t *testing.T) {
	parts := histories(t, "continued")
	d := history.NewDeriver("", "")
	events := derive(t, d, parts[2])
	s := d.Summary()
	if events[0].Type == api.EventRunStarted || events[0].Sequence != 1 {
		t.Errorf("the first event is %+v", events[0])
	}
	if want := start(parts[0]).GetOriginalExecutionRunId(); s.Run != want || len(s.Tools) == 0 ||
		s.Usage.Turns != 4 ||
		s.Prompt != "" {
		t.Errorf("the summary is %+v, of run %s", s, want)
	}
}

// Later versions and other features write such events.
func TestUnknownEvents_AreSkipped(t *testing.T) {
	begin := started(t, api.AgentWorkflow, payloads(t, agent(api.Limits{})))
	d := history.NewDeriver("w", "r")
	derive(t, d, []*historypb.HistoryEvent{begin})
	for _, e := range []*historypb.HistoryEvent{
		event(2, enumspb.EventType(4711), nil),
		event(3, enumspb.EVENT_TYPE_TIMER_FIRED, nil),
		event(4, enumspb.EVENT_TYPE_MARKER_RECORDED, nil),
		event(5, enumspb.EVENT_TYPE_ACTIVITY_TASK_STARTED, nil),
		event(6, enumspb.EVENT_TYPE_ACTIVITY_TASK_COMPLETED, nil),
		event(7, enumspb.EVENT_TYPE_ACTIVITY_TASK_CANCELED, nil),
		{EventId: 8, EventType: enumspb.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED,
			Attributes: &historypb.HistoryEvent_ActivityTaskScheduledEventAttributes{
				ActivityTaskScheduledEventAttributes: &historypb.ActivityTaskScheduledEventAttributes{ActivityType: &commonpb.ActivityType{Name: "switchyard/later"}}}},
	} {
		if events, err := d.Add(e); err != nil || len(events) > 0 {
			t.Errorf("event %d: %v, %v", e.GetEventId(), events, err)
		}
	}
}

// A history with a damaged or missing payload, or without one event, gives an error or events, and
// never a panic. An error about a payload names the event.
func TestDamagedHistories_GiveErrors(t *testing.T) {
	for _, s := range scenarios() {
		for _, part := range histories(t, s.name) {
			for i := range part {
				for _, damage := range []func(*commonpb.Payloads){
					func(p *commonpb.Payloads) { p.Payloads[0].Data = []byte(`{"type":[`) },
					func(p *commonpb.Payloads) { p.Payloads[0].Data = []byte(`null`) },
					func(p *commonpb.Payloads) { p.Payloads = nil },
				} {
					recorded := slices.Clone(part)
					recorded[i] = proto.CloneOf(part[i])
					damagePayloads(recorded[i], damage)
					deriveDamaged(t, recorded, recorded[i].GetEventId())
				}
				deriveDamaged(t, slices.Delete(slices.Clone(part), i, i+1), 0)
			}
		}
	}
	if _, err := history.NewDeriver("", "").Add(nil); !errors.Is(err, history.ErrNotARun) {
		t.Errorf("a nil event: %v", err)
	}
}

func damagePayloads(e *historypb.HistoryEvent, damage func(*commonpb.Payloads)) {
	all := []*commonpb.Payloads{
		e.GetWorkflowExecutionStartedEventAttributes().GetInput(),
		e.GetActivityTaskScheduledEventAttributes().GetInput(),
		e.GetActivityTaskCompletedEventAttributes().GetResult(),
		e.GetWorkflowExecutionCompletedEventAttributes().GetResult(),
		e.GetWorkflowExecutionFailedEventAttributes().GetFailure().GetApplicationFailureInfo().
			GetDetails(),
		e.GetActivityTaskFailedEventAttributes().GetFailure().GetApplicationFailureInfo().
			GetDetails(),
	}
	for _, p := range e.GetMarkerRecordedEventAttributes().GetDetails() {
		all = append(all, p)
	}
	for _, p := range all {
		if len(p.GetPayloads()) > 0 {
			damage(p)
		}
	}
}

func deriveDamaged(t *testing.T, recorded []*historypb.HistoryEvent, damaged int64) {
	t.Helper()
	d := history.NewDeriver("", "")
	for _, e := range recorded {
		if _, err := d.Add(e); err != nil {
			if !errors.Is(err, history.ErrUnreadable) && !errors.Is(err, history.ErrNotARun) {
				t.Errorf("untyped error: %v", err)
			}
			if errors.Is(err, history.ErrUnreadable) &&
				(e.GetEventId() != damaged || !strings.HasPrefix(err.Error(), "event ")) {
				t.Errorf("event %d is damaged, the error is about another: %v", damaged, err)
			}
			return
		}
	}
	d.RunningCalls()
}

func TestReadHistory_RefusesOtherFilesWithATypedError(t *testing.T) {
	if _, err := history.Parse(strings.NewReader("no history")); !errors.Is(err,
		history.ErrUnreadable) {
		t.Error(err)
	}
}

// Its memory does not grow with the number of ended calls.
func TestDeriver_UsesConstantMemory(t *testing.T) {
	part := histories(t, "continued")[0]
	d := history.NewDeriver("", "")
	derive(t, d, part)
	turn := slices.IndexFunc(part, func(e *historypb.HistoryEvent) bool {
		return e.GetActivityTaskScheduledEventAttributes() != nil
	})
	begin := part[0]
	rounds := func(n int) uint64 {
		for range n {
			derive(t, d, []*historypb.HistoryEvent{begin})
			derive(t, d, part[turn:])
		}
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := rounds(20)
	if after := rounds(1000); after > before+1<<20 {
		t.Errorf("20,000 more calls left %d KB", (after-before)>>10)
	}
	if open := d.RunningCalls(); len(open) > 0 {
		t.Errorf("calls are left open: %+v", open)
	}
}

// BenchmarkDerive measures how many calls per second are derived from a history in memory. The
// minimum is 20,000.
func BenchmarkDerive(b *testing.B) {
	part := histories(b, "continued")[0]
	calls := 0
	for b.Loop() {
		d := history.NewDeriver("", "")
		for _, e := range derive(b, d, part) {
			if e.Record != nil {
				calls++
			}
		}
	}
	b.ReportMetric(float64(calls)/b.Elapsed().Seconds(), "calls/s")
}

// BenchmarkReadHistory measures the same from the JSON of a history.
func BenchmarkReadHistory(b *testing.B) {
	file, err := library.Open("testdata/continued.1")
	if err != nil {
		b.Fatal(err)
	}
	defer file.Close()
	data, err := io.ReadAll(file)
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		if _, err := history.Parse(bytes.NewReader(data)); err != nil {
			b.Fatal(err)
		}
	}
}
