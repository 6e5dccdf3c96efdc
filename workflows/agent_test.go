package workflows_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/switchyard/switchyard/api"
)

func (l *lab) runAgent(a *api.Agent, prompt string) {
	l.ExecuteWorkflow(api.AgentWorkflow, api.RunInput{Agent: a, Prompt: prompt})
}

// One turn has calls with every kind of outcome, shared and exclusive ones. Each is executed once
// as an activity under its name and id, results are in the order of the calls, and the model
// answers.
func TestAgent_RunsATurn(t *testing.T) {
	l := newLab(t)
	l.runAgent(agent(
		step(
			call("greet", `{"name":"Ann"}`),
			call("store", `{"text":"a"}`),
			call("broken", `{}`),
			call("greeet", `{}`),
			call("greet", `{"name":1,"tmes":2}`),
			call("greet", `{"name":`),
			call("store", `{"text":"b"}`),
			call("retired", `{"value":1}`),
			call("flaky", `{}`),
			call("needy", `{}`),
		),
		step(call("echo", `{"value":[1,2]}`)),
		answer("done"),
	), "Go.")
	r := l.result()
	if want := (api.Usage{Turns: 3, Calls: 11, Failed: 6, InputTokens: r.Usage.InputTokens,
		OutputTokens: r.Usage.OutputTokens}); r.Usage != want || r.Usage.InputTokens == 0 {
		t.Errorf("usage: got %+v, want %+v", r.Usage, want)
	}
	if r.Outcome != api.OutcomeAnswered || r.Answer != "done" {
		t.Errorf("result: %+v", r)
	}
	executed := slices.Sorted(slices.Values(l.executed))
	expect(t, "executed", executed, []string{"1.1 greet", "1.2 store", "1.3 broken", "1.7 store",
		"1.9 flaky", "1.9 flaky", "2.1 echo"})
	expect(t, "stored", l.stored, []string{"a", "b"})

	want := []struct{ role, callID, text string }{
		{"system", "", "Test."}, {"user", "", "Go."}, {"assistant", "", ""},
		{"tool", "1.1", "hello Ann "},
		{"tool", "1.2", "1"},
		{"tool", "1.3", "ERROR execution_error: it is broken"},
		{"tool", "1.4", "Did you mean: greet"},
		{"tool", "1.5", "$.name: "},
		{"tool", "1.6", "ERROR validation_error"},
		{"tool", "1.7", "2"},
		{"tool", "1.8", "ERROR tool_not_active"},
		{"tool", "1.9", "now"},
		{"tool", "1.10", "ERROR precondition_failed"},
		{"assistant", "", ""}, {"tool", "2.1", "[1,2]"}, {"assistant", "", "done"},
	}
	got := l.conversation()
	if len(got) != len(want) {
		t.Fatalf("the conversation has %d messages, want %d: %+v", len(got), len(want), got)
	}
	for i, m := range got {
		if w := want[i]; string(m.Role) != w.role || m.CallID != w.callID ||
			!strings.Contains(m.Text, w.text) {
			t.Errorf("message %d: got %s %s %q, want %+v", i, m.Role, m.CallID, m.Text, w)
		}
		if m.Failed != strings.HasPrefix(m.Text, "ERROR ") {
			t.Errorf("message %d is marked failed=%v: %q", i, m.Failed, m.Text)
		}
	}
}

