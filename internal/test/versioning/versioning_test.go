package versioning

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
)

// A build with incompatible workflows is rolled out while runs are in flight. Plans and their
// sub-agents end on the build that they started on, agents move after their turn, and both builds
// serve the lanes, which the new one serves alone in the end.
func TestRollout_KeepsRunsOnTheirBuild(t *testing.T) {
	l := newLab(t)
	a := l.worker("a")
	l.current("a")
	oldPlan := l.plan("old-plan", call("one", "own", "late"), call("two", "single", "", "one"),
		call("three", "own", "", "two"),
		api.PlanCall{ID: "four", Tool: "helper", DependsOn: []string{"three"}})
	oldAgent := l.agent("old-agent", "own", "late", "", "")
	l.started("old-plan", "one")
	l.started("old-agent", "1.1")

	l.worker("b", changed+"=1")
	l.current("b")
	newPlan := l.plan("new-plan", call("one", "own", ""), call("two", "wide", "", "one"))
	l.result(newPlan)
	l.serveOneLaneWithBoth()
	l.open("late")
	l.result(oldPlan)
	l.result(oldAgent)

	for run, want := range map[client.WorkflowRun]string{oldPlan: `[["a"]]`,
		oldAgent: `[["a"] ["b"]]`, newPlan: `[["b"]]`} {
		if got := fmt.Sprintf("%q", l.builds(run)); got != want {
			t.Errorf("the executions of %s were on the builds %s, want %s", run.GetID(), got, want)
		}
	}
	for _, call := range [][2]string{{"old-plan", "three"}, {"old-plan/four", "1.1"}} {
		if build := l.started(call[0], call[1]); build != "a" {
			t.Errorf("the call %s on the lane general ran on build %s, want a", call, build)
		}
	}
	l.drained("a")
	a.Stop()
	l.result(l.plan("later", call("one", "single", "")))
	l.checkLedger(map[string]int{"old-plan": 3, "old-agent": 3, "new-plan": 2, "both": 4,
		"later": 1, "old-plan/four": 1})
}

// serveOneLaneWithBoth runs a plan whose four calls run at once on a lane, of which each of the two
// workers takes two.
func (l *lab) serveOneLaneWithBoth() {
	l.t.Helper()
	var calls []api.PlanCall
	for i := range 4 {
		calls = append(calls, call(fmt.Sprint("c", i), "wide", "wide-gate"))
	}
	run := l.plan("both", calls...)
	count := map[string]int{}
	for _, c := range calls {
		count[l.started("both", c.ID)]++
	}
	if count["a"] != 2 || count["b"] != 2 {
		l.t.Errorf("the calls of a lane were executed by the builds %v, want two by each", count)
	}
	l.open("wide-gate")
	l.result(run)
}

// An agent that moves keeps the instance of its stateful tool on the worker of the old build.
func TestRollout_KeepsInstances(t *testing.T) {
	l := newLab(t)
	l.worker("a")
	l.current("a")
	run := l.agent("counting", "counter", "late", "", "")
	l.started("counting", "1.1")
	l.worker("b", changed+"=1")
	l.current("b")
	l.open("late")
	l.result(run)
	if got := fmt.Sprintf("%q", l.builds(run)); got != `[["a"] ["b"]]` {
		t.Errorf("the executions were on the builds %s", got)
	}
	var results []string
	for r, err := range audit.Records(l.ctx, l.Client, "counting", "") {
		if err != nil {
			t.Fatal(err)
		}
		results = append(results, string(r.Result.Output))
	}
	if want := []string{"1", "2", "3"}; !slices.Equal(results, want) {
		t.Errorf("the calls returned %q, want %q", results, want)
	}
	for _, call := range []string{"1.1", "2.1", "3.1"} {
		if build := l.started("counting", call); build != "a" {
			t.Errorf("the call %s ran on build %s, want a", call, build)
		}
	}
	l.checkLedger(map[string]int{"counting": 3})
}

// Half of the runs start on a build that ramps with 50 %, and end there.
func TestRamp_SplitsNewRuns(t *testing.T) {
	l := newLab(t)
	l.worker("a")
	l.current("a")
	l.worker("b", changed+"=1")
	l.ramp("b", 50)
	l.until("runs on the ramping build", func() bool { return l.buildOfNewRun() == "b" })
	const n = 40
	var all []client.WorkflowRun
	want := map[string]int{}
	for i := range n {
		run := l.plan(fmt.Sprint("run-", i), call("one", "own", ""), call("two", "wide", "", "one"))
		all, want[run.GetID()] = append(all, run), 2
	}
	count := map[string]int{}
	for _, run := range all {
		l.result(run)
		count[l.onlyBuild(run)]++
	}
	t.Logf("runs per build: %v", count)
	if count["a"] < n/5 || count["b"] < n/5 || count["a"]+count["b"] != n {
		t.Errorf("runs per build: %v, want about %d each", count, n/2)
	}
	l.checkLedger(want)
}

