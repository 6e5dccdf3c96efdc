package host

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"

	"github.com/switchyard/switchyard/activities/executor"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/panics"
)

// serve starts the endpoints of a registry on a free port.
func serve(t *testing.T, registry *prometheus.Registry) *health {
	t.Helper()
	h, err := serveHealth("127.0.0.1:0", registry, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(h.close)
	return h
}

func (h *health) get(t *testing.T, path string) (code int, body string) {
	t.Helper()
	response, err := http.Get("http://" + h.address + path)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(data)
}

// has fails the test unless every line is among those that /metrics shows.
func (h *health) has(t *testing.T, lines ...string) {
	t.Helper()
	code, body := h.get(t, "/metrics")
	if code != http.StatusOK {
		t.Fatalf("/metrics answers %d", code)
	}
	for _, line := range lines {
		if !strings.Contains(body, line+"\n") {
			t.Errorf("/metrics lacks %s", line)
		}
	}
	if t.Failed() {
		t.Log(body)
	}
}

func TestHealth_SeparatesLivenessFromReadiness(t *testing.T) {
	h := serve(t, prometheus.NewRegistry())
	if code, body := h.get(t, "/healthz"); code != http.StatusOK || body != "ok\n" {
		t.Errorf("/healthz: %d %q", code, body)
	}
	for _, ready := range []bool{false, true, false} {
		h.setReady(ready)
		if code, _ := h.get(t, "/readyz"); (code == http.StatusOK) != ready || !ready &&
			code != http.StatusServiceUnavailable {
			t.Errorf("/readyz: %d; ready is %v", code, ready)
		}
	}
	if code, _ := h.get(t, "/other"); code != http.StatusNotFound {
		t.Errorf("/other: %d", code)
	}
	response, err := http.Post("http://"+h.address+"/healthz", "text/plain", nil)
	if err != nil || response.StatusCode != http.StatusMethodNotAllowed {
		t.Errorf("POST: %v, %v", response, err)
	}
	response.Body.Close()
	h.close()
	if _, err := http.Get("http://" + h.address + "/healthz"); err == nil {
		t.Error("it answers after it was closed")
	}
	none, err := serveHealth("", nil, nil)
	if err != nil || none.address != "" {
		t.Errorf("got %+v, %v", none, err)
	}
	none.close()
}

// --health asks the worker that serves an address, and needs no Temporal server.
func TestMain_HealthAsksTheWorkerThatServes(t *testing.T) {
	h := serve(t, prometheus.NewRegistry())
	for _, c := range []struct {
		name    string
		address string
		ready   bool
		code    int
	}{
		{"starting", h.address, false, exitFailed},
		{"ready", h.address, true, exitOK},
		{"no worker", closedPort(t), true, exitFailed},
		{"no address", "", true, exitUsage},
	} {
		h.setReady(c.ready)
		code, stdout, stderr := runMain(t, "--health", "--metrics-address", c.address)
		if code != c.code || (stdout == "ready\n") != (code == exitOK) ||
			(stderr == "") != (code == exitOK) {
			t.Errorf("%s: exit code %d, %q, %q", c.name, code, stdout, stderr)
		}
	}
}

func TestHealth_IsNotReadyWhileTheServerIsGone(t *testing.T) {
	h := serve(t, prometheus.NewRegistry())
	h.setReady(true)
	ticks, answers := make(chan time.Time), make(chan error)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		h.follow(ctx, func(context.Context) error { return <-answers }, ticks,
			20*time.Millisecond, slog.New(slog.DiscardHandler))
	}()
	check := func(answer error) {
		t.Helper()
		ticks <- time.Now()
		answers <- answer
	}
	gone := errors.New("connection refused")
	check(gone) // once is not enough
	if code, _ := h.get(t, "/readyz"); code != http.StatusOK {
		t.Errorf("/readyz after one failure: %d", code)
	}
	await := func(want int) {
		t.Helper()
		for deadline := time.Now().Add(10 * time.Second); ; {
			code, _ := h.get(t, "/readyz")
			if code == want && h.isReady() == (want == http.StatusOK) {
				return
			}
			if time.Now().After(deadline) {
				t.Fatalf("/readyz: %d, want %d", code, want)
			}
			if want == http.StatusOK {
				check(nil)
			} else {
				check(gone)
			}
		}
	}
	await(http.StatusServiceUnavailable)
	if code, _ := h.get(t, "/healthz"); code != http.StatusOK {
		t.Errorf("/healthz: %d", code)
	}
	await(http.StatusOK)
	cancel()
	<-ended
}

