package e2e

import (
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit"
	"github.com/switchyard/switchyard/audit/history"
	"github.com/switchyard/switchyard/feature"
	"github.com/switchyard/switchyard/internal/test/histories"
	"go.temporal.io/sdk/client"
)

// replay replays the histories of a run's chain and of all its sub-agents.
func (l *lab) replay(id, runID string) {
	l.t.Helper()
	for i, h := range l.histories(id, runID) {
		if err := histories.Replay(feature.Workflows(), h); err != nil {
			l.t.Errorf("part %d of %s does not replay: %v", i+1, id, err)
		}
		if l.cacheless && cached(h) {
			l.t.Errorf("part %d of %s was in a worker's memory although the cache is off", i+1,
				id)
		}
		for _, event := range h.GetEvents() {
			started := event.GetChildWorkflowExecutionStartedEventAttributes()
			if child := started.GetWorkflowExecution(); child != nil {
				l.replay(child.GetWorkflowId(), child.GetRunId())
			}
		}
	}
}

// tree returns "path tool status error" for every record of a run and of its sub-agents.
func (l *lab) tree(run client.WorkflowRun) []string {
	l.t.Helper()
	var list []string
	for r, err := range audit.Tree(l.ctx, l.Client, run.GetID(), "") {
		if err != nil {
			l.t.Fatal(err)
		}
		text := r.Path + " " + r.Tool + " " + string(r.Status)
		if r.Error != nil {
			text += " " + string(r.Error.Type)
		}
		list = append(list, text)
	}
	return list
}

// Sub-agents run concurrently with other calls of their turn, at any depth, each in a separate run
// that can be read as any other. Their records and their traces are below the call that requested
// them.
func TestSubAgents_RunConcurrentlyAndNested(t *testing.T) {
	l := newLab(t)
	l.worker()
	run := l.runAgent("run", withTools(agent(
		step(named("w", call("writer", `{"about":"trees"}`)),
			named("e", call("editor", `{"about":"runs"}`)), call("append", `{"text":"top"}`)),
		answer("${w}; ${e}"),
	), "writer editor append"))
	r := l.result(run)
	if want := "wrote one and after one; edited wrote one and after one, and own"; r.Answer != want ||
		r.Usage.Calls != 9 || r.Usage.Turns != 2 {
		t.Errorf("result: %+v, want %q", r, want)
	}
	expect(t, "tree", l.tree(run), []string{
		"1.1 writer completed", "1.1/1.1 append completed", "1.1/2.1 append completed",
		"1.2 editor completed", "1.2/1.1 writer completed", "1.2/1.1/1.1 append completed",
		"1.2/1.1/2.1 append completed", "1.2/1.2 append completed",
		"1.3 append completed"})
	nested, err := audit.Describe(l.ctx, l.Client, "run/1.2/1.1", "")
	if err != nil {
		t.Fatal(err)
	}
	if nested.Prompt != "Write about editing." || nested.Name != "writer" ||
		nested.Parent.Depth != 2 || nested.Conversation != "run/1.2/1.1" {
		t.Errorf("the nested run: %+v, below %+v", nested, nested.Parent)
	}
	spans := map[string]api.Record{}
	for _, r := range l.records(run) {
		spans[r.CallID] = r
	}
	if first, second := spans["1.1"], spans["1.2"]; !first.Started.Before(second.Closed) ||
		!second.Started.Before(first.Closed) {
		t.Errorf("the sub-agents did not run at once: %v to %v, %v to %v", first.Started,
			first.Closed, second.Started, second.Closed)
	}
	const runs, calls, steps = 4, 9, 10
	l.traced(run, runs+calls+steps)
}

// After kill -9 of the worker during two sub-agents, the answer is that of an undisturbed run,
// every call has one record, and no completed call was executed again. The traces are complete.
func TestSubAgents_SurviveAKilledWorker(t *testing.T) {
	l := newLab(t)
	first := l.worker()
	clerks := func() *api.Agent {
		return withTools(agent(step(named("a", call("clerk", `{"task":"first"}`)),
			named("b", call("clerk", `{"task":"second"}`))), answer("${a} and ${b}")), "clerk")
	}
	undisturbed := l.result(l.runAgent("undisturbed", clerks()))
	before := len(l.entries())

	run := l.runAgent("disturbed", clerks())
	l.awaitEntries(before + 15)
	first.Kill()
	completed := l.completed(run)
	if len(completed) < 5 || len(completed) >= 40 {
		t.Fatalf("%d calls had completed when the worker was killed; that is not the middle",
			len(completed))
	}
	l.worker()
	if got := l.result(run); !reflect.DeepEqual(got, undisturbed) ||
		got.Answer != "from line 1 to line 20 and from line 1 to line 20" {
		t.Errorf("result: got %+v, want %+v", got, undisturbed)
	}
	if tree := l.tree(run); len(tree) != 42 || len(l.completed(run)) != 40 {
		t.Errorf("%d records, want 42 completed ones: %q", len(tree), tree)
	}
	const runs, calls, steps = 3, 42, 44
	l.traced(run, runs+calls+steps)
	executed := map[string]int{}
	for _, e := range l.entries()[before:] {
		executed[e.Run+" "+e.Call]++
	}
	for call := range completed {
		if executed[call] != 1 {
			t.Errorf("call %s had completed before the crash and was executed %d times", call,
				executed[call])
		}
	}
}

