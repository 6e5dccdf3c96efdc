package e2e

import (
	"slices"
	"strings"
	"testing"

	"github.com/switchyard/switchyard/api"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/sdk/client"
)

// Whatever ends a run, its instances are closed exactly once, and not before. If the workflow ends
// the run, they are closed before it has ended. The server does not push cancellation; heartbeats
// report it.
func TestInstances_AreClosedAtTheEndOfTheRun(t *testing.T) {
	l := newLab(t, "--dynamic-config-value", "frontend.WorkerCommandsEnabled=false")
	l.worker()
	const tool = "counter"
	add := call(tool, `{"by":1}`)
	hostInstance := step(add, call(tool, `{"gate":"before"}`))
	for name, test := range map[string]struct {
		start func() client.WorkflowRun
		// end ends the run from outside; late is set if the workflow is not involved.
		end  func(id string) error
		late bool
	}{
		"answer": {start: func() client.WorkflowRun {
			return l.runAgent("answer",
				counting(tool, step(add), answer("done")))
		}},
		"limit": {start: func() client.WorkflowRun {
			a := counting(tool, step(add), step(add), step(add))
			a.Limits.Calls = 2
			return l.runAgent("limit", a)
		}},
		"wall time": {start: func() client.WorkflowRun {
			a := counting(tool, hostInstance, answer("never"))
			a.Limits.WallTime = api.Duration(2e9)
			return l.runAgent("wall time", a)
		}},
		"model": {start: func() client.WorkflowRun {
			return l.runAgent("model",
				counting(tool, step(add)))
		}},
		"plan": {start: func() client.WorkflowRun {
			return l.runPlan("plan", api.Plan{Calls: []api.PlanCall{{ID: "a", Tool: tool},
				{ID: "b", Tool: "broken"}}})
		}},
		"direct": {start: func() client.WorkflowRun {
			return l.runCall("direct", tool,
				`{"by":1}`)
		}},
		"cancel": {start: func() client.WorkflowRun {
			return l.runAgent("cancel",
				counting(tool, hostInstance))
		}, end: func(id string) error { return l.Client.CancelWorkflow(l.ctx, id, "") }},
		"terminate": {start: func() client.WorkflowRun {
			return l.runAgent("terminate",
				counting(tool, hostInstance))
		}, end: func(id string) error {
			return l.Client.TerminateWorkflow(l.ctx, id, "",
				"enough")
		}, late: true},
		"timeout": {start: func() client.WorkflowRun {
			a := counting(tool, hostInstance)
			run, err := l.Client.ExecuteWorkflow(l.ctx, client.StartWorkflowOptions{ID: "timeout",
				TaskQueue: api.DefaultTaskQueue, WorkflowExecutionTimeout: 3e9},
				api.AgentWorkflow, api.RunInput{Agent: a, Prompt: "Go."})
			if err != nil {
				t.Fatal(err)
			}
			return run
		}, late: true},
	} {
		run := test.start()
		id := run.GetRunID()
		if test.end != nil {
			l.awaitText(id, tool, wroteAsked, 1)
			if n := count(l.texts(id, tool), wroteClosed); n != 0 {
				t.Errorf("%s: the instance was closed before", name)
			}
			if err := test.end(run.GetID()); err != nil {
				t.Fatal(err)
			}
		}
		_ = run.Get(l.ctx, nil) // other tests check how it ends
		if test.late {
			l.awaitText(id, tool, wroteClosed, 1)
		}
		texts := l.texts(id, tool)
		if made, closed := count(texts, wroteMade), count(texts, wroteClosed); made != 1 ||
			closed != 1 || texts[len(texts)-1] != wroteClosed {
			t.Errorf("%s: %q", name, texts)
		}
	}
}

// It is the same instance from the first call to the last, and is closed once.
func TestInstance_SurvivesContinueAsNew(t *testing.T) {
	l := newLab(t, "--dynamic-config-value", "limit.historyCount.suggestContinueAsNew=25")
	l.worker()
	l.worker()
	const tool, turns = "counter", 12
	var steps []api.ScriptStep
	for range turns - 1 {
		steps = append(steps, step(call(tool, `{}`)))
	}
	run := l.runAgent("run", counting(tool, append(steps, step(add("n", tool, `{}`)),
		answer("${n}"))...))
	id := run.GetRunID()
	if r := l.result(run); r.Answer != "12" || r.Usage.Failed != 0 {
		t.Errorf("result: %+v", r)
	}
	if parts := len(l.histories("run", id)); parts < 3 {
		t.Errorf("the run has %d parts: it did not continue as new", parts)
	}
	texts := l.texts(id, tool)
	if len(texts) != turns+2 || texts[0] != wroteMade || texts[turns] != wroteAdded+" as 1" ||
		texts[turns+1] != wroteClosed {
		t.Errorf("instances: %q", texts)
	}
}

