package e2e

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit"
	"github.com/switchyard/switchyard/internal/test/testserver"
	"github.com/switchyard/switchyard/internal/value/visibility"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"
)

// talk has a run of a conversation call remember once. It returns the process of the server, the
// text of the result with its notes, and the status of the call.
func (l *lab) talk(conversation, text string) (server int, result, status string) {
	l.t.Helper()
	a := agent(step(remember(text)), answer("done"))
	a.Tools = []string{"remember"}
	run := l.runAgent(conversation, a)
	if r := l.result(run); r.Answer != "done" {
		l.t.Errorf("conversation %s: %+v", conversation, r)
	}
	status = strings.Join(l.statuses(run), "; ")
	if servers, texts := l.remembered(run); len(servers) == 1 {
		return servers[0], strings.Join(append(texts, l.noted(run)["1.1"]), ""), status
	}
	return 0, "", status
}

const (
	completed = "1.1 remember completed"
	newState  = ": this is a new instance of "
	stateless = ", without the state of the previous one"
)

// Runs of one conversation use the same session, whose idle timeout bounds it. Another conversation
// has another session.
func TestConversationSessions_OutliveTheirRuns(t *testing.T) {
	l := newLab(t)
	tools := l.sessionTools(", scope: conversation, idle_timeout: 4s")
	l.workerIn(nil, "--tools", tools)
	l.workerIn(nil, "--tools", tools)
	first, text, status := l.talk("talk", "x")
	expect(t, "first run", []string{text, status}, []string{"x", completed})
	second, text, status := l.talk("talk", "y")
	expect(t, "second run", []string{text, status}, []string{"x y", completed})
	other, text, status := l.talk("other", "z")
	expect(t, "other conversation", []string{text, status}, []string{"z", completed})
	if first != second || first == other {
		t.Errorf("the servers are %d, %d and %d", first, second, other)
	}
	list, err := audit.Instances(t.Context(), l.Client, "talk", "")
	if err != nil || len(list) != 1 || list[0].Keeper == "" {
		t.Errorf("the conversation has the instances %+v, %v", list, err)
	}
	l.awaitExit(first)
	third, text, status := l.talk("talk", "w")
	expect(t, "run after the idle timeout", []string{text, status}, []string{
		"wthe last one was closed after 4s without a call" + newState + list[0].Name + stateless,
		completed})
	if third == first {
		t.Errorf("the server %d has exited", third)
	}
}

// A loss between two runs follows on_loss as one during a run, and the next run reports it.
func TestConversationSessions_ReportTheirLossToTheNextRun(t *testing.T) {
	for onLoss, want := range map[string][]string{
		"fail":     {"1.1 remember failed worker_lost", completed},
		"recreate": {completed, completed},
	} {
		t.Run(onLoss, func(t *testing.T) {
			l := newLab(t)
			tools := l.sessionTools(", scope: conversation, on_loss: " + onLoss)
			workers := []*testserver.Process{l.workerIn(nil, "--tools", tools),
				l.workerIn(nil, "--tools", tools)}
			server, _, _ := l.talk("talk", "x")
			l.parentOf(server, workers).Kill()
			var told string
			for n, text := range []string{"y", "z"} {
				_, result, status := l.talk("talk", text)
				status = strings.Replace(status, "refused", "failed", 1)
				expect(t, "run "+text, []string{status}, want[n:n+1])
				told += result + "; "
			}
			const lost = "the worker that hosted the last one was lost" + newState
			if strings.Count(told, lost) != 1 || strings.Contains(told, "x ") {
				t.Errorf("the runs were told %q", told)
			}
		})
	}
}

// A plan of a conversation lists the conversation's instances, not those of its workflow ID. The ID
// has characters that queries escape.
func TestConversationSession_IsListedByThePlansThatUseIt(t *testing.T) {
	l := newLab(t)
	l.workerIn(nil, "--tools", l.sessionTools(", scope: conversation"))
	const conversation = `it's C:\talk %_`
	plan := api.Pack(api.Plan{Calls: []api.PlanCall{
		{ID: "a", Tool: "remember", Arguments: []byte(`{"text":"x"}`)}}})
	const id = "ada's plan"
	run := l.run(api.PlanWorkflow, id, api.RunInput{Plan: &plan, Conversation: conversation})
	l.result(run)
	var list []audit.Instance
	err := until(l.ctx, func() (listed bool) {
		found, err := l.Client.CountWorkflow(l.ctx, &workflowservice.CountWorkflowExecutionsRequest{
			Query: "WorkflowId = " + visibility.Quote(id)})
		l.must(err)
		list, err = audit.Instances(l.ctx, l.Client, id, "")
		l.must(err)
		return found.GetCount() == 1 && len(list) > 0
	})
	want := api.InstanceWorkflowPrefix(api.DefaultTaskQueue, conversation)
	if err != nil || len(list) != 1 || !strings.HasPrefix(list[0].Keeper, want) {
		t.Errorf("the plan has the instances %+v, %v", list, err)
	}
	other := l.runPlan("talk", api.Plan{Calls: []api.PlanCall{
		{ID: "a", Tool: "count", Arguments: []byte(`{}`)}}})
	l.result(other)
	if list, err = audit.Instances(t.Context(), l.Client, "talk", ""); err != nil || len(list) > 0 {
		t.Errorf("a plan of no conversation has the instances %+v, %v", list, err)
	}
}

