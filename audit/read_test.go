package audit_test

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit"
	"github.com/switchyard/switchyard/audit/history"
	activitypb "go.temporal.io/api/activity/v1"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	failurepb "go.temporal.io/api/failure/v1"
	historypb "go.temporal.io/api/history/v1"
	taskqueuepb "go.temporal.io/api/taskqueue/v1"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// A chain is read completely from any of its executions, page by page, at once or while it runs,
// and the records are those of its events.
func TestReading_CoversTheWholeChain(t *testing.T) {
	runs := map[string]*archivedRun{}
	for _, s := range scenarios() {
		runs[s.name] = &archivedRun{parts: histories(t, s.name), lost: -1}
	}
	c := serve(t, runs)
	for _, s := range scenarios() {
		t.Run(s.name, func(t *testing.T) { checkReading(t, c, s.name, runs[s.name].parts) })
	}
}

func checkReading(t *testing.T, c client.Client, id string, parts [][]*historypb.HistoryEvent) {
	d := history.NewDeriver("", "")
	want := derive(t, d, slices.Concat(parts...))
	for _, part := range parts {
		runID := start(part).GetOriginalExecutionRunId()
		if got := collect(t, audit.Events(t.Context(), c, id, runID)); !reflect.DeepEqual(got,
			want) {
			t.Errorf("Events from %s differ", runID)
		}
		if pending, err := audit.Pending(t.Context(), c, id, runID); err != nil ||
			len(pending) > 0 {
			t.Errorf("a closed run has pending %v, %v", pending, err)
		}
	}
	if got := collect(t, audit.Follow(t.Context(), c, id, "")); !reflect.DeepEqual(got, want) {
		t.Errorf("Follow differs from Events")
	}
	if got := collect(t, audit.Records(t.Context(), c, id, "")); !reflect.DeepEqual(got,
		recordsOf(want)) {
		t.Errorf("the records are not those of the events: %+v", got)
	}
	if got, err := audit.Describe(t.Context(), c, id, ""); err != nil ||
		!reflect.DeepEqual(got, d.Summary()) {
		t.Errorf("Describe gives %+v, %v", got, err)
	}
}

// A reader that stops gets nothing more.
func TestReading_StopsAnywhere(t *testing.T) {
	c := serve(t, map[string]*archivedRun{"agent": {parts: histories(t, "agent"), lost: -1}})
	for stop := 1; stop <= 4; stop++ {
		n := 0
		for range audit.Events(t.Context(), c, "agent", "") {
			if n++; n == stop {
				break
			}
		}
		if n != stop {
			t.Errorf("stopped at %d, got %d", stop, n)
		}
	}
	for r, err := range audit.Records(t.Context(), c, "agent", "") {
		if err != nil || r.CallID != "1.3" {
			t.Errorf("the first record is %s, %v", r.CallID, err)
		}
		break
	}
}

