package workflows_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/switchyard/switchyard/api"
)

// The model reads that other calls were withheld. Every call counts, and there is nothing to undo.
func TestDryRun_CallsReadingToolsOnly(t *testing.T) {
	l := newLab(t)
	l.modelAnswers(api.Message{Calls: []api.Call{{Tool: "greet", Arguments: `{"name":"Ann"}`},
		{Tool: "store", Arguments: `{"text":"a"}`},
		{Tool: "store", Arguments: `{"txt":"a"}`}}}, api.Message{Text: "I would have stored it."})
	a := listedAgent()
	l.ExecuteWorkflow(api.AgentWorkflow, api.RunInput{Agent: a, Prompt: "Store it.", DryRun: true})
	if r := l.result(); r.Answer != "I would have stored it." || r.Usage.Calls != 3 ||
		r.Usage.Failed != 1 {
		t.Errorf("result: %+v", r)
	}
	expect(t, "executed", l.executed, []string{"1.1 greet"})
	m := l.conversation()
	if m[1].Role != api.RoleSystem || m[1].Text != api.DryRunNote || m[2].Text != "Store it." {
		t.Errorf("the conversation begins with %+v", m[:3])
	}
	if text := m[5].Text; !strings.Contains(text, `"would_call":"store"`) || !strings.Contains(text,
		"dry run: nothing was done") {
		t.Errorf("the model reads %s", text)
	}
	for _, s := range l.scheduled {
		if s.id == "1.1" && !s.call.Origin.DryRun {
			t.Error("the tool that reads cannot see that it is a dry run")
		}
	}
}

// A direct call can be a dry run. A call of a plan whose execution plan makes it one does not run,
// nor do calls that refer to its result.
func TestDryRun_OfSingleCalls(t *testing.T) {
	l := newLab(t)
	l.ExecuteWorkflow(api.CallWorkflow, api.RunInput{DryRun: true, Call: &api.Call{Tool: "store",
		Arguments: `{"text":"a"}`}})
	if r := l.result(); !strings.Contains(string(r.Output), `"would_call":"store"`) {
		t.Errorf("result: %s", r.Output)
	}
	expect(t, "stored", l.stored, nil)

	l = newLab(t)
	p := api.Pack(api.Plan{Calls: []api.PlanCall{
		{ID: "dry", Tool: "store",
			Arguments: json.RawMessage(
				`{"text":"a","execution_plan":{"intent":"try","dry_run":true}}`)},
		{ID: "uses", Tool: "store", Arguments: json.RawMessage(`{"text":"${dry.lane}"}`)},
		{ID: "follows", Tool: "store", Arguments: json.RawMessage(`{"text":"b"}`),
			DependsOn: []string{"dry"}},
	}})
	l.ExecuteWorkflow(api.PlanWorkflow, api.RunInput{Plan: &p})
	var result api.RunResult
	l.failure(api.RunCallsFailed, &result)
	if len(result.Failures) != 1 || result.Failures[0].ID != "uses" ||
		result.Failures[0].Error.Message != `it refers to the result of call "dry", which was a dry run` {
		t.Errorf("failures: %+v", result.Failures)
	}
	expect(t, "stored", l.stored, []string{"b"})
}

// Sub-agents of a dry run are dry runs at any depth. The execution plan of one call can make its
// sub-agent's run a dry run, and bounds that run.
func TestDryRun_IncludesSubAgents(t *testing.T) {
	deep := agentTool("deep", above("store", step(call("store", `{"text":"x"}`)),
		answer("deep down")))
	wide := agentTool("wide", above("deep", step(call("deep", `{}`)), answer("wide")))
	l, inputs := newTree(t, deep, wide)
	l.ExecuteWorkflow(api.AgentWorkflow, api.RunInput{Prompt: "Go.", DryRun: true,
		Agent: above("wide", step(call("wide", `{}`)), answer("done"))})
	if r := l.result(); r.Answer != "done" || r.Usage.Calls != 3 {
		t.Errorf("result: %+v", r)
	}
	if !inputs["1.1"].DryRun || !inputs["1.1/1.1"].DryRun {
		t.Errorf("the sub-agents were started with %+v", inputs)
	}
	expect(t, "stored", l.stored, nil)

	l, inputs = newTree(t, deep)
	l.runAgent(above("deep", step(call("deep",
		`{"execution_plan":{"intent":"see","dry_run":true,"limits":{"max_turns":7,"max_calls":3}}}`),
		call("deep", `{}`)), answer("done")), "Go.")
	if r := l.result(); r.Answer != "done" {
		t.Errorf("result: %+v", r)
	}
	if in := inputs["1.1"]; !in.DryRun || in.Agent.Limits.Turns != 7 || in.Agent.Limits.Calls != 3 {
		t.Errorf("the one with a plan was started with %+v", in)
	}
	if in := inputs["1.2"]; in.DryRun || in.Agent.Limits.Turns != 0 {
		t.Errorf("the one without was started with %+v", in)
	}
	expect(t, "stored", l.stored, []string{"x"})
}
