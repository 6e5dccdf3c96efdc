package workflows_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/switchyard/switchyard/activities/executor"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/toolspecs"
	"github.com/switchyard/switchyard/workflows/keeper"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
)

// workers simulate the workers that host instances, because queues of the test environment have no
// workers. Each host follows its script, and calls are executed while an instance is served.
type workers struct {
	*lab
	// hosts script the instance hosts, in order; later ones run until the run cancels them.
	hosts []hostInstance
	// asked are the requests to the hosts, in order.
	asked []api.HostInstanceRequest
	// served is open while calls are executed.
	served chan struct{}
	// log has the starts and ends of hosts, and the executed calls.
	log []string
}

// hostInstance scripts one execution of an instance host.
type hostInstance struct {
	// serves lets calls be executed before the host ends.
	serves bool
	// until is the log entry at which the host ends.
	until string
	left  api.InstanceProgress
	err   error
}

// statefulTool is a stateful tool of the tests.
func statefulTool(change func(*toolspecs.Spec)) toolspecs.Spec {
	s := toolspecs.Spec{Name: "counter", Version: "1.0.0", Description: "Counts.",
		Entry:       toolspecs.Entry{Kind: toolspecs.StatefulEntry{}},
		InputSchema: []byte(`{"type":"object"}`)}
	s.Execution.Heartbeat = api.Duration(time.Second)
	if change != nil {
		change(&s)
	}
	return s
}

// silent is why an instance is lost whose worker sends no heartbeat.
const silent = "its worker was lost or could not reach Temporal"

func recreated(s *toolspecs.Spec) {
	toolspecs.EditEntry(s, func(e *toolspecs.StatefulEntry) { e.OnLoss = api.OnLossRecreate })
}

func newWorkers(t *testing.T, tools []toolspecs.Spec, hosts ...hostInstance) *workers {
	t.Helper()
	w := &workers{lab: newLabOf(t, 1, tools...), hosts: hosts, served: make(chan struct{})}
	w.RegisterActivityWithOptions(w.hostInstance,
		activity.RegisterOptions{Name: api.HostInstanceActivity})
	// The environment does not wait for cancelled activities, so the end of a host is not visible
	// later.
	w.SetOnActivityCanceledListener(func(info *activity.Info) {
		if strings.HasPrefix(info.ActivityID, "host_instance/") {
			w.say("%s cancelled", info.ActivityID)
		}
	})
	for _, tool := range tools {
		w.RegisterActivityWithOptions(w.execute, activity.RegisterOptions{Name: tool.Name})
	}
	return w
}

func (w *workers) say(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.log = append(w.log, fmt.Sprintf(format, args...))
}

// await waits until the log has an entry, or returns the context's cause if that ends before.
func (w *workers) await(ctx context.Context, entry string) error {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		w.mu.Lock()
		found := slices.Contains(w.log, entry)
		w.mu.Unlock()
		if found {
			return nil
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-tick.C:
			activity.RecordHeartbeat(ctx)
		}
	}
}

func (w *workers) hostInstance(ctx context.Context,
	r api.HostInstanceRequest) (api.InstanceProgress, error) {
	w.mu.Lock()
	w.asked = append(w.asked, r)
	n := len(w.asked)
	h := hostInstance{serves: true, until: "never"}
	if n <= len(w.hosts) {
		h = w.hosts[n-1]
	}
	w.mu.Unlock()
	id := activity.GetInfo(ctx).ActivityID
	w.say("%s asked", id)
	if h.serves {
		w.serve(true)
		defer w.serve(false)
	}
	if w.await(ctx, h.until) != nil {
		return api.InstanceProgress{}, nil
	}
	w.say("%s ended", id)
	return h.left, h.err
}

// serve opens or closes the instance's queue.
func (w *workers) serve(open bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if open {
		close(w.served)
	} else {
		w.served = make(chan struct{})
	}
}

func (w *workers) execute(ctx context.Context, _ api.Execution) (api.Result, error) {
	info := activity.GetInfo(ctx)
	w.say("%s waits", info.ActivityID)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		w.mu.Lock()
		served := w.served
		w.mu.Unlock()
		select {
		case <-served:
			w.say("%s executed", info.ActivityID)
			return api.Result{Output: []byte(`1`)}, nil
		case <-ctx.Done():
			return api.Result{}, temporal.NewCanceledError()
		case <-tick.C:
			activity.RecordHeartbeat(ctx)
		}
	}
}

// events returns the starts and ends of hosts, and the executions.
func (w *workers) events() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(w.log), func(s string) bool {
		return strings.HasSuffix(s,
			" waits")
	})
}

