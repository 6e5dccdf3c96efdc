package workflows_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/toolspecs"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"
)

// agentTool is a tool that is an agent of the tool's name.
func agentTool(name string, a *api.Agent, change ...func(*toolspecs.Spec)) toolspecs.Spec {
	a.Name = name
	s := toolspecs.Spec{Name: name, Version: "1.0.0", Description: "An agent.",
		Parameters: []toolspecs.Parameter{{Name: "topic", Type: "string"},
			{Name: "detail", Type: "integer", Default: json.RawMessage("1")}},
		Entry: toolspecs.Entry{Type: toolspecs.KindAgent, Agent: a,
			Prompt: "About {{args.topic}}, {{args.detail}} deep."}}
	for _, c := range change {
		c(&s)
	}
	return s
}

// above is an agent that may call only these tools.
func above(tools string, steps ...api.ScriptStep) *api.Agent {
	a := agent(steps...)
	a.Tools = strings.Fields(tools)
	return a
}

// newTree makes an environment with these agents as tools, and notes what their runs are started
// with, by call path.
func newTree(t *testing.T, agents ...toolspecs.Spec) (*lab, map[string]api.RunInput) {
	t.Helper()
	l := newLabOf(t, 1, agents...)
	inputs := map[string]api.RunInput{}
	l.SetOnChildWorkflowStartedListener(func(info *workflow.Info, _ workflow.Context,
		args converter.EncodedValues) {
		var in api.RunInput
		if err := args.Get(&in); err != nil {
			t.Error(err)
		}
		if want := info.ParentWorkflowExecution.ID +
			"/"; !strings.HasPrefix(info.WorkflowExecution.ID, want) || in.Parent.WorkflowID+
			"/" != want {
			t.Errorf("the run of call %s is %s, below %s", in.Parent.Call,
				info.WorkflowExecution.ID, in.Parent.WorkflowID)
		}
		inputs[in.Parent.Call] = in
	})
	return l, inputs
}

// toldOf returns what the model was told of each call of the run's conversation.
func (l *lab) toldOf() []string {
	l.t.Helper()
	var list []string
	for _, m := range l.conversation() {
		if m.CallID != "" {
			list = append(list, m.CallID+" "+m.Text)
		}
	}
	return list
}

// TestSubAgents proves that the sub-agents of a turn run at once with other calls, each in a run of
// its own with its own prompt and its own count of calls, as deep as agents call agents; that what
// they are given is inherited, that their answers come back in the order of the calls, and that
// what they used counts as the run's own.
func TestSubAgents(t *testing.T) {
	deep := agentTool("deep", above("needy", step(call("needy", `{}`)), answer("deep down")))
	wide := agentTool("wide", above("greet deep", step(call("deep", `{"topic":"depth","detail":3}`),
		call("greet", `{"name":"w"}`)), answer("wide")))
	l, inputs := newTree(t, deep, wide)
	l.ExecuteWorkflow(api.AgentWorkflow, api.RunInput{Prompt: "Go.", Trace: "trace-1",
		Variables: map[string]any{"project": "apollo"}, Mode: api.ModeLenient,
		Agent: above("wide deep greet", step(call("wide", `{"topic":"breadth"}`),
			call("greet", `{"name":"r"}`), call("deep", `{"topic":"nothing","detail":"2"}`)),
			answer("done"))})
	r := l.result()
	expect(t, "told", l.toldOf(), []string{"1.1 wide", "1.2 hello r ", `1.3 deep down` + "\n" +
		`[note: $.detail: "2" was read as 2]`})
	expect(t, "executed", slices.Sorted(slices.Values(l.executed)), []string{"1.1/1.1/1.1 needy",
		"1.1/1.2 greet", "1.2 greet", "1.3/1.1 needy"})
	if r.Usage.Calls != 7 || r.Usage.Turns != 2 || r.Usage.Failed != 0 ||
		r.Usage.OutputTokens < 10 {
		t.Errorf("usage: %+v", r.Usage)
	}
	var got []string
	for _, path := range []string{"1.1", "1.1/1.1", "1.3"} {
		in := inputs[path]
		got = append(got, fmt.Sprintf("%s %s depth=%d by %s %q %s %v %s", path, in.Agent.Name,
			in.Parent.Depth, in.Caller.ID, in.Prompt, in.Trace, in.Variables, in.Mode))
	}
	expect(t, "runs", got, []string{
		`1.1 wide depth=1 by tester "About breadth, 1 deep." trace-1 map[project:apollo] lenient`,
		`1.1/1.1 deep depth=2 by wide "About depth, 3 deep." trace-1 map[project:apollo] lenient`,
		`1.3 deep depth=1 by tester "About nothing, 2 deep." trace-1 map[project:apollo] lenient`,
	})
	if len(l.queries) != 0 {
		t.Errorf("one process asked the runs %v, though it settled every call itself", l.queries)
	}
	for _, s := range l.scheduled {
		if o := s.call.Origin; s.tool == "needy" && (o.Caller.ID != "deep" ||
			o.Conversation != "" || o.Run == "") {
			t.Errorf("origin of a call of a sub-agent: %+v", o)
		}
	}
}