// A person closes it between two runs, and the next run gets a note.
func TestConversationSession_IsClosedBetweenRuns(t *testing.T) {
	l := newLab(t)
	l.workerIn(nil, "--tools", l.sessionTools(", scope: conversation"))
	server, _, _ := l.talk("talk", "x")
	list, err := audit.Instances(t.Context(), l.Client, "talk", "")
	if err != nil || len(list) != 1 {
		t.Fatalf("the conversation has the instances %+v, %v", list, err)
	}
	out, err := exec.CommandContext(l.ctx, testserver.Bin(t, "starter"), "close", "talk", "--by",
		"ada", "--reason", "it hangs", "--address", l.Address).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	l.awaitExit(server)
	_, text, status := l.talk("talk", "y")
	expect(t, "next run", []string{text, status}, []string{
		"ythe last one was closed by ada: it hangs" + newState + list[0].Name + stateless, completed})
}

// A plan without a conversation has a session of its own, which is closed with it.
func TestConversationSessions_AreThoseOfTheRunWithoutAConversation(t *testing.T) {
	l := newLab(t)
	l.workerIn(nil, "--tools", l.sessionTools(", scope: conversation"))
	run := l.runPlan("plan", api.Plan{Calls: []api.PlanCall{
		{ID: "a", Tool: "remember", Arguments: []byte(`{"text":"x"}`)}}})
	l.result(run)
	servers, texts := l.remembered(run)
	expect(t, "texts", texts, []string{"x"})
	l.awaitExit(servers[0])
}

// A run that was reset learns that its instance ended, although it has another run ID than when it
// joined.
func TestConversationSession_EndsForARunThatWasReset(t *testing.T) {
	l := newLab(t)
	l.workerIn(nil, "--tools", l.sessionTools(", scope: conversation, idle_timeout: 2s"))
	a := agent(step(remember("x")), step(call("hold_read", `{}`)), step(remember("y")),
		answer("done"))
	a.Tools = []string{"remember", "hold_read"}
	run := l.runAgent("talk", a)
	l.atGate(run)
	var decided int64
	events := l.Client.GetWorkflowHistory(l.ctx, run.GetID(), run.GetRunID(), false,
		enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for events.HasNext() {
		e, err := events.Next()
		if err != nil {
			t.Fatal(err)
		}
		if e.GetEventType() == enumspb.EVENT_TYPE_WORKFLOW_TASK_COMPLETED {
			decided = e.GetEventId()
		}
	}
	reset, err := l.Client.ResetWorkflowExecution(l.ctx,
		&workflowservice.ResetWorkflowExecutionRequest{Namespace: "default",
			WorkflowExecution: &commonpb.WorkflowExecution{WorkflowId: run.GetID(),
				RunId: run.GetRunID()},
			Reason: "again", RequestId: "reset", WorkflowTaskFinishEventId: decided})
	if err != nil {
		t.Fatal(err)
	}
	run = l.Client.GetWorkflow(l.ctx, run.GetID(), reset.GetRunId())
	servers, _ := l.remembered(run)
	l.awaitExit(servers[0])
	l.openGate()
	if r := l.result(run); r.Answer != "done" || r.Usage.Failed != 0 {
		t.Errorf("the run ended with %+v", r)
	}
	// The records of a run end with its first reset, so the conversation has to tell.
	again := ""
	for _, m := range l.conversation(run) {
		if m.CallID == "3.1" {
			again = m.Text
		}
	}
	if server, _, _ := strings.Cut(again, " "); again == "" || server == fmt.Sprint(servers[0]) {
		t.Errorf("the model reads %q, want the answer of another server than %d", again, servers[0])
	}
}