// completed returns the completed calls of functions in a run's tree, by run and call as the
// journal names them.
func (l *lab) completed(run client.WorkflowRun) map[string]bool {
	l.t.Helper()
	calls := map[string]bool{}
	for r, err := range audit.Tree(l.ctx, l.Client, run.GetID(), "") {
		if err != nil {
			l.t.Fatal(err)
		}
		if r.Status == api.CallCompleted && r.Child == nil {
			calls[r.Run+" "+r.CallID] = true
		}
	}
	return calls
}

// The calling run does not notice it.
func TestSubAgent_ContinuesAsNew(t *testing.T) {
	l := newLab(t, "--dynamic-config-value", "limit.historyCount.suggestContinueAsNew=40")
	l.worker()
	run := l.runAgent("run", withTools(agent(step(named("a", call("clerk", `{}`))), answer("${a}")),
		"clerk"))
	if r := l.result(run); r.Answer != "from line 1 to line 20" || r.Usage.Calls != 21 {
		t.Errorf("result: %+v", r)
	}
	below, err := audit.Describe(l.ctx, l.Client, "run/1.1", "")
	if err != nil || len(below.Parts) < 2 || below.Parent == nil {
		t.Errorf("the sub-agent's run has %d parts, %v", len(below.Parts), err)
	}
	if tree := l.tree(run); len(tree) != 21 || tree[20] != "1.1/20.1 append completed" {
		t.Errorf("tree: %q", tree)
	}
}

// The rest of a run's budget bounds all its sub-agents. They end with what they know, which is
// their answer.
func TestSubAgents_ShareTheBudget(t *testing.T) {
	for name, test := range map[string]struct {
		limits api.Limits
		within func(api.Usage) bool
	}{
		"calls": {api.Limits{Calls: 14}, func(u api.Usage) bool { return u.Calls == 14 }},
		"tokens": {api.Limits{Tokens: 600}, func(u api.Usage) bool {
			used := u.InputTokens + u.OutputTokens
			return used >= 600 && used < 1000
		}},
		"cost": {api.Limits{Cost: 0.6}, func(u api.Usage) bool {
			return u.Cost >= 0.4 &&
				u.Cost < 1
		}},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t)
			l.worker()
			a := withTools(agent(step(named("a", call("clerk", `{"task":"first"}`)),
				named("b", call("clerk", `{"task":"second"}`))), answer("${a} and ${b}")), "clerk")
			a.Limits = test.limits
			run := l.runAgent("run", a)
			r := l.result(run)
			if !test.within(r.Usage) {
				t.Errorf("result: %+v", r)
			}
			for _, record := range l.records(run) {
				want := "the agent reached its limit of " + name
				if record.Status != api.CallCompleted ||
					string(record.Result.Output) != `"not all of it"` ||
					!strings.Contains(fmt.Sprint(record.Notes), want) {
					t.Errorf("call %s ended as %s with %s, notes %q", record.CallID, record.Status,
						record.Result.Output, record.Notes)
				}
			}
		})
	}
}

// stepsBelow returns the usage of each model step of every agent in a run's tree.
func (l *lab) stepsBelow(id string) (steps map[string][]api.Usage) {
	l.t.Helper()
	steps = map[string][]api.Usage{}
	for e, err := range audit.Events(l.ctx, l.Client, id, "") {
		switch {
		case err != nil:
			l.t.Fatal(err)
		case e.Step != nil:
			steps[id] = append(steps[id], e.Step.Usage)
		case e.Child != nil:
			maps.Copy(steps, l.stepsBelow(e.Child.WorkflowID))
		}
	}
	return steps
}

// Twenty concurrent sub-agents, some with their own sub-agents, exceed a shared budget by at most
// one step each, also if their worker is killed. The number of calls is never exceeded, and the
// run's usage is the sum of all steps and calls.
func TestManySubAgents_KeepTheBudget(t *testing.T) {
	tokens := func(u api.Usage) float64 { return float64(u.InputTokens + u.OutputTokens) }
	for name, test := range map[string]struct {
		limits api.Limits
		limit  float64
		used   func(api.Usage) float64
	}{
		"calls": {api.Limits{Calls: 100}, 100,
			func(u api.Usage) float64 { return float64(u.Calls) }},
		"tokens": {api.Limits{Tokens: 12_000}, 12_000, tokens},
		"cost":   {api.Limits{Cost: 9}, 9, func(u api.Usage) float64 { return u.Cost }},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t)
			first := l.worker()
			clerks, editors := call("clerk", `{"task":"all"}`), call("editor", `{"about":"trees"}`)
			clerks.Repeat, editors.Repeat = 16, 4
			a := withTools(agent(step(clerks, editors), answer("done")), "clerk editor")
			a.Limits = test.limits
			run := l.runAgent("run", a)
			l.awaitEntries(30)
			first.Kill()
			l.worker()
			r := l.result(run)
			allowed, sum := test.limit, 0.0
			for id, steps := range l.stepsBelow("run") {
				for _, s := range steps {
					sum += test.used(s)
				}
				if id != "run" && name != "calls" {
					allowed += test.used(steps[len(steps)-1])
				}
			}
			if name == "calls" {
				sum = float64(len(l.tree(run)))
			}
			t.Logf("used %v of %v, allowed %v", test.used(r.Usage), test.limit, allowed)
			if used := test.used(r.Usage); used > allowed || used < test.limit*0.7 ||
				math.Abs(used-sum) > 1e-6 {
				t.Errorf("used %v, which in all steps and calls is %v; the limit is %v and %v is allowed",
					used, sum, test.limit, allowed)
			}
		})
	}
}

