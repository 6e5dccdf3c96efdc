package e2e

import (
	"context"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/switchyard/switchyard/activities/executor"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/queues"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/worker"
)

// laneWorker starts a worker with the lanes of testdata/lanes.yaml and their tools.
func (l *lab) laneWorker(flags ...string) {
	l.t.Helper()
	l.workerIn(nil, append([]string{"--tools", "testdata/routed", "--lanes-file",
		"testdata/lanes.yaml"}, flags...)...)
}

// elsewhere starts a worker of the lane elsewhere in this process, which executes no workflows.
// answer gets the number of a call, from 1.
func (l *lab) elsewhere(answer func(n int64) *api.Error) {
	l.t.Helper()
	var calls atomic.Int64
	w := worker.New(l.Client, queues.Lane(api.DefaultTaskQueue, "elsewhere"),
		worker.Options{DisableWorkflowWorker: true})
	w.RegisterDynamicActivity(func(_ context.Context, input converter.EncodedValues) (api.Result,
		error) {
		if failure := answer(calls.Add(1)); failure != nil {
			return api.Result{}, executor.Failure(failure)
		}
		return api.Result{Output: []byte(`"given"`), Tokens: 1}, nil
	}, activity.DynamicRegisterOptions{})
	l.must(w.Start())
	l.t.Cleanup(w.Stop)
}

// requeues starts another worker of the lane that returns the first n calls unstarted.
func (l *lab) requeues(n int64) {
	l.t.Helper()
	l.elsewhere(func(call int64) *api.Error {
		if call > n {
			return nil
		}
		return &api.Error{Type: api.ErrWorkerLost, Phase: api.PhasePreExecution,
			Message: "gave up the lane; nothing ran", NotStarted: true, Requeue: true}
	})
}

// runPriorities starts a plan whose calls have priorities, in a high-priority run of a
// conversation.
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

// Records of a run and of its sub-agents have the priorities with which their calls were queued.
func TestRecords_HavePriorities(t *testing.T) {
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

// A call of a bypassing caller does not wait in the lane's queue, and its record shows that. Calls
// of other callers wait.
func TestBypass_IsRecorded(t *testing.T) {
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

// On a real server, a call that a worker returns before its start is scheduled with the same id
// until a worker starts it, although its tool must not run twice. It has one record, and its
// history replays.
func TestRequeue_SchedulesReturnedCallsAgain(t *testing.T) {
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

func TestRecords_NameTheKeyOfEachCall(t *testing.T) {
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
}