// If the worker of a continued instance is killed, it is rebuilt with everything that calls of all
// parts of the run did to it.
func TestInstance_IsRebuiltAfterContinueAsNew(t *testing.T) {
	l := newLab(t, "--dynamic-config-value", "limit.historyCount.suggestContinueAsNew=25")
	first, second := l.worker(), l.worker()
	const tool = "snapshot_counter"
	one := step(call(tool, `{}`))
	run := l.runAgent("run", counting("hold_read "+tool, one, one, one, one,
		step(call("hold_read", `{}`)), step(add("n", tool, `{"by":100}`)), answer("${n}")))
	id := run.GetRunID()
	l.await("for the call in between", func() bool { return len(l.written(id, "hold_read")) == 1 })
	if parts := len(l.histories("run", id)); parts < 2 {
		t.Fatalf("the run has %d parts: it has not continued as new", parts)
	}
	l.await("for the instance to be adopted", func() bool {
		described, err := l.Client.DescribeWorkflowExecution(l.ctx, "run", "")
		return err == nil && slices.ContainsFunc(described.GetPendingActivities(),
			func(a *workflowpb.PendingActivityInfo) bool {
				return a.GetActivityType().GetName() == api.HostInstanceActivity &&
					a.GetHeartbeatDetails() != nil
			})
	})
	l.killHost(id, tool, first, second)
	l.openGate()
	if r := l.result(run); r.Answer != "104" || r.Usage.Failed != 0 {
		t.Errorf("result: %+v", r)
	}
	want := slices.Concat([]string{wroteMade}, slices.Repeat([]string{wroteAdded + " as 1"}, 4),
		[]string{wroteMade, wroteRestored, wroteAdded + " as 2", wroteClosed})
	expect(t, "instances", l.texts(id, tool), want)
}

// The next call gets another instance: with its state if it can be rebuilt, else with a note.
func TestInstance_IsClosedWhenIdle(t *testing.T) {
	l := newLab(t)
	l.worker()
	const rebuilt, forgetful = "idle_counter", "forgetful_counter"
	run := l.runAgent("run", counting("hold_read idle_counter forgetful_counter",
		step(call(rebuilt, `{"by":1}`), call(forgetful, `{"by":1}`)),
		step(call("hold_read", `{}`)), step(call(rebuilt, `{"by":10}`), call(forgetful, `{"by":10}`)),
		answer("done")))
	id := run.GetRunID()
	l.awaitText(id, rebuilt, wroteClosed, 1)
	l.awaitText(id, forgetful, wroteClosed, 1)
	l.openGate()
	l.result(run)
	expect(t, "outcomes", l.outcomes(run, rebuilt), []string{"1.1 completed 1", "3.1 completed 11"})
	expect(t, "outcomes", l.outcomes(run, forgetful), []string{"1.2 completed 1",
		"3.2 completed 10; the last one was closed after 1s without a call: this is a new instance of forgetful_counter, without the state of the previous one"})
	expect(t, "instances", l.texts(id, rebuilt), []string{wroteMade, wroteAdded + " as 1", wroteClosed,
		wroteMade, wroteRestored, wroteAdded + " as 2", wroteClosed})
}

// Whatever becomes of the first call on the next instance, its record and the text for the model
// say that the state is gone: of one that fails, and of one whose worker is killed. A failed call
// leaves it to the next one to say so, too.
func TestInstance_SaysThatItsStateIsGoneHoweverTheNextCallEnds(t *testing.T) {
	l := newLab(t)
	first, second := l.worker(), l.worker()
	const tool = "drowsy_counter"
	const gone = "the last one was closed after 4s without a call: this is a new instance of " +
		tool + ", without the state of the previous one"
	// The meetings wait in the journal for the instance to be closed.
	run := l.runAgent("run", counting("meet "+tool, step(call(tool, `{"by":1}`)),
		step(call("meet", `{"lines":4}`)), step(call(tool, `{"by":-1}`)),
		step(call(tool, `{"by":10}`)), step(call(tool, `{"by":100}`)),
		step(call("meet", `{"lines":9}`)), step(call(tool, `{"gate":"before"}`)), answer("done")))
	id := run.GetRunID()
	l.awaitText(id, tool, wroteAsked, 1)
	l.killHost(id, tool, first, second)
	l.result(run)
	texts := map[string]string{}
	for _, m := range l.conversation(run) {
		texts[m.CallID] = m.Text
	}
	var got []string
	for _, r := range l.records(run) {
		if r.Tool != tool {
			continue
		}
		line := r.CallID + " " + string(r.Status)
		if r.Error != nil {
			line += " " + string(r.Error.Type)
		}
		if slices.Contains(r.Notes, gone) {
			line += " gone"
		}
		if strings.Contains(texts[r.CallID], gone) {
			line += " told"
		}
		got = append(got, line)
	}
	slices.Sort(got)
	expect(t, "calls", got, []string{"1.1 completed", "3.1 failed execution_error gone told",
		"4.1 completed gone told", "5.1 completed", "7.1 failed outcome_unknown gone told"})
}

// The factory's error is the answer to the waiting calls, and the next call tries again.
func TestInstance_ThatCannotBeCreatedFailsItsCalls(t *testing.T) {
	l := newLab(t)
	l.worker()
	const tool = "no_counter"
	run := l.runAgent("run", counting(tool, step(call(tool, `{}`)), step(add("n", tool, `{}`)),
		answer("${n}")))
	r := l.result(run)
	if want := "ERROR execution_error: the instance of no_counter could not be created: there is no such counter"; len(r.Answer) < len(want) ||
		r.Answer[:len(want)] != want {
		t.Errorf("answer: %q", r.Answer)
	}
	expect(t, "outcomes", l.outcomes(run, tool), []string{"1.1 failed execution_error",
		"2.1 failed execution_error"})
	expect(t, "instances", l.texts(run.GetRunID(), tool), []string{wroteMade, wroteMade})
}