// A sub-agent that fails, violates its declared output, or takes too long affects only its call.
// The last one is cancelled with its calls.
func TestSubAgent_FailuresAreResultsOfTheirCall(t *testing.T) {
	l := newLab(t)
	l.worker()
	run := l.runAgent("run", withTools(agent(step(call("failing", `{}`), call("guesser", `{}`),
		call("hurried", `{}`), call("append", `{"text":"beside"}`)), answer("done")),
		"failing guesser hurried append"))
	if r := l.result(run); r.Answer != "done" || r.Usage.Calls != 7 || r.Usage.Failed != 4 {
		t.Errorf("result: %+v", r)
	}
	expect(t, "tree", l.tree(run), []string{
		"1.1 failing failed execution_error", "1.1/1.1 append completed",
		"1.2 guesser failed invalid_output",
		"1.3 hurried failed timeout", "1.3/1.1 append completed",
		"1.3/2.1 hold_read cancelled cancelled",
		"1.4 append completed"})
	for id, want := range map[string]history.RunStatus{"run/1.1": history.RunFailed,
		"run/1.2": history.RunCompleted, "run/1.3": history.RunCancelled} {
		if s, err := audit.Describe(l.ctx, l.Client, id, ""); err != nil || s.Status != want {
			t.Errorf("%s is %s, %v; want %s", id, s.Status, err, want)
		}
	}
}

// A run that is cancelled, or ended by the server, ends its sub-agents with their calls, and the
// records are complete.
func TestSubAgents_EndWithTheirRun(t *testing.T) {
	hosting := func() *api.Agent {
		return withTools(agent(step(call("holder", `{}`), call("append", `{"text":"beside"}`)),
			answer("never")), "holder append")
	}
	whole := []string{"1.1 holder failed outcome_unknown", "1.1/1.1 append completed",
		"1.1/2.1 hold_read cancelled cancelled", "1.2 append completed"}
	for name, stop := range map[string]func(l *lab, id string) error{
		"cancelled": func(l *lab, id string) error {
			return l.Client.CancelWorkflow(l.ctx, id,
				"")
		},
		"terminated": func(l *lab, id string) error {
			return l.Client.TerminateWorkflow(l.ctx, id,
				"", "enough")
		},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t)
			l.worker()
			run := l.runAgent("run", hosting())
			l.await("for the sub-agent to hold",
				func() bool { return l.executions()["2.1 hold_read"] == 1 })
			if err := stop(l, "run"); err != nil {
				t.Fatal(err)
			}
			_ = run.Get(l.ctx, nil)
			l.cancelled(l.Client.GetWorkflow(l.ctx, "run/1.1", ""))
			expect(t, "tree", l.tree(run), whole)
			s, err := audit.Describe(l.ctx, l.Client, "run", "")
			if err != nil || string(s.Status) != name || name == "cancelled" && s.Usage.Calls != 4 {
				t.Errorf("the run is %s and used %+v, %v", s.Status, s.Usage, err)
			}
		})
	}
}

// A run also pins the tools of its sub-agents: an edit while it runs changes neither the agent that
// it calls next nor what that agent calls, on a worker that never had the older ones.
func TestSubAgent_KeepsItsPinnedTools(t *testing.T) {
	l := newLab(t)
	first := l.worker()
	run := l.runAgent("run", withTools(agent(step(call("hold_read", `{}`)),
		step(named("w", call("writer", `{"about":"x"}`))), answer("${w}")), "hold_read writer"))
	l.awaitEntries(1)
	first.Kill()
	l.openGate()
	// A worker with other tools: none of these at all.
	l.workerIn(nil)
	if r := l.result(run); r.Answer != "wrote one and after one" {
		t.Errorf("result: %+v", r)
	}
	expect(t, "tree", l.tree(run), []string{"1.1 hold_read completed", "2.1 writer completed",
		"2.1/1.1 append completed", "2.1/2.1 append completed"})
	expect(t, "executions", slices.Sorted(maps.Keys(l.executions())), []string{"1.1 append",
		"1.1 hold_read", "2.1 append"})
}