func (w *workers) runAgent(tool string, steps ...api.ScriptStep) {
	w.t.Helper()
	a := agent(steps...)
	a.Tools = append(a.Tools, tool)
	w.ExecuteWorkflow(api.AgentWorkflow, api.RunInput{Agent: a, Prompt: "Go."})
}

// hostError is the failure of an instance host, as workers report it.
func hostError(e api.Error, left api.InstanceProgress) error {
	return temporal.NewApplicationErrorWithOptions(e.Message, string(e.Type),
		temporal.ApplicationErrorOptions{NonRetryable: true, Details: []any{e, left}})
}

// scheduledTypes records the types of the activities that a workflow schedules. The environment
// ends with the workflow, before an activity that nothing waits for is executed.
type scheduledTypes struct {
	interceptor.WorkerInterceptorBase
	interceptor.WorkflowInboundInterceptorBase
	interceptor.WorkflowOutboundInterceptorBase
	types []string
}

func (s *scheduledTypes) InterceptWorkflow(_ workflow.Context,
	next interceptor.WorkflowInboundInterceptor) interceptor.WorkflowInboundInterceptor {
	s.WorkflowInboundInterceptorBase.Next = next
	return s
}

func (s *scheduledTypes) Init(out interceptor.WorkflowOutboundInterceptor) error {
	s.WorkflowOutboundInterceptorBase.Next = out
	return s.WorkflowInboundInterceptorBase.Next.Init(s)
}

func (s *scheduledTypes) ExecuteActivity(ctx workflow.Context, name string,
	args ...any) workflow.Future {
	s.types = append(s.types, name)
	return s.WorkflowOutboundInterceptorBase.Next.ExecuteActivity(ctx, name, args...)
}

// The host of an instance that no call has used lately may heartbeat rarely, so the run tells it
// that it ends.
func TestInstances_AnnounceTheEndToUnusedOnes(t *testing.T) {
	tools := []toolspecs.Spec{statefulTool(nil)}
	for tool, arguments := range map[string]string{"counter": `{}`, "echo": `{"value":1}`} {
		in, earlier := newWorkers(t, tools).copyOver(step(call("counter", `{}`)),
			step(call(tool, arguments)), answer("done"))
		w := newWorkers(t, tools)
		scheduled := &scheduledTypes{}
		w.SetWorkerOptions(worker.Options{
			Interceptors: []interceptor.WorkerInterceptor{scheduled}})
		w.RegisterActivityWithOptions(func(context.Context) error { return nil },
			activity.RegisterOptions{Name: api.CloseInstanceActivity})
		w.ExecuteWorkflow(api.AgentWorkflow, in, earlier)
		w.result()
		announced := slices.Contains(scheduled.types, api.CloseInstanceActivity)
		if announced != (tool == "echo") {
			t.Errorf("the last call is of %s: announced %v", tool, announced)
		}
	}
}

// The waiting calls get the reason. The next call tries again, with what is known of earlier
// instances.
func TestInstance_ThatCannotBeCreatedAnswersItsCalls(t *testing.T) {
	unmade := api.Error{Type: api.ErrExecution, Message: "no disk", Phase: api.PhaseExecution}
	w := newWorkers(t, []toolspecs.Spec{statefulTool(
		func(s *toolspecs.Spec) { s.Execution.Access = api.AccessShared })},
		hostInstance{until: "1.2 waits", err: hostError(unmade,
			api.InstanceProgress{Generation: 1})})
	w.runAgent("counter", step(call("counter", `{}`), call("counter", `{}`)),
		step(call("counter", `{}`)), answer("done"))
	if r := w.result(); r.Usage.Failed != 2 {
		t.Errorf("usage %+v", r.Usage)
	}
	neverRan := unmade
	neverRan.NotStarted = true
	text := neverRan.ForModel()
	expect(t, "results", w.callResults(), []string{"1.1 " + text, "1.2 " + text, "2.1 1"})
	if r := w.asked[1]; r.Last.Generation != 1 || r.Last.Used {
		t.Errorf("asked with %+v", r)
	}
}