// asNamed uses every task queue's name as its label.
func asNamed(queue string) string { return queue }

func TestMetricsHandler_ExportsTheSDKsMetrics(t *testing.T) {
	registry := prometheus.NewRegistry()
	h := newMetricsHandler(registry, asNamed)
	tagged := h.WithTags(map[string]string{"namespace": "n", "queue": "q"})
	var both sync.WaitGroup
	for range 2 {
		both.Go(func() {
			for range 100 {
				tagged.Counter("temporal_requests").Inc(2)
				tagged.WithTags(map[string]string{"queue": "other"}).Counter(
					"temporal_requests").Inc(1)
				tagged.Timer("temporal_latency").Record(20 * time.Millisecond)
			}
		})
	}
	both.Wait()
	h.Counter("temporal_requests").Inc(1)
	tagged.WithTags(map[string]string{"more": "m"}).Counter("temporal_requests").Inc(1)
	h.Gauge("temporal_slots").Update(5)
	h.Gauge("temporal_slots").Update(3)
	serve(t, registry).has(t,
		`temporal_requests_total{namespace="n",queue="q"} 401`,
		`temporal_requests_total{namespace="n",queue="other"} 200`,
		`temporal_requests_total{namespace="",queue=""} 1`,
		`temporal_slots 3`,
		`temporal_latency_seconds_count{namespace="n",queue="q"} 200`,
		`temporal_latency_seconds_bucket{namespace="n",queue="q",le="0.001"} 0`,
		"# HELP temporal_requests_total Temporal SDK: requests total.",
		"# TYPE temporal_latency_seconds histogram",
	)
}

func TestMetricsHandler_DropsIllegalMetrics(t *testing.T) {
	registry := prometheus.NewRegistry()
	h := newMetricsHandler(registry, asNamed)
	h.Counter("fine").Inc(1)
	for _, tags := range []map[string]string{{"__reserved": "x"}, {"": "x"}, {"\xff": "x"}} {
		h.WithTags(tags).Counter("a" + fmt.Sprint(tags)).Inc(1)
		h.WithTags(tags).Gauge("b" + fmt.Sprint(tags)).Update(1)
		h.WithTags(tags).Timer("c" + fmt.Sprint(tags)).Record(1)
	}
	h.Gauge("fine_total").Update(7)
	h.Gauge("").Update(7)
	h.WithTags(map[string]string{"l": "\xff"}).Counter("value").Inc(1)
	h.WithTags(map[string]string{"l": "\xff"}).Gauge("value").Update(1)
	h.WithTags(map[string]string{"l": "\xff"}).Timer("value").Record(1)
	serve(t, registry).has(t, "fine_total 1")
}

// ended is the end of an activity as an observer gets it.
type ended struct {
	interceptor.ActivityInboundInterceptorBase
	result any
	err    error
}

func (e *ended) ExecuteActivity(context.Context, *interceptor.ExecuteActivityInput) (any, error) {
	return e.result, e.err
}

// TestObserver_CountsAndLogsSlowCalls states what a slow call leaves in the log and the metrics.
func TestObserver_CountsAndLogsSlowCalls(t *testing.T) {
	var log output
	registry := prometheus.NewRegistry()
	o := newObserver(registry, slog.New(slog.NewTextHandler(&log, nil))).forLane("general")
	slow := api.Result{Slow: true, ExecutionMicros: 6_000_000}
	observe(t, o, "search", ended{result: slow})
	observe(t, o, "search", ended{result: api.Result{}})
	observe(t, o, api.FinalizeResultActivity, ended{result: api.FinalizedResult{
		CallOutcome: api.CallOutcome{Result: &slow}}}, api.FinalizeResultRequest{Call: "1.2",
		Tool: api.Tool{Name: "agent", Lane: "general"}})
	serve(t, registry).has(t, `switchyard_slow_calls_total{lane="general",tool="agent"} 1`,
		`switchyard_slow_calls_total{lane="general",tool="search"} 1`)
	if got := log.String(); strings.Count(got, "slow call") != 2 ||
		!contains(got, "tool=search", "took=6s", "call_id=1.2") {
		t.Errorf("the log is\n%s", got)
	}
}

