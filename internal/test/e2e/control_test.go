package e2e

import (
	"testing"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit"
	"github.com/switchyard/switchyard/audit/history"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
)

// tellRun sends an update to a run and waits until it is accepted.
func (l *lab) updateRun(id, name string, arg any) error {
	handle, err := l.Client.UpdateWorkflow(l.ctx, client.UpdateWorkflowOptions{WorkflowID: id,
		UpdateName: name,
		Args:       []any{arg}, WaitForStage: client.WorkflowUpdateStageCompleted})
	if err != nil {
		return err
	}
	return handle.Get(l.ctx, nil)
}

// must fails the test if a run refused an update.
func (l *lab) must(err error) {
	l.t.Helper()
	if err != nil {
		l.t.Fatal(err)
	}
}

func message(text string) api.Sent { return api.Sent{Text: text, By: "ada"} }

var look = api.Pause{By: "ada", Reason: "a look"}

// controlled are the behaviours of runs that people control.
var controlled = []behaviour{
	{name: "agent_send", run: func(l *lab) client.WorkflowRun {
		l.worker()
		run := l.runAgent("agent_send", withTools(agent(step(call("hold_read", `{}`)),
			answer("too early"), answer("done")), "hold_read"))
		l.awaitEntries(1)
		l.must(l.updateRun("agent_send", api.SendMessageUpdate, message("during the call")))
		l.must(l.updateRun("agent_send", api.PauseUpdate, look))
		l.openGate()
		l.await("for the call to end", func() bool { return l.ended(run, "1.1") })
		l.must(l.updateRun("agent_send", api.ResumeUpdate, look))
		return run
	}},
	{name: "agent_paused", run: func(l *lab) client.WorkflowRun {
		l.worker()
		run := l.runAgent("agent_paused",
			withTools(agent(step(call("hold_read", `{}`), call("tick_alone", `{"ms":1}`)),
				answer("done")), "hold_read tick_alone"))
		l.awaitEntries(1)
		l.must(l.updateRun("agent_paused", api.PauseUpdate, look))
		l.openGate()
		l.await("for the call to end", func() bool { return l.ended(run, "1.1") })
		l.must(l.updateRun("agent_paused", api.SendMessageUpdate, message("while it is paused")))
		l.must(l.updateRun("agent_paused", api.ResumeUpdate, look))
		return run
	}},
	{name: "plan_paused", run: func(l *lab) client.WorkflowRun {
		l.worker()
		run := l.runPlan("plan_paused", api.Plan{Calls: []api.PlanCall{
			{ID: "blocked", Tool: "hold_read"}, {ID: "after", Tool: "append",
				Arguments: []byte(`{"text":"${blocked}"}`)}}})
		l.awaitEntries(1)
		l.must(l.updateRun("plan_paused", api.PauseUpdate, look))
		l.openGate()
		l.await("for the call to end", func() bool { return l.ended(run, "blocked") })
		l.must(l.updateRun("plan_paused", api.ResumeUpdate, look))
		return run
	}},
}

// paused returns the authors of a run's pauses, from its memo.
func (l *lab) paused(id string) (p api.Pause) {
	l.t.Helper()
	r, err := l.Client.DescribeWorkflowExecution(l.ctx, id, "")
	l.must(err)
	if memo := r.GetWorkflowExecutionInfo().GetMemo().GetFields()[api.PausedMemo]; memo != nil {
		l.must(converter.GetDefaultDataConverter().FromPayload(memo, &p))
	}
	return p
}

// A paused run that continues as new stays paused, is listed as paused, keeps a message that it was
// sent, and continues when it is resumed. Its events contain all of that once.
func TestPause_SurvivesContinueAsNew(t *testing.T) {
	l := newLab(t, "--dynamic-config-value", "limit.historyCount.suggestContinueAsNew=5")
	l.worker()
	one := step(call("append", `{"text":"a"}`))
	run := l.runAgent("run", agent(one, step(call("hold_read", `{}`)), one, answer("done")))
	first := run.GetRunID()
	l.awaitEntries(2)
	before := len(l.histories("run", first))
	l.must(l.updateRun("run", api.SendMessageUpdate, message("before")))
	l.must(l.updateRun("run", api.PauseUpdate, look))
	l.openGate()
	l.await("for the run to continue as new",
		func() bool { return len(l.histories("run", first)) > before })
	if p := l.paused("run"); p.By != "ada" || p.Reason != "a look" || p.Since.IsZero() {
		t.Errorf("the memo says %+v", p)
	}
	l.must(l.updateRun("run", api.SendMessageUpdate, message("later")))
	if n := len(l.entries()); n != 2 {
		t.Errorf("%d calls ran while the run was paused", n-2)
	}
	summary, err := audit.Describe(l.ctx, l.Client, "run", "")
	if err != nil || summary.Status != history.RunPaused || summary.Paused == nil ||
		summary.Paused.By != "ada" {
		t.Errorf("the run is %s, paused by %+v, error %v", summary.Status, summary.Paused, err)
	}
	// Any execution of the chain identifies the run.
	if code, out := l.command("resume", "run:"+first, "--by", "ada"); code != 0 {
		t.Fatalf("resume says, with code %d: %s", code, out)
	}
	if r := l.result(run); r.Answer != "done" || r.Usage.Calls != 3 {
		t.Errorf("result: %+v", r)
	}
	if p := l.paused("run"); p.By != "" {
		t.Errorf("after its end the memo says %+v", p)
	}
	var lines []string
	for e, err := range audit.Events(l.ctx, l.Client, "run", first) {
		l.must(err)
		if e.Sent != nil {
			lines = append(lines, "sent "+e.Sent.Text)
		}
		if e.Pause != nil {
			lines = append(lines, string(e.Type)+" "+e.Pause.By)
		}
	}
	expect(t, "events", lines, []string{"sent before", "run_paused ada", "sent later",
		"run_resumed ada"})
}