// TestSubAgentRuns proves that whatever becomes of a sub-agent's run is the result of the call that
// asked for it, that what it used is counted, and that the calls beside it go on.
func TestSubAgentRuns(t *testing.T) {
	limited := above("greet", step(call("greet", `{"name":"a"}`)), answer("never"))
	limited.Limits.Turns = 1
	number := func(s *toolspecs.Spec) { s.Output = &toolspecs.Parameter{Type: "integer"} }
	text := func(s *toolspecs.Spec) { s.Output = &toolspecs.Parameter{Type: "string"} }
	warn := func(s *toolspecs.Spec) { number(s); s.Execution.OnInvalidOutput = "warn" }
	short := func(s *toolspecs.Spec) { s.Execution.MaxResult = 4 }
	for name, test := range map[string]struct {
		tool  toolspecs.Spec
		told  string
		calls int
	}{
		"limit reached": {agentTool("sub", limited),
			"as far as I got\n[note: the agent reached its limit of turns; this is what it knew by then]",
			2},
		"model fails": {agentTool("sub",
			above("greet", step(call("greet", `{"name":"a"}`)))),
			"ERROR execution_error: the agent's run failed (model_failed): the model step of turn 2 failed: the script has 1 steps",
			2},
		"JSON": {agentTool("sub", above("", answer(" 42 ")), number), "42", 1},
		"fenced JSON": {agentTool("sub",
			above("", answer("It is\n```json\n42\n```\nindeed.")), number), "42", 1},
		"text that is a text": {agentTool("sub", above("", answer("42")), text), "42", 1},
		"no JSON": {agentTool("sub", above("", answer("about 42")), number),
			"ERROR invalid_output: the answer of sub does not have the declared form\n  $: ", 1},
		"warned of": {agentTool("sub", above("", answer("about 42")), warn),
			"about 42\n[note: invalid output: $: ", 1},
		"cut": {agentTool("sub", above("", answer("a long story")), short),
			"a lo\n[note: cut to 4 of 12 bytes", 1},
	} {
		t.Run(name, func(t *testing.T) {
			l, _ := newTree(t, test.tool)
			l.runAgent(above("sub greet", step(call("sub", `{"topic":"x"}`),
				call("greet", `{"name":"b"}`)), answer("done")), "Go.")
			r := l.result()
			told := l.toldOf()
			if !strings.HasPrefix(told[0], "1.1 "+test.told) || told[1] != "1.2 hello b " {
				t.Errorf("the model was told %q, want %q", told, test.told)
			}
			failed := 0
			if strings.HasPrefix(test.told, "ERROR") {
				failed = 1
			}
			if r.Answer != "done" || r.Usage.Calls != test.calls+1 || r.Usage.Failed != failed ||
				r.Usage.InputTokens == 0 {
				t.Errorf("result: %+v", r)
			}
		})
	}
}