// observe passes one activity of that name to an observer of the lane.
func observe(t *testing.T, o *observer, name string, e ended, args ...any) {
	t.Helper()
	suite := testsuite.WorkflowTestSuite{}
	env := suite.NewTestActivityEnvironment()
	env.RegisterActivityWithOptions(func(ctx context.Context) error {
		result, err := o.InterceptActivity(ctx, &e).ExecuteActivity(ctx,
			&interceptor.ExecuteActivityInput{Args: args})
		if fmt.Sprint(result) != fmt.Sprint(e.result) || !errors.Is(err, e.err) {
			t.Errorf("the observer changed %v, %v to %v, %v", e.result, e.err, result, err)
		}
		return nil
	}, activity.RegisterOptions{Name: name})
	if _, err := env.ExecuteActivity(name); err != nil {
		t.Fatal(err)
	}
}

func TestObserver_CountsCallsAndLogsTheirOutcome(t *testing.T) {
	registry := prometheus.NewRegistry()
	var logs output
	general := newObserver(registry, slog.New(slog.NewTextHandler(&logs, nil)))
	o := general.forLane("gpu")
	failure := func(e *api.Error) error { return executor.Failure(e) }
	observe(t, o, "probe", ended{result: api.Result{Tokens: 40}})
	observe(t, o, "probe", ended{result: api.Result{Tokens: 2}})
	observe(t, o, "probe", ended{err: failure(api.Errorf(api.ErrTimeout, "late"))})
	observe(t, o, "probe", ended{err: temporal.NewCanceledError()})
	observe(t, o, "probe", ended{err: errors.New("without a cause")})
	observe(t, o, "probe", ended{err: temporal.NewApplicationError("x", "no_such_type")})
	observe(t, o, api.ModelActivity,
		ended{result: api.ModelResponse{Model: "m", Usage: api.Usage{InputTokens: 100,
			OutputTokens: 7}}})
	observe(t, o, api.ModelActivity, ended{err: errors.New("down")})
	observe(t, o, api.PinActivity, ended{})
	// An inline call is observed on no lane's worker, and under its own id.
	observe(t, o, "probe", ended{result: api.Result{}}, &api.InlineCall{ID: "7.1"})
	observe(t, o, api.ModelActivity, ended{result: api.ModelResponse{Model: "m"}},
		api.ModelRequest{Inline: &api.InlineStep{ID: "turn-7"}})
	observe(t, o, api.ModelActivity, ended{result: api.ModelResponse{Model: "m"}},
		api.ModelRequest{})
	request := api.AdmissionRequest{Tools: []api.Tool{{Name: "probe", Lane: "gpu"}},
		Calls: []api.Call{{Tool: "probe"}, {Tool: "probe"}, {Tool: "made\nup"}}}
	decisions := []api.AdmissionDecision{{}, {Error: api.Errorf(api.ErrValidation, "x")},
		{Error: api.Errorf(api.ErrToolNotFound, "x")}}
	observe(t, general.forLane("general"), api.AdmitActivity, ended{result: decisions}, request)
	// A failed admission, or one of another form, counts nothing.
	observe(t, o, api.AdmitActivity, ended{err: errors.New("x")}, request)
	observe(t, o, api.AdmitActivity, ended{result: decisions}, "another")
	observe(t, o, api.AdmitActivity, ended{result: decisions[:1]}, request)
	serve(t, registry).has(t,
		`switchyard_calls_total{lane="gpu",outcome="completed",tool="probe"} 2`,
		`switchyard_calls_total{lane="inline",outcome="completed",tool="probe"} 1`,
		`switchyard_call_duration_seconds_count{lane="inline",tool="probe"} 1`,
		`switchyard_calls_total{lane="gpu",outcome="timeout",tool="probe"} 1`,
		`switchyard_calls_total{lane="gpu",outcome="cancelled",tool="probe"} 1`,
		`switchyard_calls_total{lane="gpu",outcome="execution_error",tool="probe"} 2`,
		`switchyard_calls_total{lane="gpu",outcome="validation_error",tool="probe"} 1`,
		`switchyard_calls_total{lane="",outcome="tool_not_found",tool="unknown"} 1`,
		`switchyard_call_duration_seconds_count{lane="gpu",tool="probe"} 6`,
		`switchyard_call_queue_seconds_count{lane="gpu"} 6`,
		`switchyard_model_steps_total{model="m",outcome="completed"} 3`,
		`switchyard_model_steps_total{model="",outcome="failed"} 1`,
		`switchyard_model_step_duration_seconds_count{model="m"} 3`,
		`switchyard_tokens_total{kind="result",model=""} 42`,
		`switchyard_tokens_total{kind="input",model="m"} 100`,
		`switchyard_tokens_total{kind="output",model="m"} 7`,
	)
	if !contains(logs.String(), `msg="call ended"`, "tool=probe", "call_id=", "workflow_id=",
		"run_id=", "attempt=1", "outcome=timeout", "level=WARN", `msg="model step ended"`,
		"call_id=7.1 lane=inline", "step=turn-7 model=m lane=inline") {
		t.Errorf("the log is %s", logs.String())
	}
	// The wait with the holder of a lane's slots is not part of the duration, and a rejected call
	// has none.
	hosted := general.forLane("limited")
	observe(t, hosted, "probe", ended{result: api.Result{WaitedMicros: 20_000_000}})
	observe(t, hosted, "probe", ended{err: failure(api.Errorf(api.ErrQueueFull, "x"))})
	late := api.Errorf(api.ErrExecution, "x")
	late.WaitedMicros = 20_000_000
	observe(t, hosted, "probe", ended{err: failure(late)})
	serve(t, registry).has(t,
		`switchyard_call_duration_seconds_bucket{lane="limited",tool="probe",le="5"} 2`,
		`switchyard_call_duration_seconds_count{lane="limited",tool="probe"} 2`,
		`switchyard_call_queue_seconds_bucket{lane="limited",le="10"} 1`,
		`switchyard_call_queue_seconds_count{lane="limited"} 3`,
		`switchyard_calls_total{lane="limited",outcome="queue_full",tool="probe"} 1`,
	)
	quiet := newObserver(prometheus.NewRegistry(),
		slog.New(slog.NewTextHandler(&logs, &slog.HandlerOptions{Level: slog.LevelError})))
	before := logs.String()
	observe(t, quiet, "probe", ended{})
	if logs.String() != before {
		t.Error("a log that is off was written to")
	}
}