// The host of a tool with on_loss: recreate is retried by Temporal without limit, any other never.
func TestInstance_RetryOfItsHost(t *testing.T) {
	for _, test := range []struct {
		change func(*toolspecs.Spec)
		asked  int
	}{{recreated, 3}, {nil, 1}} {
		lost := hostInstance{until: "1.1 waits", err: temporal.NewApplicationError("it stops",
			string(api.ErrWorkerLost), api.Error{Type: api.ErrWorkerLost}, api.InstanceProgress{})}
		w := newWorkers(t, []toolspecs.Spec{statefulTool(test.change)}, lost, lost)
		w.runAgent("counter", step(call("counter", `{}`)), answer("done"))
		w.result()
		if len(w.asked) != test.asked {
			t.Errorf("asked %d times, want %d", len(w.asked), test.asked)
		}
	}
}

// copyOver runs an agent until it continues as new, and returns the next execution's input and
// conversation.
func (w *workers) copyOver(steps ...api.ScriptStep) (in api.RunInput, earlier []byte) {
	w.t.Helper()
	w.SetContinueAsNewSuggested(true)
	w.runAgent("counter", steps...)
	return w.continued()
}

// A run that continues as new passes on its instances: a running one is adopted, an idle one has
// its snapshot, and a lost one stays lost.
func TestInstance_SurvivesContinueAsNew(t *testing.T) {
	steps := []api.ScriptStep{step(call("counter", `{}`)), step(call("counter", `{}`)),
		answer("done")}
	w := newWorkers(t, []toolspecs.Spec{statefulTool(nil)})
	in, earlier := w.copyOver(steps...)
	c := in.State.Instances
	if len(c) != 1 || c[0].Tool != "counter" || !c[0].Hosted || c[0].Lost != "" ||
		len(c[0].Before) != 1 || c[0].Before[0].ActivityID != "host_instance/counter" ||
		c[0].Before[0].RunID == "" {
		t.Fatalf("carried %+v", c)
	}
	w = newWorkers(t, []toolspecs.Spec{statefulTool(nil)})
	w.ExecuteWorkflow(api.AgentWorkflow, in, earlier)
	w.result()
	if r := w.asked[0]; !r.Adopt || r.Origin.Run != in.State.Run || !strings.Contains(r.Queue,
		in.State.Run) {
		t.Errorf("asked with %+v", r)
	}
	expect(t, "events", w.events(), []string{"host_instance/counter asked", "2.1 executed",
		"host_instance/counter cancelled"})

	idle := hostInstance{serves: true, until: "1.1 executed",
		left: api.InstanceProgress{Generation: 4, Used: true, State: []byte("state")}}
	in, earlier = newWorkers(t, []toolspecs.Spec{statefulTool(nil)},
		idle).copyOver(append([]api.ScriptStep{step(call("counter", `{}`), call("flaky", `{}`))},
		steps[1:]...)...)
	if c := in.State.Instances; len(c) != 1 || c[0].Hosted || string(c[0].Last.State) != "state" ||
		c[0].Before != nil {
		t.Fatalf("carried %+v", c)
	}
	w = newWorkers(t, []toolspecs.Spec{statefulTool(nil)})
	w.ExecuteWorkflow(api.AgentWorkflow, in, earlier)
	w.result()
	if r := w.asked[0]; r.Adopt || r.Last.Generation != 4 || string(r.Last.State) != "state" {
		t.Errorf("asked with %+v", r)
	}

	gone := hostInstance{until: "1.1 waits",
		err: temporal.NewHeartbeatTimeoutError(api.InstanceProgress{Generation: 1})}
	in, earlier = newWorkers(t, []toolspecs.Spec{statefulTool(nil)}, gone).copyOver(steps...)
	w = newWorkers(t, []toolspecs.Spec{statefulTool(nil)})
	w.ExecuteWorkflow(api.AgentWorkflow, in, earlier)
	if w.result(); in.State.Instances[0].Lost != silent || len(w.asked) != 0 {
		t.Errorf("carried %+v, asked %+v", in.State.Instances, w.asked)
	}
}