// TestSubAgentPrompts proves what an agent is asked where its tool has no template, where it
// declares its output, and that nothing runs where there would be nothing to ask.
func TestSubAgentPrompts(t *testing.T) {
	bare := func(parameters ...string) func(*toolspecs.Spec) {
		return func(s *toolspecs.Spec) {
			s.Entry.Prompt, s.Parameters = "", nil
			for _, p := range parameters {
				s.Parameters = append(s.Parameters, toolspecs.Parameter{Name: p, Type: "string"})
			}
		}
	}
	for name, test := range map[string]struct {
		change    func(*toolspecs.Spec)
		arguments string
		want      string
	}{
		"prompt":        {bare("a", "task", "prompt"), `{"task":"t","prompt":"p","a":"x"}`, "p"},
		"task":          {bare("a", "task"), `{"task":"t","a":"x"}`, "t"},
		"all arguments": {bare("a", "b"), `{"b":"t","a":"<x>"}`, `{"a":"<x>","b":"t"}`},
		"with output": {func(s *toolspecs.Spec) {
			bare("task")(
				s)
			s.Output = &toolspecs.Parameter{Type: "integer"}
		}, `{"task":"t"}`,
			"t\n\nAnswer with nothing but one JSON value that fits this JSON Schema:\n{\"type\":\"integer\"}"},
		"nothing":  {bare("task"), `{"task":" "}`, ""},
		"too long": {bare("task"), `{"task":"` + strings.Repeat("x", 300<<10) + `"}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			l, inputs := newTree(t, agentTool("sub", above("", answer("42")), test.change))
			l.runAgent(above("sub", step(call("sub", test.arguments)), answer("done")), "Go.")
			l.result()
			if in, ran := inputs["1.1"]; in.Prompt != test.want || ran != (test.want != "") {
				t.Errorf("asked %q, want %q", in.Prompt, test.want)
			}
			if told := l.toldOf()[0]; test.want == "" && !strings.HasPrefix(told,
				"1.1 ERROR validation_error: ") {
				t.Errorf("told %q", told)
			}
		})
	}
}

// TestManyPrompts proves that calls whose prompts are too long for one record are admitted in
// several.
func TestManyPrompts(t *testing.T) {
	l, inputs := newTree(t, agentTool("sub", above("", answer("ok")),
		func(s *toolspecs.Spec) { s.Entry.Prompt = strings.Repeat("long ", 20<<10) }))
	many := call("sub", `{}`)
	many.Repeat = 12
	l.runAgent(above("sub", step(many), answer("done")), "Go.")
	if r := l.result(); len(inputs) != 12 || r.Usage.Failed != 0 {
		t.Errorf("%d sub-agents ran: %+v, %.300q", len(inputs), r, l.toldOf())
	}
}

// TestSubAgentTimeout proves that a sub-agent that takes too long is cancelled with what it runs,
// and that the call ends as timed out.
func TestSubAgentTimeout(t *testing.T) {
	sub := agentTool("sub", above("hang", step(call("hang", `{}`)), answer("never")),
		func(s *toolspecs.Spec) { s.Execution.Timeout = api.Duration(time.Second) })
	l, _ := newTree(t, sub)
	l.runAgent(above("sub greet", step(call("sub", `{}`), call("greet", `{"name":"b"}`)),
		answer("done")), "Go.")
	r := l.result()
	if told := l.toldOf(); !strings.HasPrefix(told[0],
		"1.1 ERROR timeout: sub did not answer within 1s and was cancelled") ||
		told[1] != "1.2 hello b " {
		t.Errorf("told %q", told)
	}
	expect(t, "executed", slices.Sorted(slices.Values(l.executed)), []string{"1.1/1.1 hang",
		"1.2 greet"})
	if r.Usage.Calls != 3 || r.Usage.Failed != 2 {
		t.Errorf("usage: %+v", r.Usage)
	}
}

// TestSubAgentCancelled proves that cancelling a run cancels the sub-agents below it, and that the
// wall time does so too and leaves the calls answered.
func TestSubAgentCancelled(t *testing.T) {
	hanging := func() toolspecs.Spec {
		return agentTool("sub", above("hang", step(call("hang", `{}`)), answer("never")))
	}
	t.Run("run", func(t *testing.T) {
		l, _ := newTree(t, hanging())
		l.hangs = l.CancelWorkflow
		l.runAgent(above("sub", step(call("sub", `{}`)), answer("never")), "Go.")
		l.cancelled()
		expect(t, "executed", l.executed, []string{"1.1/1.1 hang"})
	})
	t.Run("wall time", func(t *testing.T) {
		l, inputs := newTree(t, hanging())
		a := above("sub", step(call("sub", `{}`)), answer("never"))
		a.Limits.WallTime = api.Duration(time.Second)
		l.runAgent(a, "Go.")
		if r := l.result(); r.Limit != "wall_time" || r.Usage.Calls != 2 {
			t.Errorf("result: %+v", r)
		}
		// The sub-agent's own wall time may end it a moment earlier.
		if told := l.toldOf()[0]; !strings.HasPrefix(told, "1.1 ERROR cancelled") &&
			!strings.Contains(told, "its limit of wall_time") {
			t.Errorf("told %q", told)
		}
		if left := inputs["1.1"].Agent.Limits.WallTime; left <= 0 || left > a.Limits.WallTime {
			t.Errorf("the sub-agent had %s", left)
		}
	})
}

// TestSubAgentsOfPlans proves that plans and direct calls may call agents, with results that others
// refer to, and that a failed one fails the run.
func TestSubAgentsOfPlans(t *testing.T) {
	sub := func(steps ...api.ScriptStep) toolspecs.Spec {
		return agentTool("sub", above("greet", steps...), func(s *toolspecs.Spec) {
			s.Output = &toolspecs.Parameter{Type: "object",
				Validation: &toolspecs.Validation{Properties: []toolspecs.Parameter{{Name: "n",
					Type: "integer"}}}}
		})
	}
	t.Run("plan", func(t *testing.T) {
		l, _ := newTree(t, sub(step(call("greet", `{"name":"a"}`)), answer(`{"n":3}`)))
		l.runPlan(`calls: [{id: research, tool: sub, arguments: {topic: x}}, {id: use, tool: greet, arguments: {name: b, times: "${research.n}"}}]`)
		if r := l.result(); string(r.Output) != `{"use":"hello b hello b hello b "}` ||
			r.Usage.Calls != 3 || r.Usage.InputTokens == 0 {
			t.Errorf("result: %+v", r)
		}
		expect(t, "executed", l.executed, []string{"research/1.1 greet", "use greet"})
	})
	t.Run("call", func(t *testing.T) {
		l, _ := newTree(t, sub(answer(`{"n":3}`)))
		l.ExecuteWorkflow(api.CallWorkflow,
			api.RunInput{Call: &api.Call{Tool: "sub", Arguments: `{"topic":"x"}`}})
		if r := l.result(); string(r.Output) != `{"n":3}` {
			t.Errorf("result: %+v", r)
		}
	})
	t.Run("failing call", func(t *testing.T) {
		l, _ := newTree(t, sub(answer(`{"n":"three"}`)))
		l.ExecuteWorkflow(api.CallWorkflow,
			api.RunInput{Call: &api.Call{Tool: "sub", Arguments: `{"topic":"x"}`}})
		if app := l.failure(api.RunCallsFailed, nil); !strings.Contains(app.Message(),
			"invalid_output") {
			t.Errorf("message: %s", app.Message())
		}
	})
}

// TestSubAgentLacksTools proves that what a sub-agent lacks is found before the run above it does
// anything, however deep.
func TestSubAgentLacksTools(t *testing.T) {
	lacking := func() []toolspecs.Spec {
		lost := above("greeet", answer("x"))
		nobody := above("", answer("x"))
		nobody.Model.Provider = "nobody"
		return []toolspecs.Spec{agentTool("sub", above("greet lost", answer("x"))),
			agentTool("lost", lost), agentTool("nobody", nobody)}
	}
	packed := api.Pack(api.Plan{Calls: []api.PlanCall{{ID: "a", Tool: "greet"},
		{ID: "b", Tool: "sub"}, {ID: "c", Tool: "sub"}}})
	for name, test := range map[string]struct {
		workflow string
		input    api.RunInput
		problems []string
	}{
		"agent": {api.AgentWorkflow, api.RunInput{Agent: above("greet sub nobody", answer("x"))},
			[]string{`$.tools[1]: the agent lost of tool "lost": no worker's catalog has a tool "greeet"; did you mean greet`,
				`$.tools[2]: the agent nobody of tool "nobody": no worker reaches models of the provider "nobody"`}},
		"plan": {api.PlanWorkflow, api.RunInput{Plan: &packed},
			[]string{`$.calls[1].tool: the agent lost`, `$.calls[2].tool: the agent lost`}},
		"call": {api.CallWorkflow, api.RunInput{Call: &api.Call{Tool: "lost"}},
			[]string{`$.call.tool: the agent lost`}},
	} {
		t.Run(name, func(t *testing.T) {
			l, inputs := newTree(t, lacking()...)
			l.ExecuteWorkflow(test.workflow, test.input)
			var problems []api.Problem
			l.failure(api.RunInvalid, &problems)
			if len(problems) != len(test.problems) || len(inputs) > 0 {
				t.Fatalf("problems: %v", problems)
			}
			for i, p := range problems {
				if !strings.HasPrefix(p.String(), test.problems[i]) {
					t.Errorf("problem %q, want %q", p, test.problems[i])
				}
			}
		})
	}
}

