package e2e

import (
	"context"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/switchyard/switchyard/activities/executor"
	"github.com/switchyard/switchyard/api"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/worker"
)

// laneWorker starts a worker with the lanes of testdata/lanes.yaml and the tools on them.
func (l *lab) laneWorker(flags ...string) {
	l.t.Helper()
	l.workerIn(nil, append([]string{"--tools", "testdata/routed", "--lanes-file",
		"testdata/lanes.yaml"}, flags...)...)
}

// requeues starts another worker of the lane that returns the first n calls unstarted.
func (l *lab) requeues(n int64) {
	l.t.Helper()
	var calls atomic.Int64
	w := worker.New(l.Client, api.Queue(api.DefaultTaskQueue, "elsewhere"),
		worker.Options{DisableWorkflowWorker: true})
	w.RegisterDynamicActivity(func(_ context.Context, input converter.EncodedValues) (api.Result,
		error) {
		if calls.Add(1) <= n {
			return api.Result{}, executor.Failure(&api.Error{Type: api.ErrWorkerLost,
				Phase:   api.PhasePreExecution,
				Message: "gave up the lane; nothing ran", NotStarted: true,
				Requeue: true})
		}
		return api.Result{Output: []byte(`"given"`), Tokens: 1}, nil
	}, activity.DynamicRegisterOptions{})
	if err := w.Start(); err != nil {
		l.t.Fatal(err)
	}
	l.t.Cleanup(w.Stop)
}

// runPriorities starts a plan whose calls name priorities, in an important run of a conversation.
func (l *lab) runPriorities(id string) client.WorkflowRun {
	l.t.Helper()
	text := []byte(`{"text":"a"}`)
	packed := api.Pack(api.Plan{Calls: []api.PlanCall{
		{ID: "run", Tool: "append", Arguments: text}, {ID: "urgent", Tool: "append",
			Arguments: text, Priority: api.PriorityUrgent, DependsOn: []string{"run"}},
		{ID: "normal", Tool: "store", Arguments: text, Priority: api.PriorityNormal,
			DependsOn: []string{"urgent"}},
		{ID: "below", Tool: "writer", Arguments: []byte(`{"about":"a"}`), Priority: api.PriorityLow,
			DependsOn: []string{"normal"}}}})
	return l.run(api.PlanWorkflow, id, api.RunInput{Plan: &packed, Priority: api.PriorityHigh,
		Conversation: "talk"})
}

// TestPriorityRecords proves that the records of a run, and of the sub-agents' runs below it, have
// the priorities with which their calls were queued.
func TestPriorityRecords(t *testing.T) {
	l := newLab(t)
	l.worker()
	run := l.runPriorities("run")
	l.result(run)
	var got []string
	for _, r := range l.records(run) {
		got = append(got, r.CallID+" "+string(r.Priority))
	}
	if want := []string{"run high", "urgent urgent", "normal normal",
		"below low"}; !slices.Equal(got, want) {
		t.Errorf("records %q, want %q", got, want)
	}
	below := l.Client.GetWorkflow(l.ctx, api.ChildWorkflowID("run", "below"), "")
	for _, r := range l.records(below) {
		if r.Priority != api.PriorityLow {
			t.Errorf("call %s of the sub-agent has the priority %s", r.CallID, r.Priority)
		}
	}
}

// TestBypassRecord proves that a call of a caller whom the lane lets pass goes past its queue, and
// that its record says so; calls of other callers do not.
func TestBypassRecord(t *testing.T) {
	l := newLab(t)
	l.laneWorker()
	call := l.runCall("direct", "stamp", `{"text":"a"}`)
	plan := l.runPlan("plan", api.Plan{Calls: []api.PlanCall{{ID: "a", Tool: "stamp",
		Arguments: []byte(`{"text":"b"}`)}}})
	for run, lane := range map[client.WorkflowRun]string{call: "bypass/desk", plan: "desk"} {
		l.result(run)
		if records := l.records(run); len(records) != 1 || records[0].Lane != lane ||
			records[0].Attempts != 1 {
			t.Errorf("the records of %s are %+v, want the lane %s", run.GetID(), records, lane)
		}
	}
}

// TestHandedBackCall proves on a real server that a call which a worker hands back before it begins
// is made again with the same id until one begins it, though its tool must not run twice, and that
// it has one record; its history replays.
func TestHandedBackCall(t *testing.T) {
	l := newLab(t)
	l.laneWorker("--lanes", "general")
	l.requeues(2)
	run := l.runCall("run", "given", `{"text":"a"}`)
	l.result(run)
	records := l.records(run)
	if len(records) != 1 || records[0].Attempts != 3 || records[0].Status != api.CallCompleted ||
		records[0].QueueWait.Std() < time.Second {
		t.Errorf("the records are %+v", records)
	}
}

// TestKeysAreOpened proves that the keys of admitted calls are open at the server, each once
// however many calls it has, and that the calls then run on their queues.
func TestKeysAreOpened(t *testing.T) {
	l := newLab(t)
	l.laneWorker()
	run := l.runAgent("run", withTools(agent(
		step(call("press", `{"text":"one"}`), call("press", `{"text":"two"}`),
			call("press", `{"text":"one"}`)),
		step(call("press", `{"text":"two"}`)), answer("done")), "press"))
	l.result(run)
	var lanes []string
	for _, r := range l.records(run) {
		lanes = append(lanes, r.CallID+" "+r.Lane)
	}
	if want := []string{"1.1 android/one", "1.2 android/two", "1.3 android/one",
		"2.1 android/two"}; !slices.Equal(slices.Sorted(slices.Values(lanes)), want) {
		t.Errorf("records %q, want %q", lanes, want)
	}
	var opened []string
	for _, e := range l.histories(api.KeysWorkflowID(api.DefaultTaskQueue, "android"),
		"")[0].GetEvents() {
		var order api.KeyOrder
		if s := e.GetWorkflowExecutionSignaledEventAttributes(); s != nil &&
			converter.GetDefaultDataConverter().FromPayloads(s.GetInput(), &order) == nil {
			opened = append(opened, order.Open)
		}
	}
	if slices.Sort(opened); !slices.Equal(opened, []string{"one", "two"}) {
		t.Errorf("opened %q", opened)
	}
}
