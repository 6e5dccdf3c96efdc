package e2e

import (
	"slices"
	"testing"

	"github.com/switchyard/switchyard/api"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/sdk/client"
)

// TestInstancesAreClosed proves that whatever ends a run, its instances are closed, each exactly
// once, and none before. Where the workflow itself ends the run, they are closed before it has
// ended. The server does not push cancellation, as most do not: heartbeats tell of it.
func TestInstancesAreClosed(t *testing.T) {
	l := newLab(t, "--dynamic-config-value", "frontend.WorkerCommandsEnabled=false")
	l.worker()
	const tool = "counter"
	add := call(tool, `{"by":1}`)
	hostInstance := step(add, call(tool, `{"gate":"before"}`))
	for name, test := range map[string]struct {
		start func() client.WorkflowRun
		// end ends the run from outside; late says that the workflow is not asked.
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
		_ = run.Get(l.ctx, nil) // how it ends is held elsewhere
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

// TestInstanceContinuesAsNew proves that a run that continues as new keeps its living instances: it
// is the same one from the first call to the last, and is closed once.
func TestInstanceContinuesAsNew(t *testing.T) {
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

// TestAdoptedHolderKilled proves that an instance that lived on over continue-as-new is rebuilt
// like any other where its worker is killed then: with everything that calls of all the run's parts
// did to it.
func TestAdoptedHolderKilled(t *testing.T) {
	l := newLab(t, "--dynamic-config-value", "limit.historyCount.suggestContinueAsNew=25")
	first, second := l.worker(), l.worker()
	const tool = "kept_counter"
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

// TestIdleInstance proves that an instance that nobody uses is closed, and that the next call gets
// another: with its state where it can be rebuilt, else with a note.
func TestIdleInstance(t *testing.T) {
	l := newLab(t)
	l.worker()
	const kept, forgetful = "idle_counter", "forgetful_counter"
	run := l.runAgent("run", counting("hold_read idle_counter forgetful_counter",
		step(call(kept, `{"by":1}`), call(forgetful, `{"by":1}`)),
		step(call("hold_read", `{}`)), step(call(kept, `{"by":10}`), call(forgetful, `{"by":10}`)),
		answer("done")))
	id := run.GetRunID()
	l.awaitText(id, kept, wroteClosed, 1)
	l.awaitText(id, forgetful, wroteClosed, 1)
	l.openGate()
	l.result(run)
	expect(t, "outcomes", l.outcomes(run, kept), []string{"1.1 completed 1", "3.1 completed 11"})
	expect(t, "outcomes", l.outcomes(run, forgetful), []string{"1.2 completed 1",
		"3.2 completed 10; the last one was closed after 1s without a call: this is a new instance of forgetful_counter, without the state of the previous one"})
	expect(t, "instances", l.texts(id, kept), []string{wroteMade, wroteAdded + " as 1", wroteClosed,
		wroteMade, wroteRestored, wroteAdded + " as 2", wroteClosed})
}

// TestInstanceThatCannotBeMade proves that a factory's error is the answer to the calls that wait
// for the instance, and that the next call tries again.
func TestInstanceThatCannotBeMade(t *testing.T) {
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
