package audit_test

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/switchyard/switchyard"
)

// scenario is a run whose history is in testdata.
type scenario struct {
	name     string
	workflow string
	input    switchyard.RunInput
	// below are the calls whose sub-agents' histories are in testdata too.
	below []string
	// stop, where set, ends the run from outside once a call is scheduled: cancel or terminate.
	stop string
}

const (
	cancelRun    = "cancel"
	terminateRun = "terminate"
)

func scenarios() []scenario {
	return append(append(peopleScenarios(), inlineScenarios()...),
		scenario{name: "agent", workflow: switchyard.AgentWorkflow, input: agent(switchyard.Limits{}, turns(
			[]switchyard.ScriptCall{call("echo", `{"text":"a"}`), call("login", `{"user":"u","password":"secret"}`), call("nosuch", `{}`),
				call("echo", `{"txt":1}`), {Tool: "echo", ArgumentsText: `{"text":`}, {Tool: "login", ArgumentsText: `{"password":"secret"`}},
			[]switchyard.ScriptCall{call("broken", `{}`), call("flaky", `{}`), call("unserved", `{}`), call("slow", `{}`)})...)},
		scenario{name: "continued", workflow: switchyard.AgentWorkflow, input: agent(switchyard.Limits{}, turns(many(20), many(20), many(3))...)},
		scenario{name: "wall_time", workflow: switchyard.AgentWorkflow, input: agent(switchyard.Limits{WallTime: switchyard.Duration(time.Second)}, turns(
			[]switchyard.ScriptCall{call("hanging", `{}`), call("hanging", `{}`), call("echo", `{"text":"a"}`)})...)},
		scenario{name: "compacted", workflow: switchyard.AgentWorkflow, input: compacted()},
		scenario{name: "turns", workflow: switchyard.AgentWorkflow, input: agent(switchyard.Limits{Turns: 1}, turns(many(1), many(1))...)},
		scenario{name: "calls", workflow: switchyard.AgentWorkflow, input: agent(switchyard.Limits{Calls: 2}, turns(many(3), many(1))...)},
		scenario{name: "model_failed", workflow: switchyard.AgentWorkflow, input: agent(switchyard.Limits{}, switchyard.ScriptStep{Calls: many(1)})},
		scenario{name: "invalid", workflow: switchyard.AgentWorkflow, input: switchyard.RunInput{Prompt: "go", Agent: &switchyard.Agent{Name: "lost",
			Tools: []string{"nosuch"}, Model: scripted(switchyard.ScriptStep{Answer: "never"})}}},
		scenario{name: "cancelled", workflow: switchyard.AgentWorkflow, stop: cancelRun, input: agent(switchyard.Limits{}, turns(
			[]switchyard.ScriptCall{call("hanging", `{}`), call("hanging", `{}`)})...)},
		scenario{name: "terminated", workflow: switchyard.AgentWorkflow, stop: terminateRun, input: agent(switchyard.Limits{}, turns(
			[]switchyard.ScriptCall{call("hanging", `{}`), call("hanging", `{}`)})...)},
		scenario{name: "plan", workflow: switchyard.PlanWorkflow, input: plan(planCall("a", "echo", `{"text":"x"}`), planCall("b", "echo", `{"text":"${a}!"}`))},
		scenario{name: "plan_failed", workflow: switchyard.PlanWorkflow, input: plan(planCall("last", "echo", `{"text":"${first}"}`),
			planCall("first", "broken", `{}`), planCall("other", "echo", `{"text":"x"}`), planCall("late", "echo", `{"text":"${other}","more":1}`))},
		scenario{name: "plan_refused", workflow: switchyard.PlanWorkflow, input: plan(planCall("a", "echo", `{"text":"x"}`), planCall("b", "echo", `{"text":7}`))},
		scenario{name: "plan_cancelled", workflow: switchyard.PlanWorkflow, stop: cancelRun, input: plan(planCall("a", "hanging", `{}`), planCall("b", "echo", `{"text":"${a}"}`))},
		scenario{name: "sub_agents", workflow: switchyard.AgentWorkflow, below: []string{"1.1", "1.1/1.1"}, input: withAgents(turns(
			[]switchyard.ScriptCall{call("wide", `{"task":"a"}`), call("echo", `{"text":"b"}`), call("failing", `{}`), call("late", `{}`),
				call("wide", `{"task":7}`), call("unfit", `{}`)})...)},
		scenario{name: "direct", workflow: switchyard.CallWorkflow, input: direct("login", `{"user":"u","password":"secret"}`)},
		scenario{name: "direct_refused", workflow: switchyard.CallWorkflow, input: direct("login", `{"user":1,"password":"secret"}`)},
	)
}

// compacted is a run whose conversation is summed up before its last turn.
func compacted() switchyard.RunInput {
	long := []switchyard.ScriptCall{call("echo", `{"text":"`+strings.Repeat("long ", 100)+`"}`)}
	in := agent(switchyard.Limits{}, turns(long, long, long, many(1))...)
	in.Agent.Model.Window = 800
	return in
}

func call(tool, arguments string) switchyard.ScriptCall {
	return switchyard.ScriptCall{Tool: tool, Arguments: json.RawMessage(arguments)}
}

func many(n int) []switchyard.ScriptCall {
	c := call("echo", `{"text":"again"}`)
	c.Repeat = n
	return []switchyard.ScriptCall{c}
}

// turns are steps that make calls, and then the answer.
func turns(calls ...[]switchyard.ScriptCall) []switchyard.ScriptStep {
	var steps []switchyard.ScriptStep
	for _, c := range calls {
		steps = append(steps, switchyard.ScriptStep{Calls: c})
	}
	return append(steps, switchyard.ScriptStep{Answer: "done"})
}

func scripted(steps ...switchyard.ScriptStep) switchyard.Model {
	script := switchyard.Pack(switchyard.Script{Steps: steps, Summary: "so far"})
	return switchyard.Model{Provider: switchyard.ProviderScripted, Name: "scripted", Script: &script, MaxAttempts: 1}
}

func agent(limits switchyard.Limits, steps ...switchyard.ScriptStep) switchyard.RunInput {
	return switchyard.RunInput{Prompt: "go", Agent: &switchyard.Agent{Name: "tester", Limits: limits, Model: scripted(steps...),
		Tools: []string{"echo", "login", "broken", "flaky", "hanging", "slow", "unserved"}}}
}

// withAgents is an agent that has agents among its tools.
func withAgents(steps ...switchyard.ScriptStep) switchyard.RunInput {
	in := agent(switchyard.Limits{Calls: 40}, steps...)
	in.Agent.Tools = []string{"echo", "wide", "failing", "late", "unfit"}
	return in
}

func planCall(id, tool, arguments string) switchyard.PlanCall {
	return switchyard.PlanCall{ID: id, Tool: tool, Arguments: json.RawMessage(arguments)}
}

func plan(calls ...switchyard.PlanCall) switchyard.RunInput {
	p := switchyard.Pack(switchyard.Plan{Name: "steps", Calls: calls})
	return switchyard.RunInput{Plan: &p, Conversation: "talk"}
}

func direct(tool, arguments string) switchyard.RunInput {
	return switchyard.RunInput{Call: &switchyard.Call{Tool: tool, Arguments: arguments}, Caller: switchyard.Caller{ID: "somebody"}}
}
