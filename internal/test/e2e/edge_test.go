package e2e

import (
	"slices"
	"testing"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit"
	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
)

func (l *lab) cancel(id string) {
	l.t.Helper()
	if err := l.Client.CancelWorkflow(l.ctx, id, ""); err != nil {
		l.t.Fatal(err)
	}
}

// The run ends as cancelled, and nothing is executed.
func TestCancel_BeforeAnyWorkerEndsTheRun(t *testing.T) {
	l := newLab(t)
	run := l.runAgent("run", appendTurns(2))
	l.cancel("run")
	l.worker()
	l.cancelled(run)
	if n := len(l.entries()); n != 0 {
		t.Errorf("%d calls ran", n)
	}
}

// No worker serves the lane.
func TestCancel_EndsRunsThatWaitForALane(t *testing.T) {
	l := newLab(t)
	l.worker("--lanes", "general")
	run := l.runAgent("run", agent(step(call("store", `{"text":"a"}`)), answer("never")))
	l.await("for a call that waits", func() bool {
		pending, err := audit.Pending(l.ctx, l.Client, "run", "")
		return err == nil && slices.ContainsFunc(pending,
			func(r audit.Running) bool { return r.ID == "1.1" })
	})
	l.cancel("run")
	l.cancelled(run)
	expect(t, "records", l.statuses(run), []string{"1.1 store cancelled cancelled"})
}

// A run that is cancelled while it has no worker ends as cancelled when one starts. Its records
// show the end of the call that was lost with the worker.
func TestCancel_WithoutWorkerTakesEffectLater(t *testing.T) {
	l := newLab(t)
	first := l.worker()
	run := l.runAgent("run", agent(step(call("hold_once", `{}`)), answer("never")))
	l.awaitEntries(1)
	first.Kill()
	l.cancel("run")
	l.worker()
	l.cancelled(run)
	if n := len(l.entries()); n != 1 {
		t.Errorf("the call was executed %d times", n)
	}
	expect(t, "records", l.statuses(run), []string{"1.1 hold_once failed outcome_unknown"})
}

// The turn has more calls than may be in flight at once and than a worker runs at once.
func TestManyCalls_AreExecutedOnceAndAnsweredInOrder(t *testing.T) {
	l := newLab(t)
	l.worker()
	many := call("append", `{"text":"x"}`)
	many.Repeat = 600
	run := l.runAgent("run", agent(step(many), answer("done")))
	if r := l.result(run); r.Usage.Calls != 600 || r.Usage.Failed != 0 || r.Answer != "done" {
		t.Errorf("result: %+v", r)
	}
	executions := l.executions()
	for id, n := range executions {
		if n != 1 {
			t.Errorf("%s was executed %d times", id, n)
		}
	}
	if len(executions) != 600 {
		t.Errorf("%d calls were executed", len(executions))
	}
	for i, m := range l.conversation(run)[3:603] {
		if want := api.TurnCallID(1, i+1); m.CallID != want {
			t.Fatalf("message %d answers call %s, want %s", i, m.CallID, want)
		}
	}
}

// reset resets a run to before an activity was scheduled, as an operator does, and returns the new
// execution.
func (l *lab) reset(run client.WorkflowRun, activity string) client.WorkflowRun {
	l.t.Helper()
	var decided int64
	for _, e := range l.histories(run.GetID(), "")[0].GetEvents() {
		if a := e.GetActivityTaskScheduledEventAttributes(); a.GetActivityId() == activity {
			decided = a.GetWorkflowTaskCompletedEventId()
		}
	}
	response, err := l.Client.ResetWorkflowExecution(l.ctx,
		&workflowservice.ResetWorkflowExecutionRequest{
			Namespace: "default",
			WorkflowExecution: &commonpb.WorkflowExecution{WorkflowId: run.GetID(),
				RunId: run.GetRunID()},
			Reason: "again", RequestId: "reset", WorkflowTaskFinishEventId: decided,
		})
	if err != nil {
		l.t.Fatal(err)
	}
	return l.Client.GetWorkflow(l.ctx, run.GetID(), response.GetRunId())
}

// The model reads the new answers of the tools, although the worker still has the old ones in its
// cache.
func TestReset_ContinuesWithNewAnswers(t *testing.T) {
	l := newLab(t)
	l.worker()
	run := l.runAgent("run", agent(step(named("a", call("number", `{}`))),
		step(named("b", call("number", `{}`))), answer("${a} and ${b}")))
	if r := l.result(run); r.Answer != "1 and 2" {
		t.Fatalf("answer: %q", r.Answer)
	}
	again := l.reset(run, "1.1")
	if r := l.result(again); r.Answer != "3 and 4" {
		t.Errorf("after the reset the answer is %q, want that of the new results", r.Answer)
	}
	var messages []string
	for _, m := range l.conversation(again) {
		messages = append(messages, m.Text)
	}
	expect(t, "conversation", messages, []string{"Test.", "Go.", "", "3", "", "4", "3 and 4"})
}
