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

// agentTool returns a tool that is an agent of the tool's name.
func agentTool(name string, a *api.Agent, change ...func(*toolspecs.Spec)) toolspecs.Spec {
	a.Name = name
	s := toolspecs.Spec{Name: name, Version: "1.0.0", Description: "An agent.",
		Parameters: []toolspecs.Parameter{{Name: "topic", Type: "string"},
			{Name: "detail", Type: "integer", Default: json.RawMessage("1")}},
		Entry: toolspecs.Entry{Kind: toolspecs.AgentEntry{Agent: a,
			Prompt: "About {{args.topic}}, {{args.detail}} deep."}}}
	for _, c := range change {
		c(&s)
	}
	return s
}

// above returns an agent that may call only these tools.
func above(tools string, steps ...api.ScriptStep) *api.Agent {
	a := agent(steps...)
	a.Tools = strings.Fields(tools)
	return a
}

// newTree returns an environment with these agents as tools, and records the inputs of their runs,
// by call path.
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

// callResults returns what the model reads about each call of the run's conversation.
func (l *lab) callResults() []string {
	l.t.Helper()
	var list []string
	for _, m := range l.conversation() {
		if m.CallID != "" {
			list = append(list, m.CallID+" "+m.Text)
		}
	}
	return list
}

// Sub-agents of a turn run concurrently with other calls, each in a separate run with its own
// prompt and count of calls, at any depth. They inherit their context, their answers are in the
// order of the calls, and their usage counts for the run.
func TestSubAgents_RunConcurrently(t *testing.T) {
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
	expect(t, "results", l.callResults(), []string{"1.1 wide", "1.2 hello r ", `1.3 deep down` + "\n" +
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
		t.Errorf("one process asked the runs %v, although it finalized every call itself", l.queries)
	}
	for _, s := range l.scheduled {
		if o := s.call.Origin; s.tool == "needy" && (o.Caller.ID != "deep" ||
			o.Conversation != "" || o.Run == "") {
			t.Errorf("origin of a call of a sub-agent: %+v", o)
		}
	}
}

// Its usage counts, and the calls beside it continue.
func TestSubAgent_OutcomeIsTheResultOfItsCall(t *testing.T) {
	limited := above("greet", step(call("greet", `{"name":"a"}`)), answer("never"))
	limited.Limits.Turns = 1
	number := func(s *toolspecs.Spec) { s.Output = &toolspecs.Parameter{Type: "integer"} }
	text := func(s *toolspecs.Spec) { s.Output = &toolspecs.Parameter{Type: "string"} }
	warn := func(s *toolspecs.Spec) { number(s); s.Execution.OnInvalidOutput = "warn" }
	short := func(s *toolspecs.Spec) { s.Execution.MaxResult = 4 }
	for name, test := range map[string]struct {
		tool  toolspecs.Spec
		text  string
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
			texts := l.callResults()
			if !strings.HasPrefix(texts[0], "1.1 "+test.text) || texts[1] != "1.2 hello b " {
				t.Errorf("the model reads %q, want %q", texts, test.text)
			}
			failed := 0
			if strings.HasPrefix(test.text, "ERROR") {
				failed = 1
			}
			if r.Answer != "done" || r.Usage.Calls != test.calls+1 || r.Usage.Failed != failed ||
				r.Usage.InputTokens == 0 {
				t.Errorf("result: %+v", r)
			}
		})
	}
}

// The cases are agents without a template, and those with a declared output. Without a prompt
// nothing runs.
func TestSubAgent_GetsItsPrompt(t *testing.T) {
	bare := func(parameters ...string) func(*toolspecs.Spec) {
		return func(s *toolspecs.Spec) {
			s.Parameters = nil
			toolspecs.EditEntry(s, func(e *toolspecs.AgentEntry) { e.Prompt = "" })
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
			if texts := l.callResults()[0]; test.want == "" && !strings.HasPrefix(texts,
				"1.1 ERROR validation_error: ") {
				t.Errorf("got %q", texts)
			}
		})
	}
}

