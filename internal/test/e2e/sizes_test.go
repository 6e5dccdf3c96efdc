package e2e

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/codec"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/client"
)

// sizesLab is a lab whose worker has the tools of testdata/sizes.
func sizesLab(t *testing.T) *lab {
	t.Helper()
	l := newLab(t)
	l.worker("--tools", "testdata/sizes")
	return l
}

// largest describes the workflow tasks and the history of a run, of all executions.
type largest struct {
	bytes, task, tasks, failedTasks, events, timers int
	// forgotten counts the workflow tasks that failed because the server had forgotten an update.
	forgotten  int
	terminated bool
}

func (l *lab) largest(run client.WorkflowRun) (m largest) {
	l.t.Helper()
	for _, h := range l.histories(run.GetID(), run.GetRunID()) {
		tasks := map[int64]int{}
		bytes := 0
		for _, e := range h.GetEvents() {
			size := e.Size()
			bytes += size
			m.events++
			switch e.GetEventType() {
			case enumspb.EVENT_TYPE_WORKFLOW_TASK_FAILED:
				// New events may arrive while a task ends the run, and a slow server may have
				// forgotten an update. The task is repeated then.
				failed := e.GetWorkflowTaskFailedEventAttributes()
				l.t.Logf("%s: %v", run.GetID(), failed)
				switch failed.GetCause() {
				case enumspb.WORKFLOW_TASK_FAILED_CAUSE_UNHANDLED_COMMAND:
				case enumspb.WORKFLOW_TASK_FAILED_CAUSE_BAD_UPDATE_WORKFLOW_EXECUTION_MESSAGE:
					m.forgotten++
				default:
					m.failedTasks++
				}
			case enumspb.EVENT_TYPE_WORKFLOW_TASK_COMPLETED:
				m.tasks++
			case enumspb.EVENT_TYPE_TIMER_STARTED:
				m.timers++
			case enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_TERMINATED:
				m.terminated = true
			}
			if id := completedBy(e); id > 0 {
				tasks[id] += size
				m.task = max(m.task, tasks[id])
			}
		}
		m.bytes = max(m.bytes, bytes)
	}
	return m
}

// completedBy returns the workflow task that an event's command belongs to, or zero.
func completedBy(e *historypb.HistoryEvent) int64 {
	return max(e.GetActivityTaskScheduledEventAttributes().GetWorkflowTaskCompletedEventId(),
		e.GetMarkerRecordedEventAttributes().GetWorkflowTaskCompletedEventId(),
		e.GetStartChildWorkflowExecutionInitiatedEventAttributes().
			GetWorkflowTaskCompletedEventId(),
		e.GetWorkflowExecutionCompletedEventAttributes().GetWorkflowTaskCompletedEventId(),
		e.GetWorkflowExecutionFailedEventAttributes().GetWorkflowTaskCompletedEventId(),
		e.GetWorkflowExecutionContinuedAsNewEventAttributes().GetWorkflowTaskCompletedEventId())
}

// sound checks that the server neither terminated a run nor rejected one of its workflow tasks. It
// may have forgotten one update of the run, whose sender then sends it again.
func (l *lab) sound(run client.WorkflowRun) largest {
	l.t.Helper()
	return l.soundBut(run, 1)
}

// soundBut is sound for a run of which the server may have forgotten as many updates.
func (l *lab) soundBut(run client.WorkflowRun, forgotten int) largest {
	l.t.Helper()
	m := l.largest(run)
	l.t.Logf("%s: %+v", run.GetID(), m)
	if m.terminated || m.failedTasks > 0 || m.forgotten > forgotten || m.task > 4<<20 ||
		m.bytes > 50<<20 {
		l.t.Errorf("run %s: %+v", run.GetID(), m)
	}
	return m
}

func planCall(id, tool, arguments string) api.PlanCall {
	return api.PlanCall{ID: id, Tool: tool, Arguments: json.RawMessage(arguments)}
}

// A plan's call whose references resolve to more than the limit of a call is refused as the
// caller's mistake. The other calls run, and the run ends.
func TestSizes_RefuseResolvedArguments(t *testing.T) {
	l := sizesLab(t)
	run := l.runPlan("plan", api.Plan{Name: "plan", Calls: []api.PlanCall{
		planCall("a", "large", `{"bytes":921600}`),
		planCall("b", "swallow", `{"value":["${a}","${a}","${a}"]}`),
		planCall("c", "swallow", `{"value":"${a}"}`)}})
	var r api.RunResult
	if err := l.failure(run, api.RunCallsFailed).Details(&r); err != nil {
		t.Fatal(err)
	}
	if len(r.Failures) != 1 || r.Failures[0].ID != "b" ||
		r.Failures[0].Error.Type != api.ErrValidation ||
		r.Failures[0].Error.Message != "the arguments of swallow with the results that they refer to: 2764806 bytes as JSON, the limit is 1310720 bytes; refer to the parts of the results that the call needs" {
		t.Errorf("failures: %+v", r.Failures)
	}
	l.sound(run)
}