// TestSubAgentRefuses proves that a sub-agent whose model declines fails its call with the model's
// words, and that the step is counted.
func TestSubAgentRefuses(t *testing.T) {
	declining := toldAgent()
	declining.Tools = nil
	l, _ := newTree(t, agentTool("sub", declining))
	l.answers = append(l.answers, func() (api.ModelResponse, error) {
		return api.ModelResponse{Message: api.Message{Text: "I would rather not."},
			Stop: api.StopRefusal, Usage: api.Usage{InputTokens: 7}}, nil
	})
	l.runAgent(above("sub", step(call("sub", `{}`)), answer("done")), "Go.")
	r := l.result()
	if told := l.toldOf()[0]; !strings.HasPrefix(told,
		"1.1 ERROR execution_error: the agent's run failed (model_refused): the model declined: I would rather not.") {
		t.Errorf("told %q", told)
	}
	if r.Usage.Turns != 2 || r.Usage.Cost != 7 {
		t.Errorf("usage: %+v", r.Usage)
	}
}

// TestSubAgentTooLarge proves that a sub-agent whose input would not fit into history is not
// started, and that its call says so.
func TestSubAgentTooLarge(t *testing.T) {
	l, inputs := newTree(t, agentTool("sub", above("", answer("never"))))
	l.ExecuteWorkflow(api.AgentWorkflow, api.RunInput{Agent: above("sub", step(call("sub", `{}`)),
		answer("done")), Prompt: "Go.",
		Variables: map[string]any{"large": strings.Repeat("x", api.MaxPayload)}})
	l.result()
	if told := l.toldOf()[0]; !strings.HasPrefix(told,
		"1.1 ERROR precondition_failed: the input of call 1.1: 15") || len(inputs) > 0 {
		t.Errorf("told %q", told)
	}
}

