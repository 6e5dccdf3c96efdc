package audit_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit/history"
	"github.com/switchyard/switchyard/internal/core/failures"
	"github.com/switchyard/switchyard/tool"
	"github.com/switchyard/switchyard/toolspecs"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	failurepb "go.temporal.io/api/failure/v1"
	historypb "go.temporal.io/api/history/v1"
	sdkpb "go.temporal.io/api/sdk/v1"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// inlineSpecs returns tools of the lane inline with the handlers of those that are not, and one
// that ignores its timeout.
func inlineSpecs() []toolspecs.Spec {
	spec := func(
		name string, timeout time.Duration, parameters ...toolspecs.Parameter) toolspecs.Spec {
		s := toolspecs.Spec{
			Name:        "in_" + name,
			Version:     "1.0.0",
			Description: "A tool of a test.",
			Parameters:  parameters,
			Entry:       toolspecs.Entry{Kind: toolspecs.FunctionEntry{Handler: name}},
		}
		s.Execution.Lane, s.Execution.Effect, s.Execution.Timeout = api.LaneInline, api.EffectRead,
			api.Duration(timeout)
		s.Execution.Retry = api.Retry{
			MaxAttempts:     2,
			InitialInterval: api.Duration(10 * time.Millisecond),
		}
		return s
	}
	password := toolspecs.Parameter{
		Name:      "password",
		Type:      "string",
		Required:  true,
		Sensitive: true,
	}
	slow := spec("slow", 20*time.Millisecond)
	slow.Execution.Retry.MaxAttempts = 1
	return []toolspecs.Spec{
		spec("echo", time.Second,
			toolspecs.Parameter{Name: "text", Type: "string", Required: true}),
		spec(
			"login",
			time.Second,
			toolspecs.Parameter{Name: "user", Type: "string", Default: []byte(`"u"`)},
			password,
		),
		spec("broken",
			time.Second), spec("flaky", time.Second), slow, spec("deaf", 10*time.Millisecond),
	}
}

// deaf runs longer than its timeout and the grace after it.
var deaf = tool.NewFunction("deaf", func(ctx context.Context, _ struct{}) (string, error) {
	<-ctx.Done()
	<-time.After(2 * time.Second)
	return "too late", nil
})

func inlineScenarios() []scenario {
	with := func(in api.RunInput, lane string) api.RunInput {
		in.Agent.Tools = []string{
			"echo",
			"in_echo",
			"in_login",
			"in_broken",
			"in_flaky",
			"in_slow",
			"in_deaf",
		}
		in.Agent.Model.Lane = lane
		return in
	}
	steps := turns(
		[]api.ScriptCall{
			call("in_echo", `{"text":"a"}`),
			call("in_login", `{"password":"secret"}`),
			call("in_broken", `{}`),
			call("in_flaky", `{}`),
			call(
				"in_slow",
				`{}`,
			),
			call("in_echo", `{"txt":1}`),
			call("in_echo", `{"text":"again"}`),
			call("echo", `{"text":"b"}`),
		},
		[]api.ScriptCall{call("in_deaf", `{}`)},
	)
	return []scenario{
		{
			name:     "inline",
			workflow: api.AgentWorkflow,
			input:    with(agent(api.Limits{}, steps...), ""),
		},
		{
			name:     "inline_steps",
			workflow: api.AgentWorkflow,
			input:    with(agent(api.Limits{}, steps...), api.LaneInline),
		},
		{
			name:     "inline_limit",
			workflow: api.AgentWorkflow,
			input:    with(agent(api.Limits{Turns: 1}, steps...), api.LaneInline),
		},
		{
			name:     "inline_model_failed",
			workflow: api.AgentWorkflow,
			input:    with(agent(api.Limits{}, steps[0]), api.LaneInline),
		},
		{
			name:     "inline_plan",
			workflow: api.PlanWorkflow,
			input: plan(
				planCall("a", "in_echo", `{"text":"x"}`),
				planCall("b", "in_echo", `{"text":"${a}!"}`),
			),
		},
	}
}

// Each inline call has the time and the worker of the workflow task that recorded it. Parallel
// calls overlap, and the last attempt has the duration of the tool.
func TestInlineTimes_LieWithinTheirWorkflowTask(t *testing.T) {
	d := history.NewDeriver("", "")
	records := map[string]api.Record{}
	for _, r := range recordsOf(derive(t, d, histories(t, "inline_steps")[0])) {
		records[r.CallID] = r
	}
	for id, at := range map[string]struct {
		attempts      int
		least, atMost time.Duration
	}{
		"1.1": {1, 0, 20 * time.Millisecond},
		"1.4": {2, 0, 20 * time.Millisecond},
		"1.5": {1, 20 * time.Millisecond, 500 * time.Millisecond},
		"2.1": {2, time.Second, 4 * time.Second},
	} {
		r := records[id]
		if took := r.Duration.Std(); r.Attempts != at.attempts || took < at.least ||
			took > at.atMost ||
			r.Worker != "worker-1" ||
			r.Lane != api.LaneInline {
			t.Errorf("%s took %s in %d attempts by %q on %s", id, took, r.Attempts, r.Worker,
				r.Lane)
		}
		if r.Scheduled.After(r.Started) || r.Started.After(r.Closed) {
			t.Errorf("%s was scheduled at %s, started at %s and closed at %s", id, r.Scheduled,
				r.Started, r.Closed)
		}
	}
	if !records["1.4"].Started.Before(records["1.5"].Closed) ||
		!records["1.5"].Started.Before(records["1.4"].Closed) {
		t.Errorf("calls of one turn did not overlap: %+v, %+v", records["1.4"].Timing,
			records["1.5"].Timing)
	}
}