// A run with a refused call can be cancelled.
func TestSizes_CancelBesideRefusedCall(t *testing.T) {
	l := sizesLab(t)
	run := l.runPlan("plan", api.Plan{Name: "plan", Calls: []api.PlanCall{
		planCall("a", "large", `{"bytes":921600}`),
		planCall("b", "swallow", `{"value":["${a}","${a}","${a}"]}`),
		planCall("c", "wait", `{}`)}})
	l.awaitEntries(1)
	l.cancel("plan")
	l.cancelled(run)
	l.sound(run)
}

// Calls that share a large result are scheduled in as many workflow tasks as their inputs need.
func TestSizes_DivideWorkflowTasks(t *testing.T) {
	for name, test := range map[string]struct{ calls, bytes int }{
		"150 calls of 30 KiB": {150, 30 << 10},
		"20 calls of 300 KiB": {20, 300 << 10},
		"150 small calls":     {150, 100},
	} {
		t.Run(name, func(t *testing.T) {
			l := sizesLab(t)
			plan := api.Plan{Name: "plan", Output: json.RawMessage(`"${c0}"`), Calls: []api.PlanCall{
				planCall("a", "large", fmt.Sprintf(`{"bytes":%d}`, test.bytes))}}
			for i := range test.calls {
				plan.Calls = append(plan.Calls, planCall(fmt.Sprint("c", i), "swallow",
					`{"value":"${a}"}`))
			}
			run := l.runPlan("plan", plan)
			if r := l.result(run); r.Usage.Calls != test.calls+1 || r.Usage.Failed != 0 {
				t.Errorf("result: %+v", r)
			}
			if m := l.sound(run); (m.timers > 0) != (test.calls*test.bytes > 2<<20) {
				t.Errorf("%d timers divide the workflow tasks", m.timers)
			}
		})
	}
}

// Large variables of a run are not in the input of every call, and tools can read them.
func TestSizes_PassVariablesOnce(t *testing.T) {
	l := sizesLab(t)
	many := call("swallow", `{"value":1}`)
	many.Repeat = 100
	run := l.run(api.AgentWorkflow, "run", api.RunInput{
		Agent:  withTools(agent(step(many), step(many), step(many), answer("done")), "swallow"),
		Prompt: "Go.", Variables: map[string]any{"v": strings.Repeat("v", 300<<10)}})
	r := l.result(run)
	if r.Usage.Calls != 300 || r.Usage.Failed != 0 {
		t.Errorf("result: %+v", r)
	}
	if m := l.sound(run); m.bytes > 2<<20 {
		t.Errorf("the history has %d bytes", m.bytes)
	}
	for _, m := range l.conversation(run) {
		if m.Role == api.RoleTool && m.Text != "1 and 307208" {
			t.Fatalf("a call answered %q", m.Text)
		}
	}
}

// noise returns a text of n bytes that compression shortens by a quarter.
func noise(n int) string {
	data := make([]byte, n)
	_, _ = rand.NewChaCha8([32]byte{}).Read(data) // never fails
	return base64.StdEncoding.EncodeToString(data)[:n]
}

// A run whose conversation and agent are too large for the input of an execution continues with a
// compacted conversation.
func TestSizes_ContinueAsNew(t *testing.T) {
	inFull(t)
	l := sizesLab(t)
	a := withTools(agent(step(call("large", `{"bytes":1048576}`)),
		step(call("large", `{"bytes":1048576}`)), step(call("large", `{"bytes":1048576}`)),
		step(call("large", `{"bytes":1048576}`)), answer("done")), "large")
	a.Instructions = noise(600 << 10)
	a.Model.Script.Value.Summary = "in short"
	earlier, err := codec.EncodeMessages([]api.Message{{Role: api.RoleUser, Text: noise(800 << 10)},
		{Role: api.RoleAssistant, Text: noise(800 << 10)}})
	if err != nil {
		t.Fatal(err)
	}
	run, err := l.Client.ExecuteWorkflow(l.ctx, client.StartWorkflowOptions{ID: "run",
		TaskQueue: api.DefaultTaskQueue}, api.AgentWorkflow, api.RunInput{Agent: a, Prompt: "Go."},
		earlier)
	if err != nil {
		t.Fatal(err)
	}
	first := run.GetRunID() // the result is that of the last execution
	if r := l.result(run); r.Answer != "done" {
		t.Errorf("result: %.300v", r)
	}
	l.sound(l.Client.GetWorkflow(l.ctx, "run", first))
	if n := len(l.histories("run", first)); n < 2 {
		t.Errorf("the run has %d executions", n)
	}
}
