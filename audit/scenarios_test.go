package audit_test

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/switchyard/switchyard/api"
)

// scenario is a run whose history is in testdata.
type scenario struct {
	name     string
	workflow string
	input    api.RunInput
	// below are the calls whose sub-agents' histories are in testdata too.
	below []string
	// stop, if set, ends the run from outside after a call is scheduled: cancel or terminate.
	stop string
}

const (
	cancelRun    = "cancel"
	terminateRun = "terminate"
)

func scenarios() []scenario {
	return append(
		append(peopleScenarios(), inlineScenarios()...),
		scenario{name: "agent", workflow: api.AgentWorkflow, input: agent(api.Limits{}, turns(
			[]api.ScriptCall{
				call("echo", `{"text":"a"}`),
				call("login", `{"user":"u","password":"secret"}`),
				call("nosuch", `{}`),
				call(
					"echo",
					`{"txt":1}`,
				),
				{Tool: "echo", ArgumentsText: `{"text":`},
				{Tool: "login", ArgumentsText: `{"password":"secret"`},
			},
			[]api.ScriptCall{
				call("broken", `{}`),
				call("flaky", `{}`),
				call("unserved", `{}`),
				call("slow", `{}`),
			},
		)...)},
		scenario{
			name:     "continued",
			workflow: api.AgentWorkflow,
			input:    agent(api.Limits{}, turns(many(20), many(20), many(3))...),
		},
		scenario{
			name:     "wall_time",
			workflow: api.AgentWorkflow,
			input: agent(api.Limits{WallTime: api.Duration(time.Second)}, turns(
				[]api.ScriptCall{
					call("hanging", `{}`),
					call("hanging", `{}`),
					call("echo", `{"text":"a"}`),
				},
			)...),
		},
		scenario{name: "compacted", workflow: api.AgentWorkflow, input: compacted()},
		scenario{
			name:     "turns",
			workflow: api.AgentWorkflow,
			input:    agent(api.Limits{Turns: 1}, turns(many(1), many(1))...),
		},
		scenario{
			name:     "calls",
			workflow: api.AgentWorkflow,
			input:    agent(api.Limits{Calls: 2}, turns(many(3), many(1))...),
		},
		scenario{
			name:     "model_failed",
			workflow: api.AgentWorkflow,
			input:    agent(api.Limits{}, api.ScriptStep{Calls: many(1)}),
		},
		scenario{
			name:     "invalid",
			workflow: api.AgentWorkflow,
			input: api.RunInput{Prompt: "go", Agent: &api.Agent{Name: "lost",
				Tools: []string{"nosuch"}, Model: scripted(api.ScriptStep{Answer: "never"})}},
		},
		scenario{
			name:     "cancelled",
			workflow: api.AgentWorkflow,
			stop:     cancelRun,
			input: agent(api.Limits{}, turns(
				[]api.ScriptCall{call("hanging", `{}`), call("hanging", `{}`)})...),
		},
		scenario{
			name:     "terminated",
			workflow: api.AgentWorkflow,
			stop:     terminateRun,
			input: agent(api.Limits{}, turns(
				[]api.ScriptCall{call("hanging", `{}`), call("hanging", `{}`)})...),
		},
		scenario{
			name:     "plan",
			workflow: api.PlanWorkflow,
			input: plan(
				planCall("a", "echo", `{"text":"x"}`),
				planCall("b", "echo", `{"text":"${a}!"}`),
			),
		},
		scenario{
			name:     "plan_failed",
			workflow: api.PlanWorkflow,
			input: plan(
				planCall("last", "echo", `{"text":"${first}"}`),
				planCall(
					"first",
					"broken",
					`{}`,
				),
				planCall("other", "echo", `{"text":"x"}`),
				planCall("late", "echo", `{"text":"${other}","more":1}`),
			),
		},
		scenario{
			name:     "plan_refused",
			workflow: api.PlanWorkflow,
			input: plan(
				planCall("a", "echo", `{"text":"x"}`),
				planCall("b", "echo", `{"text":7}`),
			),
		},
		scenario{
			name:     "plan_cancelled",
			workflow: api.PlanWorkflow,
			stop:     cancelRun,
			input: plan(
				planCall("a", "hanging", `{}`),
				planCall("b", "echo", `{"text":"${a}"}`),
			),
		},
		scenario{
			name:     "sub_agents",
			workflow: api.AgentWorkflow,
			below:    []string{"1.1", "1.1/1.1"},
			input: withAgents(turns(
				[]api.ScriptCall{
					call("wide", `{"task":"a"}`),
					call("echo", `{"text":"b"}`),
					call("failing", `{}`),
					call("late", `{}`),
					call("wide", `{"task":7}`),
					call("unfit", `{}`),
				},
			)...),
		},
		scenario{
			name:     "direct",
			workflow: api.CallWorkflow,
			input:    direct("login", `{"user":"u","password":"secret"}`),
		},
		scenario{
			name:     "direct_refused",
			workflow: api.CallWorkflow,
			input:    direct("login", `{"user":1,"password":"secret"}`),
		},
	)
}

// compacted returns a run whose conversation is summarized before its last turn.
func compacted() api.RunInput {
	long := []api.ScriptCall{call("echo", `{"text":"`+strings.Repeat("long ", 100)+`"}`)}
	in := agent(api.Limits{}, turns(long, long, long, many(1))...)
	in.Agent.Model.Window = 800
	return in
}

func call(tool, arguments string) api.ScriptCall {
	return api.ScriptCall{Tool: tool, Arguments: json.RawMessage(arguments)}
}

func many(n int) []api.ScriptCall {
	c := call("echo", `{"text":"again"}`)
	c.Repeat = n
	return []api.ScriptCall{c}
}

// turns returns steps with calls, followed by the answer.
func turns(calls ...[]api.ScriptCall) []api.ScriptStep {
	var steps []api.ScriptStep
	for _, c := range calls {
		steps = append(steps, api.ScriptStep{Calls: c})
	}
	return append(steps, api.ScriptStep{Answer: "done"})
}

func scripted(steps ...api.ScriptStep) api.Model {
	script := api.Pack(api.Script{Steps: steps, Summary: "so far"})
	return api.Model{
		Provider:    api.ProviderScripted,
		Name:        "scripted",
		Script:      &script,
		MaxAttempts: 1,
	}
}

func agent(limits api.Limits, steps ...api.ScriptStep) api.RunInput {
	return api.RunInput{
		Prompt: "go",
		Agent: &api.Agent{Name: "tester", Limits: limits, Model: scripted(steps...),
			Tools: []string{"echo", "login", "broken", "flaky", "hanging", "slow", "unserved"}},
	}
}

// withAgents returns an agent with agents among its tools.
func withAgents(steps ...api.ScriptStep) api.RunInput {
	in := agent(api.Limits{Calls: 40}, steps...)
	in.Agent.Tools = []string{"echo", "wide", "failing", "late", "unfit"}
	return in
}

func planCall(id, tool, arguments string) api.PlanCall {
	return api.PlanCall{ID: id, Tool: tool, Arguments: json.RawMessage(arguments)}
}

func plan(calls ...api.PlanCall) api.RunInput {
	p := api.Pack(api.Plan{Name: "steps", Calls: calls})
	return api.RunInput{Plan: &p, Conversation: "talk"}
}

func direct(tool, arguments string) api.RunInput {
	return api.RunInput{
		Call:   &api.Call{Tool: tool, Arguments: arguments},
		Caller: api.Caller{ID: "somebody"},
	}
}