// They are too long for one record.
func TestPrompts_AreAdmittedInParts(t *testing.T) {
	l, inputs := newTree(t, agentTool("sub", above("", answer("ok")),
		func(s *toolspecs.Spec) {
			toolspecs.EditEntry(s, func(e *toolspecs.AgentEntry) {
				e.Prompt = strings.Repeat("long ", 20<<10)
			})
		}))
	many := call("sub", `{}`)
	many.Repeat = 12
	l.runAgent(above("sub", step(many), answer("done")), "Go.")
	if r := l.result(); len(inputs) != 12 || r.Usage.Failed != 0 {
		t.Errorf("%d sub-agents ran: %+v, %.300q", len(inputs), r, l.callResults())
	}
}

// The wall time has the same effect, and the calls are answered.
func TestSubAgent_IsCancelledWithItsRun(t *testing.T) {
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
		if texts := l.callResults()[0]; !strings.HasPrefix(texts, "1.1 ERROR outcome_unknown") &&
			!strings.Contains(texts, "its limit of wall_time") {
			t.Errorf("got %q", texts)
		}
		if left := inputs["1.1"].Agent.Limits.WallTime; left <= 0 || left > a.Limits.WallTime {
			t.Errorf("the sub-agent had %s", left)
		}
	})
}

// Other calls can refer to their results, and a failed one fails the run.
func TestSubAgents_OfPlansAndDirectCalls(t *testing.T) {
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
		if app := l.failure(api.RunCallsFailed, nil); app.Message() != "call 1.1 of sub: invalid_output: the answer of sub does not have the declared form\n  $.n: must be an integer, not the string \"three\"" {
			t.Errorf("message: %s", app.Message())
		}
	})
}

// Missing tools are found at any depth before the run does anything.
func TestSubAgent_WithMissingToolsPreventsTheStart(t *testing.T) {
	lacking := func() []toolspecs.Spec {
		lost := above("greeet", answer("x"))
		modelless := above("", answer("x"))
		modelless.Model.Provider = "unknown"
		return []toolspecs.Spec{agentTool("sub", above("greet lost", answer("x"))),
			agentTool("lost", lost), agentTool("modelless", modelless)}
	}
	packed := api.Pack(api.Plan{Calls: []api.PlanCall{{ID: "a", Tool: "greet"},
		{ID: "b", Tool: "sub"}, {ID: "c", Tool: "sub"}}})
	for name, test := range map[string]struct {
		workflow string
		input    api.RunInput
		problems []string
	}{
		"agent": {api.AgentWorkflow, api.RunInput{Agent: above("greet sub modelless", answer("x"))},
			[]string{`$.tools[1]: the agent lost of tool "lost": no worker's catalog has a tool "greeet"; did you mean greet`,
				`$.tools[2]: the agent modelless of tool "modelless": no worker reaches models of the provider "unknown"`}},
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

// The step counts.
func TestSubAgent_RefusalOfItsModelFailsItsCall(t *testing.T) {
	declining := listedAgent()
	declining.Tools = nil
	l, _ := newTree(t, agentTool("sub", declining))
	l.answers = append(l.answers, func() (api.ModelResponse, error) {
		return api.ModelResponse{Message: api.Message{Text: "I would rather not."},
			Stop: api.StopRefusal, Usage: api.Usage{InputTokens: 7}}, nil
	})
	l.runAgent(above("sub", step(call("sub", `{}`)), answer("done")), "Go.")
	r := l.result()
	if texts := l.callResults()[0]; !strings.HasPrefix(texts,
		"1.1 ERROR execution_error: the agent's run failed (model_refused): the model declined: I would rather not.") {
		t.Errorf("got %q", texts)
	}
	if r.Usage.Turns != 2 || r.Usage.Cost != 7 {
		t.Errorf("usage: %+v", r.Usage)
	}
}

// The error of the call says so.
func TestSubAgent_WithTooLargeInputDoesNotStart(t *testing.T) {
	l, inputs := newTree(t, agentTool("sub", above("", answer("never"))))
	l.ExecuteWorkflow(api.AgentWorkflow, api.RunInput{Agent: above("sub", step(call("sub", `{}`)),
		answer("done")), Prompt: "Go.",
		Variables: map[string]any{"large": strings.Repeat("x", api.MaxPayload)}})
	l.result()
	if texts := l.callResults()[0]; !strings.HasPrefix(texts,
		"1.1 ERROR precondition_failed: the input of call 1.1: 15") || len(inputs) > 0 {
		t.Errorf("got %q", texts)
	}
}

// The run above knows them by its own attributes. An attribute that the server lacks would prevent
// the start.
func TestSubAgent_SetsAttributesThatTheServerHas(t *testing.T) {
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