// marker returns the record of a local activity that ended at second n, or that is retried after
// backoff.
func marker(t *testing.T, n int64, kind, summary string, backoff time.Duration, result any,
	failure *failurepb.Failure) *historypb.HistoryEvent {
	t.Helper()
	data := struct {
		ActivityType string
		ReplayTime   time.Time
		Attempt      int
		Backoff      time.Duration
	}{kind, time.Unix(1_000_000_000+n, 0), int(n) % 10, backoff}
	details := map[string]*commonpb.Payloads{"data": payloads(t, data)}
	if failure == nil {
		details["result"] = payloads(t, result)
	}
	e := &historypb.HistoryEvent{
		EventId:   n,
		EventType: enumspb.EVENT_TYPE_MARKER_RECORDED,
		EventTime: &timestamppb.Timestamp{Seconds: 1_000_000_999},
		Attributes: &historypb.HistoryEvent_MarkerRecordedEventAttributes{
			MarkerRecordedEventAttributes: &historypb.MarkerRecordedEventAttributes{
				MarkerName: "LocalActivity", Details: details, Failure: failure},
		},
	}
	if summary != "" {
		e.UserMetadata = &sdkpb.UserMetadata{Summary: payloads(t, summary).Payloads[0]}
	}
	return e
}

// inlineRun returns the beginning of a run of an agent with a tool of the lane inline, and of one
// that only declares it.
func inlineRun(t *testing.T) []*historypb.HistoryEvent {
	send := api.Tool{Name: "send", Lane: api.LaneInline, Effect: api.EffectOnce}
	pinned := api.Pinned{Catalog: api.Catalog{Tools: []api.Tool{
		{
			Name:   "look",
			Lane:   api.LaneInline,
			Effect: api.EffectRead,
		}, send}}}
	step := api.ModelResponse{Message: api.Message{Role: api.RoleAssistant, Calls: []api.Call{
		{ID: "1.1", Tool: "look", Arguments: "{}"}, {ID: "1.2", Tool: "send", Arguments: "{}"}}}}
	recorded := []*historypb.HistoryEvent{
		started(t, api.AgentWorkflow, payloads(t, agent(api.Limits{}))),
		marker(t, 11, api.PinActivity, "", 0, api.Pack(pinned), nil),
		marker(t, 21, api.ModelActivity, "turn-1 turn 1", time.Minute, nil,
			application("x", "no model", nil)),
		marker(t, 32, api.ModelActivity, "turn-1 turn 1", 0, step, nil),
		marker(t, 41, api.AdmitActivity, "", 0, []api.AdmissionDecision{{ID: "1.1"}, {ID: "1.2"}},
			nil),
	}
	return append(recorded, decided(t, recorded,
		api.JournalEntry{Call: "1.2", Error: *failures.InlineFault(send)})...)
}

// An inline call that waits for its next attempt runs, with the failure of its last attempt. It
// starts once, and the attempts of a model step are one step.
func TestInlineRetries_AreOneCall(t *testing.T) {
	d := history.NewDeriver("", "")
	events := derive(
		t,
		d,
		append(inlineRun(t),
			marker(t, 51, "look", "1.1 look", time.Minute, nil, application("x", "not yet", nil))),
	)
	running := d.RunningCalls()
	if len(running) != 1 || running[0].CallID != "1.1" || running[0].LastFailure != "not yet" ||
		running[0].Attempts != 1 {
		t.Errorf("what runs is %+v", running)
	}
	events = append(
		events,
		derive(t, d, []*historypb.HistoryEvent{
			marker(t, 62, "look", "1.1 look", 0, api.Result{Output: []byte("1")}, nil),
		})...)
	var got []string
	for _, e := range events {
		got = append(got, string(e.Type)+" "+e.CallID)
	}
	want := "run_started , step_completed , tool_failed 1.2, tool_started 1.1, tool_completed 1.1"
	if strings.Join(got, ", ") != want {
		t.Errorf("got  %s\nwant %s", strings.Join(got, ", "), want)
	}
	step, look := events[1], events[4].Record
	if step.Timing.Attempts != 2 || step.Timing.LastFailure != "no model" ||
		step.Timing.Duration != api.Duration(21*time.Second) ||
		step.Turn != 1 {
		t.Errorf("the step: %+v", step.Timing)
	}
	if look.Attempts != 2 || look.LastFailure != "not yet" ||
		!look.Closed.Equal(time.Unix(1_000_000_062, 0)) ||
		look.Turn != 1 {
		t.Errorf("the call: %+v", look)
	}
}

// A call that may run inline and has no marker is one that its run refused.
func TestInlineCall_WithoutActivityIsRefused(t *testing.T) {
	events := derive(t, history.NewDeriver("", ""), inlineRun(t))
	r := events[len(events)-1].Record
	if r == nil || r.CallID != "1.2" || r.Status != api.CallRefused ||
		r.Error.Type != api.ErrPreconditionFailed ||
		r.Error.Message != `tool "send" has the lane inline: it requires the effect read, but the effect is once; give its toolspec another lane` {
		t.Errorf("got %+v", r)
	}
}