// TestSubAgentAttributes proves that a sub-agent's run is searchable by what the server knows,
// which shows in the run above it, and by nothing else: an attribute that the server lacks would
// keep the run from starting.
func TestSubAgentAttributes(t *testing.T) {
	all := []string{api.AttributeKind, api.AttributeCaller, api.AttributeConversation,
		api.AttributeAgent}
	whole := "SwitchyardAgent=sub SwitchyardCaller=%s SwitchyardConversation=default-test-workflow-id/%s SwitchyardKind=agent"
	for name, test := range map[string]struct {
		known []string
		plan  bool
		want  string
	}{
		"all":             {all, false, fmt.Sprintf(whole, "tester", "1.1")},
		"all but agent's": {all[:3], true, fmt.Sprintf(whole, "team", "a")},
		"some":            {all[1:2], false, "SwitchyardCaller=tester"},
		"none":            {nil, false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLabOf(t, 1, agentTool("sub", above("", answer("ok"))))
			var updates []temporal.SearchAttributeUpdate
			for _, attribute := range test.known {
				updates = append(updates,
					temporal.NewSearchAttributeKeyKeyword(attribute).ValueSet("x"))
			}
			if err := l.SetTypedSearchAttributesOnStart(temporal.NewSearchAttributes(
				updates...)); err != nil {
				t.Fatal(err)
			}
			var got []string
			l.SetOnChildWorkflowStartedListener(func(_ *workflow.Info, ctx workflow.Context,
				_ converter.EncodedValues) {
				for key, value := range workflow.GetTypedSearchAttributes(ctx).GetUntypedValues() {
					got = append(got, fmt.Sprint(key.GetName(), "=", value))
				}
			})
			if test.plan {
				l.runPlan(`{name: team, calls: [{id: a, tool: sub}]}`)
			} else {
				l.runAgent(above("sub", step(call("sub", `{}`)), answer("done")), "Go.")
			}
			l.result()
			slices.Sort(got)
			if text := strings.Join(got, " "); text != test.want {
				t.Errorf("got %q, want %q", text, test.want)
			}
		})
	}
}