// openRun returns the agent's run at the time when its second turn was scheduled.
func openRun(t *testing.T) *archivedRun {
	part := histories(t, "agent")[0]
	end := slices.IndexFunc(part, func(e *historypb.HistoryEvent) bool {
		return e.GetActivityTaskScheduledEventAttributes().GetActivityId() == "2.4"
	})
	at := func(seconds int64) *timestamppb.Timestamp {
		return &timestamppb.Timestamp{Seconds: 2_000_000_000 + seconds}
	}
	activity := func(id, tool, queue string) *workflowpb.PendingActivityInfo {
		return &workflowpb.PendingActivityInfo{
			ActivityId:    id,
			ActivityType:  &commonpb.ActivityType{Name: tool},
			ScheduledTime: at(0),
			Attempt:       1,
			ActivityOptions: &activitypb.ActivityOptions{
				TaskQueue: &taskqueuepb.TaskQueue{Name: queue},
			},
		}
	}
	broken := activity("2.1", "broken", queue)
	broken.State, broken.LastStartedTime = enumspb.PENDING_ACTIVITY_STATE_STARTED, at(1)
	broken.LastWorkerIdentity = "worker-1"
	broken.HeartbeatDetails = payloads(t, map[string]int{"done": 3})
	hosted := activity("2.0", "waiting", queue)
	hosted.State, hosted.LastStartedTime = enumspb.PENDING_ACTIVITY_STATE_STARTED, at(1)
	hosted.LastWorkerIdentity = "worker-1"
	hosted.HeartbeatDetails = payloads(t, api.Heartbeat{Waiting: true})
	flaky := activity("2.2", "flaky", queue)
	flaky.State, flaky.LastStartedTime = enumspb.PENDING_ACTIVITY_STATE_SCHEDULED, at(1)
	flaky.LastAttemptCompleteTime = at(2)
	flaky.Attempt, flaky.MaximumAttempts, flaky.NextAttemptScheduleTime = 2, 3, at(9)
	flaky.LastFailure = &failurepb.Failure{Message: "not yet"}
	unserved := activity("2.3", "unserved", queue+"/nobody")
	unserved.State = enumspb.PENDING_ACTIVITY_STATE_SCHEDULED
	stopping := activity("turn-9", api.ModelActivity, queue)
	stopping.State, stopping.LastStartedTime = enumspb.PENDING_ACTIVITY_STATE_CANCEL_REQUESTED, at(
		4)
	stopping.HeartbeatDetails = payloads(t, api.Live{Turn: 9, Attempt: 1, From: 2, Text: "far"})
	again := activity("turn-10", api.ModelActivity, queue)
	again.State, again.LastStartedTime = enumspb.PENDING_ACTIVITY_STATE_STARTED, at(5)
	again.Attempt = 2
	again.HeartbeatDetails = stopping.HeartbeatDetails // of the attempt before
	paused := activity("9.9", "paused", "")
	paused.State, paused.ActivityOptions = enumspb.PENDING_ACTIVITY_STATE_PAUSED, nil
	paused.PauseInfo = &workflowpb.PendingActivityInfo_PauseInfo{PauseTime: at(5)}
	return &archivedRun{
		parts: [][]*historypb.HistoryEvent{part[:end]},
		lost:  -1,
		open: &workflowservice.DescribeWorkflowExecutionResponse{
			PendingActivities: []*workflowpb.PendingActivityInfo{
				broken,
				hosted,
				activity("host_instance/x", api.HostInstanceActivity, queue+"/host_instance/general"),
				flaky,
				unserved,
				stopping,
				again,
				paused,
			},
			PendingWorkflowTask: &workflowpb.PendingWorkflowTaskInfo{
				State:         enumspb.PENDING_WORKFLOW_TASK_STATE_STARTED,
				Attempt:       1,
				ScheduledTime: at(6),
				StartedTime:   at(7),
			},
		},
	}
}

func TestPending_ShowsEveryState(t *testing.T) {
	c := serve(t, map[string]*archivedRun{"agent": openRun(t)})
	pending, err := audit.Pending(t.Context(), c, "agent", "")
	if err != nil {
		t.Fatal(err)
	}
	at := func(seconds int64) time.Time { return time.Unix(2_000_000_000+seconds, 0).UTC() }
	want := []audit.Running{
		{
			Kind:    audit.KindRun,
			Lane:    "general",
			Queue:   queue,
			State:   audit.StateRunning,
			Attempt: 1,
			Since:   at(7),
			Started: at(7),
		},
		{
			Kind:     audit.KindCall,
			ID:       "2.1",
			Tool:     "broken",
			Lane:     "general",
			Queue:    queue,
			State:    audit.StateRunning,
			Attempt:  1,
			Since:    at(1),
			Started:  at(1),
			Worker:   "worker-1",
			Progress: &api.Progress{Done: 3},
		},
		{
			Kind:    audit.KindCall,
			ID:      "2.0",
			Tool:    "waiting",
			Lane:    "general",
			Queue:   queue,
			State:   audit.StateWaiting,
			Attempt: 1,
			Since:   at(0),
			Started: at(1),
			Worker:  "worker-1",
		},
		{
			Kind:        audit.KindCall,
			ID:          "2.2",
			Tool:        "flaky",
			Lane:        "general",
			Queue:       queue,
			State:       audit.StateBackingOff,
			Attempt:     2,
			MaxAttempts: 3,
			Since:       at(2),
			Started:     at(1),
			NextAttempt: at(9),
			LastFailure: "not yet",
		},
		{
			Kind:    audit.KindCall,
			ID:      "2.3",
			Tool:    "unserved",
			Lane:    "nobody",
			Queue:   queue + "/nobody",
			State:   audit.StateWaiting,
			Attempt: 1,
			Since:   at(0),
		},
		{
			Kind:    audit.KindStep,
			ID:      "turn-9",
			Lane:    "general",
			Queue:   queue,
			State:   audit.StateCancelling,
			Attempt: 1,
			Since:   at(4),
			Started: at(4),
			Live:    &api.Live{Turn: 9, Attempt: 1, From: 2, Text: "far"},
		},
		{
			Kind:    audit.KindStep,
			ID:      "turn-10",
			Lane:    "general",
			Queue:   queue,
			State:   audit.StateRunning,
			Attempt: 2,
			Since:   at(5),
			Started: at(5),
		},
		{
			Kind:    audit.KindCall,
			ID:      "9.9",
			Tool:    "paused",
			State:   audit.StatePaused,
			Attempt: 1,
			Since:   at(5),
		},
	}
	if !reflect.DeepEqual(pending, want) {
		t.Errorf("got  %+v\nwant %+v", pending, want)
	}
}