// A tool gets its validated arguments with defaults, the digest and the origin. A model step gets
// no conversation, only digests of the new messages.
func TestAgent_PassesSmallInputs(t *testing.T) {
	l := newLab(t)
	l.ExecuteWorkflow(api.AgentWorkflow, api.RunInput{
		Agent: agent(step(call("greet", `{"name":"Ann"}`), call("old", `{"value":7}`)),
			step(call("needy", `{}`)), answer("done")),
		Prompt:       "Go.",
		Conversation: "talk", Trace: "trace-1", Variables: map[string]any{"project": "apollo"},
	})
	l.result()
	var greet, needy api.Execution
	var steps []string
	for _, s := range l.scheduled {
		switch s.tool {
		case "greet":
			greet = s.call
		case "needy":
			needy = s.call
		case api.ModelActivity:
			steps = append(steps, fmt.Sprintf("%s turn=%d sent=%d new=%d", s.id, s.step.Turn,
				s.step.Seen, len(s.step.New)))
		}
	}
	expect(t, "model steps", steps, []string{"turn-1 turn=1 sent=2 new=0",
		"turn-2 turn=2 sent=2 new=3", "turn-3 turn=3 sent=5 new=2"})
	if string(greet.Arguments) != `{"name":"Ann","times":1}` || greet.Digest == "" {
		t.Errorf("greet got %s of the spec %q", greet.Arguments, greet.Digest)
	}
	o := needy.Origin
	if o.Conversation != "talk" || o.Trace != "trace-1" ||
		o.Caller.Type != api.CallerAgent || o.Caller.ID != "tester" ||
		o.Variables["project"] != "apollo" {
		t.Errorf("origin: %+v", o)
	}
	if len(l.queries) != 0 {
		t.Errorf("one process asked the run %v, though it produced every message itself", l.queries)
	}
	if got := l.conversation()[4].Text; !strings.Contains(got, "tool old is deprecated") {
		t.Errorf("a call of a deprecated tool is answered %q", got)
	}
	if got := l.conversation()[6].Text; got != `{"project":"apollo"}` {
		t.Errorf("a tool sees the variables %s", got)
	}
}

// parallel_first runs the shared calls of a lane before its exclusive ones; the default keeps the
// order. Results are in the order of the calls either way.
func TestAgent_OrdersCallsByStrategy(t *testing.T) {
	for order, want := range map[api.Order][]string{
		"":                     {"1.1 note", "1.2 greet", "1.3 note"},
		api.OrderParallelFirst: {"1.2 greet", "1.1 note", "1.3 note"},
	} {
		l := newLab(t)
		a := agent(step(call("note", `{"text":"x"}`), call("greet", `{"name":"a"}`),
			call("note", `{"text":"y"}`)), answer("done"))
		a.Order = order
		l.runAgent(a, "Go.")
		l.result()
		expect(t, "order "+string(order), l.executed, want)
		var answered []string
		for _, m := range l.conversation() {
			if m.CallID != "" {
				answered = append(answered, m.CallID)
			}
		}
		expect(t, "results", answered, []string{"1.1", "1.2", "1.3"})
	}
}

func TestAgent_ModeOfTheRunPrecedesTheAgents(t *testing.T) {
	lenient := step(call("greet", `{"name":"a","times":"2","more":1}`))
	for _, test := range []struct {
		run, agent api.Mode
		executed   []string
	}{
		{"", "", nil},
		{"", api.ModeLenient, []string{"1.1 greet"}},
		{api.ModeLenient, api.ModeStrict, []string{"1.1 greet"}},
		{api.ModeStrict, api.ModeLenient, nil},
	} {
		l := newLab(t)
		a := agent(lenient, answer("done"))
		a.Mode = test.agent
		l.ExecuteWorkflow(api.AgentWorkflow, api.RunInput{Agent: a, Prompt: "Go.", Mode: test.run})
		l.result()
		expect(t, fmt.Sprintf("run %q agent %q", test.run, test.agent), l.executed, test.executed)
	}
}

// A call of an unknown or inactive tool is refused with the tools that the agent may call, and no
// others.
func TestAgent_SuggestsItsOwnTools(t *testing.T) {
	for _, test := range []struct {
		tools []string
		call  string
		want  string
	}{
		{nil, "gret", `there is no tool "gret"; this run has no tools`},
		{[]string{"echo"}, "gret", `there is no tool "gret"; there are: echo`},
		{[]string{"retired"}, "retired", `tool "retired" is disabled`},
		{[]string{"retired", "echo"}, "retired", "Did you mean: echo?"},
	} {
		l := newLab(t)
		a := agent(step(call(test.call, `{}`)), answer("done"))
		a.Tools = test.tools
		l.runAgent(a, "Go.")
		l.result()
		if text := l.conversation()[3].Text; !strings.Contains(text, test.want) ||
			strings.Contains(text, "greet") {
			t.Errorf("an agent with %v that calls %s reads %q", test.tools, test.call, text)
		}
	}
}