// An instance without an adopter, or whose adopter is lost, is lost for good, or is created again
// with the state of its last heartbeat, which the run or the server has.
func TestInstance_AdoptionFails(t *testing.T) {
	reported := api.InstanceProgress{Generation: 3, Used: true, State: []byte("state")}
	for name, test := range map[string]struct {
		change func(*toolspecs.Spec)
		lost   error
		check  func(api.HostInstanceRequest) bool
	}{
		"no adopter": {recreated, temporal.NewTimeoutError(enumspb.TIMEOUT_TYPE_SCHEDULE_TO_START, nil),
			func(r api.HostInstanceRequest) bool { return len(r.Before) == 1 && !r.Last.Used }},
		"silent": {recreated, temporal.NewHeartbeatTimeoutError(reported),
			func(r api.HostInstanceRequest) bool {
				return len(r.Before) == 0 && string(r.Last.State) == "state" &&
					r.Last.Generation == 3
			}},
		"given up": {recreated, hostError(api.Error{Type: api.ErrWorkerLost}, reported),
			func(r api.HostInstanceRequest) bool {
				return len(r.Before) == 0 &&
					string(r.Last.State) == "state"
			}},
		"lost for good": {nil, temporal.NewHeartbeatTimeoutError(reported), nil},
	} {
		t.Run(name, func(t *testing.T) {
			tools := []toolspecs.Spec{statefulTool(test.change)}
			in, earlier := newWorkers(t, tools).copyOver(step(call("counter", `{}`)),
				step(call("counter", `{}`)), answer("done"))
			w := newWorkers(t, tools, hostInstance{until: "2.1 waits", err: test.lost})
			w.ExecuteWorkflow(api.AgentWorkflow, in, earlier)
			w.result()
			if test.check == nil {
				lost := keeper.InstanceLost(api.Tool{Name: "counter"}, silent)
				lost.NotStarted = true
				expect(t, "results", w.callResults()[1:], []string{"2.1 " + lost.ForModel()})
				return
			}
			if r := w.asked[1]; r.Adopt || !r.Lost || !test.check(r) {
				t.Errorf("asked with %+v", r)
			}
			expect(t, "events", w.events(), []string{"host_instance/counter asked", "host_instance/counter ended",
				"host_instance/counter/2 asked", "2.1 executed", "host_instance/counter/2 cancelled"})
		})
	}
}

// sessionTools are two tools of one MCP server.
func sessionTools(change func(*toolspecs.Spec)) []toolspecs.Spec {
	var tools []toolspecs.Spec
	for _, name := range []string{"write", "read"} {
		s := toolspecs.Spec{Name: name, Version: "1.0.0", Description: "A tool of a server.",
			Entry: toolspecs.Entry{Kind: toolspecs.MCPEntry{Argv: []string{"server"},
				Pin: "sha256:" + strings.Repeat("0", 64)}},
			InputSchema: []byte(`{"type":"object"}`)}
		if change != nil {
			change(&s)
		}
		if name == "read" {
			s.Execution.Effect = api.EffectRead
		}
		tools = append(tools, s)
	}
	return tools
}

// No worker of a lane polls for the sessions of a tool that was deleted or moved to another lane.
func TestInstance_WithoutAHostFailsItsCalls(t *testing.T) {
	noHost := hostInstance{until: "1.1 waits",
		err: temporal.NewTimeoutError(enumspb.TIMEOUT_TYPE_SCHEDULE_TO_START, nil)}
	w := newWorkers(t, sessionTools(func(s *toolspecs.Spec) { s.Execution.Lane = "serial" }), noHost)
	a := agent(step(call("write", `{}`)), answer("done"))
	a.Tools = append(a.Tools, "write", "read")
	w.ExecuteWorkflow(api.AgentWorkflow, api.RunInput{Agent: a, Prompt: "Go."})
	w.result()
	told := w.callResults()
	if len(told) != 1 || !strings.Contains(told[0], "queue_timeout: no worker of lane serial") {
		t.Errorf("told %q", told)
	}
}

// The task of a host can get lost between the server and the worker, and a worker can be lost or
// stop while it creates the instance. Then no call has started on an instance.
func TestInstance_IsRequestedAgainIfItsHostNeverStarted(t *testing.T) {
	creating := api.InstanceProgress{Generation: 1, Creating: true}
	stops := api.Errorf(api.ErrWorkerLost, "its worker stops")
	stops.Retryable = true
	for name, end := range map[string]error{
		"the task got lost":               temporal.NewHeartbeatTimeoutError(),
		"the worker was lost in creating": temporal.NewHeartbeatTimeoutError(creating),
		"the worker stopped in creating":  executor.Failure(stops, creating),
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorkers(t, []toolspecs.Spec{statefulTool(nil)},
				hostInstance{until: "1.1 waits", err: end})
			w.runAgent("counter", step(call("counter", `{}`)), answer("done"))
			if r := w.result(); r.Usage.Failed != 0 {
				t.Errorf("usage %+v", r.Usage)
			}
			expect(t, "events", w.events(), []string{"host_instance/counter asked",
				"host_instance/counter ended", "host_instance/counter/2 asked", "1.1 executed",
				"host_instance/counter/2 cancelled"})
			if r := w.asked[1]; r.Lost || r.Last.Used {
				t.Errorf("asked with %+v", r)
			}
		})
	}
}