// A later run of the same workflow id does not count for the earlier one.
func TestPending_IgnoresLaterRuns(t *testing.T) {
	first, later := histories(t, "continued")[0], openRun(t)
	later.parts = [][]*historypb.HistoryEvent{first, later.parts[0]}
	c := serve(t, map[string]*archivedRun{"agent": later})
	if pending, err := audit.Pending(t.Context(), c, "agent",
		start(first).GetOriginalExecutionRunId()); err != nil ||
		len(pending) > 0 {
		t.Errorf("got %+v, %v", pending, err)
	}
	if pending, err := audit.Pending(t.Context(), c, "agent", ""); err != nil || len(pending) == 0 {
		t.Errorf("the later run: got %+v, %v", pending, err)
	}
}

// The open calls of a run follow the others, with their state at the server.
func TestOpenRecords_ComeLast(t *testing.T) {
	c := serve(t, map[string]*archivedRun{"agent": openRun(t)})
	var got []string
	for _, r := range collect(t, audit.Records(t.Context(), c, "agent", "")) {
		if r.Status == api.CallRunning {
			got = append(
				got,
				strings.Join(
					[]string{r.CallID, r.Tool, string(r.Phase), r.Lane, r.Worker, r.LastFailure},
					" "),
			)
		} else if len(got) > 0 {
			t.Errorf("%s is over and comes after one that runs", r.CallID)
		}
	}
	want := []string{
		"2.1 broken execution general worker-1 ",
		"2.2 flaky execution general  not yet",
		"2.3 unserved pre_execution nobody  ",
		"2.4 slow pre_execution general  ",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

// Runs that are missing, foreign, lost or unreadable give distinct errors from every function. A
// cancelled context gives its own error.
func TestErrors_HaveTypes(t *testing.T) {
	foreign := openRun(t)
	foreign.parts = [][]*historypb.HistoryEvent{{started(t, "OrderWorkflow", nil)}}
	first := histories(t, "continued")
	damaged := histories(t, "agent")
	damaged[0][0] = started(t, api.AgentWorkflow,
		&commonpb.Payloads{Payloads: []*commonpb.Payload{{Data: []byte("{")}}})
	c := serve(t, map[string]*archivedRun{
		"foreign": foreign, "lost": {parts: first, lost: 0}, "damaged": {parts: damaged, lost: -1},
		"agent": {parts: histories(t, "agent"), lost: -1},
	})
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	tests := []struct {
		name, id, run string
		ctx           context.Context
		want          error
		pending       bool
	}{
		{"unknown workflow", "nosuch", "", t.Context(), audit.ErrNotFound, true},
		{
			"unknown run",
			"agent",
			"0b9a54a6-0000-4000-8000-000000000000",
			t.Context(),
			audit.ErrNotFound,
			true,
		},
		{"malformed run id", "agent", "not-an-id", t.Context(), audit.ErrNotFound, true},
		{"another program's workflow", "foreign", "", t.Context(), history.ErrNotARun, true},
		{"first execution past retention", "lost", "", t.Context(), audit.ErrNotFound, false},
		{"unreadable input", "damaged", "", t.Context(), history.ErrUnreadable, false},
		{"cancelled context", "agent", "", cancelled, context.Canceled, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := audit.Describe(tt.ctx, c, tt.id, tt.run)
			if !errors.Is(err, tt.want) {
				t.Errorf("Describe: %v", err)
			}
			for _, err = range audit.Records(tt.ctx, c, tt.id, tt.run) {
			}
			if !errors.Is(err, tt.want) {
				t.Errorf("Records: %v", err)
			}
			if _, err = audit.Pending(tt.ctx, c, tt.id, tt.run); tt.pending &&
				!errors.Is(err, tt.want) {
				t.Errorf("Pending: %v", err)
			}
		})
	}
}