// BenchmarkMetrics measures what the SDK does for every metric.
func BenchmarkMetrics(b *testing.B) {
	h := newMetricsHandler(prometheus.NewRegistry(),
		asNamed).WithTags(map[string]string{"namespace": "default", "client_name": "temporal-go",
		"task_queue": "switchyard"})
	tags := map[string]string{"activity_type": "probe", "workflow_type": "AgentRun"}
	b.Run("tags", func(b *testing.B) {
		for b.Loop() {
			h.WithTags(tags)
		}
	})
	tagged := h.WithTags(tags)
	b.Run("counter", func(b *testing.B) {
		for b.Loop() {
			tagged.Counter("temporal_requests").Inc(1)
		}
	})
	b.Run("timer", func(b *testing.B) {
		for b.Loop() {
			tagged.Timer("temporal_latency").Record(time.Millisecond)
		}
	})
}

// A panic becomes the failure that the SDK would report, and is counted by its place.
func TestObserver_CountsPanics(t *testing.T) {
	before := panics.Counts()
	registry := prometheus.NewRegistry()
	var log output
	o := newObserver(registry, slog.New(slog.NewTextHandler(&log, nil))).forLane("general")
	for name, place := range map[string]panics.Place{"probe": panics.Tool,
		api.ModelActivity: panics.Model, api.AdmitActivity: panics.Admission,
		api.HookActivity: panics.Hook, api.HostInstanceActivity: panics.Instance,
		api.PinActivity: panics.Activity} {
		a := observedActivity{observer: o}
		a.Next = &panicking{}
		_, err := a.execute(t.Context(), name, nil)
		failure, ok := errors.AsType[*temporal.ApplicationError](err)
		if !ok || failure.Type() != panicError || failure.NonRetryable() {
			t.Errorf("%s: got %v", name, err)
		}
		serve(t, registry).has(t, fmt.Sprintf(`switchyard_panics_total{place="%s"} %d`, place,
			before[place]+1))
	}
	if got := log.String(); !contains(got, "metrics_test.go") || strings.Contains(got, "a secret") {
		t.Errorf("the log is\n%s", got)
	}
}

// panicking is an activity that panics.
type panicking struct {
	interceptor.ActivityInboundInterceptorBase
}

func (*panicking) ExecuteActivity(context.Context, *interceptor.ExecuteActivityInput) (any, error) {
	panic("a secret")
}