// After a rollback new runs start on the old build, plans of the withdrawn build end on it, and its
// agents move back after their turn. Once its worker is gone, the runs that ended on it can be
// queried, as the next run of a conversation does.
func TestRollback_MovesAgentsBack(t *testing.T) {
	l := newLab(t)
	l.worker("a")
	l.current("a")
	b := l.worker("b")
	l.current("b")
	plan := l.plan("plan", call("one", "own", "late"), call("two", "own", "", "one"))
	agent := l.agent("agent", "wide", "late", "")
	short := l.agent("short", "wide", "")
	l.result(short)
	l.started("plan", "one")
	l.started("agent", "1.1")
	l.current("a")
	after := l.plan("after", call("one", "own", ""))
	l.result(after)
	l.open("late")
	l.result(plan)
	l.result(agent)
	for run, want := range map[client.WorkflowRun]string{plan: `[["b"]]`, agent: `[["b"] ["a"]]`,
		after: `[["a"]]`, short: `[["b"]]`} {
		if got := fmt.Sprintf("%q", l.builds(run)); got != want {
			t.Errorf("the executions of %s were on the builds %s, want %s", run.GetID(), got, want)
		}
	}
	l.drained("b")
	b.Stop()
	value, err := l.Client.QueryWorkflow(l.ctx, "short", "", api.ConversationQuery, 0)
	if err != nil {
		t.Fatalf("the conversation of a run of the withdrawn build: %v", err)
	}
	var page api.Page
	if err := value.Get(&page); err != nil || len(page.Messages.Value) == 0 {
		t.Errorf("the conversation has %d messages, %v", len(page.Messages.Value), err)
	}
	l.checkLedger(map[string]int{"plan": 2, "agent": 2, "short": 1, "after": 1})
}

// A build that does not replay a run that ended cannot continue its conversation, although the old
// build still has workers: the query of the run goes to the current version. The next run fails
// with the remedy, and a rollback is one.
func TestRollout_StopsConversationsOfRunsThatDoNotReplay(t *testing.T) {
	l := newLab(t)
	l.worker("a")
	l.current("a")
	earlier := l.agent("talk", "wide", "")
	l.result(earlier)
	l.worker("b", changed+"=1")
	l.current("b")
	var r api.RunResult
	err := l.reply("talk").Get(l.ctx, &r)
	refused, ok := errors.AsType[*temporal.ApplicationError](err)
	if !ok || refused.Type() != string(api.RunInvalid) {
		t.Fatalf("the conversation was continued on another build: %+v, %v", r, err)
	}
	want := "nothing was run: $.conversation: the earlier runs cannot be read: query the run talk (" +
		earlier.GetRunID() + ") for its conversation: a worker of the current build could not replay " +
		"the run: [TMPRL1100] lookup failed for scheduledEventID to activityID: scheduleEventID: 6, " +
		"activityID: turn-1; if another build executed it, make that one current again, or deploy " +
		"a build that replays it: check with starter replay"
	if got := refused.Message(); got != want {
		t.Errorf("the run failed with %q, want %q", got, want)
	}
	l.current("a")
	if r := l.result(l.reply("talk")); r.Usage.Turns != 1 {
		t.Errorf("after the rollback the conversation ended as %+v", r)
	}
	l.checkLedger(map[string]int{"talk": 1})
}

// reply starts an agent that continues a conversation and only answers.
func (l *lab) reply(conversation string) client.WorkflowRun {
	l.t.Helper()
	script := api.Pack(api.Script{Steps: []api.ScriptStep{{Answer: "yes"}}})
	return l.start(conversation, api.AgentWorkflow, api.RunInput{Prompt: "And?", Continue: true,
		Agent: &api.Agent{Name: "tester", Model: api.Model{Provider: api.ProviderScripted,
			Script: &script}}})
}

// Runs of a worker without versioning move to the first version that becomes current.
func TestFirstVersion_TakesOverUnversionedRuns(t *testing.T) {
	l := newLab(t)
	l.worker("")
	run := l.plan("run", call("one", "wide", "late"), call("two", "own", "", "one"))
	l.started("run", "one")
	l.worker("a")
	l.current("a")
	l.open("late")
	l.result(run)
	if got := l.builds(run); len(got) != 1 || !slices.Equal(got[0], []string{"", "a"}) {
		t.Errorf("the run was executed by the builds %q, want none and then a", got)
	}
	l.checkLedger(map[string]int{"run": 2})
}
