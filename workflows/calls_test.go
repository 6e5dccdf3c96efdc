package workflows_test

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"testing"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/value/jsonvalue"
	"github.com/switchyard/switchyard/toolspecs/plans"
)

// plan decodes a plan as users write it.
func plan(t *testing.T, yaml string) *api.Packed[api.Plan] {
	t.Helper()
	p, err := plans.Decode("plan.yaml", []byte(yaml), nil)
	if err != nil {
		t.Fatal(err)
	}
	packed := api.Pack(*p)
	return &packed
}

func (l *lab) runPlan(yaml string) {
	l.t.Helper()
	l.ExecuteWorkflow(api.PlanWorkflow, api.RunInput{Plan: plan(l.t, yaml)})
}

// Calls use the results that they refer to, and the output template is filled. The order in the
// file does not matter.
func TestPlan_RunsCallsAfterWhatTheyNeed(t *testing.T) {
	l := newLab(t)
	l.runPlan(`
name: diamond
calls:
  - {id: end, tool: echo, arguments: {value: ["${left}", "${right.deep.1}", "$${left}"]}}
  - {id: right, tool: echo, arguments: {value: {deep: [1, "${top}"]}}}
  - {id: left, tool: echo, arguments: {value: "left of ${top}"}}
  - {id: top, tool: echo, arguments: {value: {a: 1}}}
output: {all: "${end}", first: "${end.0}"}
`)
	r := l.result()
	if want := `{"all":["left of {\"a\":1}",{"a":1},"${left}"],"first":"left of {\"a\":1}"}`; string(r.Output) != want {
		t.Errorf("output %s, want %s", r.Output, want)
	}
	if r.Outcome != api.OutcomeCompleted || r.Usage.Calls != 4 {
		t.Errorf("result: %+v", r)
	}
	if l.executed[0] != "top echo" || l.executed[3] != "end echo" || len(l.executed) != 4 {
		t.Errorf("executed %v", l.executed)
	}
	for _, s := range l.scheduled {
		if c := s.call.Origin.Caller; c.Type != api.CallerPlan || c.ID != "diamond" {
			t.Errorf("call %s has the caller %+v", s.id, s.call.Origin.Caller)
		}
	}
}

// A result of any JSON type reaches the next call unchanged, with all digits, alone and within
// text. The default output has the results that no other call needs.
func TestPlan_ReferencesKeepEveryType(t *testing.T) {
	for _, value := range []string{`null`, `true`, `0`, `-1.5e300`, `12345678901234567890123`,
		`"text <&> \"quoted\" é"`, `""`, `[]`, `{}`, `[1,{"a":[null]}]`} {
		t.Run(value, func(t *testing.T) {
			l := newLab(t)
			l.runPlan(fmt.Sprintf(`{"calls": [
				{"id": "a", "tool": "echo", "arguments": {"value": %s}},
				{"id": "b", "tool": "echo", "arguments": {"value": "${a}"}},
				{"id": "c", "tool": "echo", "arguments": {"value": "it is ${a}."}}]}`, value))
			inText, err := jsonvalue.Encode("it is " + jsonvalue.Plain([]byte(value)) + ".")
			if err != nil {
				t.Fatal(err)
			}
			if want := fmt.Sprintf(`{"b":%s,"c":%s}`, value,
				inText); jsonvalue.Plain(l.result().Output) != want {
				t.Errorf("output %s, want %s", l.result().Output, want)
			}
		})
	}
}

// All other calls run, and the failure of the run names each failed call.
func TestPlan_FailureStopsDependentCalls(t *testing.T) {
	l := newLab(t)
	l.runPlan(`
calls:
  - {id: bad, tool: broken}
  - {id: after, tool: echo, arguments: {value: "${bad}"}}
  - {id: later, tool: echo, arguments: {value: 1}, depends_on: [after]}
  - {id: good, tool: echo, arguments: {value: 1}}
  - {id: nowhere, tool: echo, arguments: {value: "${good.deep}"}}
  - {id: wrong, tool: greet, arguments: {name: "${good}"}}
  - {id: better, tool: flaky, depends_on: [good]}
`)
	var details api.RunResult
	app := l.failure(api.RunCallsFailed, &details)
	if app.Message() != "call bad of broken: execution_error: it is broken\n(and 4 more failed)" {
		t.Errorf("message: %s", app.Message())
	}
	var failures []string
	for _, f := range details.Failures {
		failures = append(failures, f.ID+" "+string(f.Error.Type))
	}
	expect(t, "failures", failures, []string{"bad execution_error", "after precondition_failed",
		"later precondition_failed",
		"nowhere precondition_failed", "wrong validation_error"})
	executed := slices.Sorted(slices.Values(l.executed))
	expect(t, "executed", executed, []string{"bad broken", "better flaky", "better flaky",
		"good echo"})
	if details.Outcome != api.OutcomeFailed || details.Usage.Calls != 7 ||
		details.Usage.Failed != 5 {
		t.Errorf("details: %+v", details)
	}
}

// All faults are reported at once: of the plan, of the catalog, and of arguments that are known
// from the start.
func TestPlan_InvalidRunsNothing(t *testing.T) {
	good := api.PlanCall{ID: "good", Tool: "store", Arguments: []byte(`{"text":"a"}`)}
	for name, test := range map[string]struct {
		calls []api.PlanCall
		paths []string
	}{
		"cycle": {[]api.PlanCall{good, {ID: "a", Tool: "echo", DependsOn: []string{"b"}},
			{ID: "b", Tool: "echo", DependsOn: []string{"a"}}},
			[]string{"$.calls[1].id"}},
		"dangling": {[]api.PlanCall{good, {ID: "a", Tool: "echo",
			Arguments: []byte(`{"value":"${c}"}`), DependsOn: []string{"d"}}},
			[]string{"$.calls[1].depends_on[0]", "$.calls[1].arguments.value"}},
		"tools": {[]api.PlanCall{good, {ID: "a", Tool: "ecko"}, {ID: "b", Tool: "ecko"},
			{ID: "c", Tool: "nosuch"}}, []string{"$.calls[1].tool", "$.calls[2].tool",
			"$.calls[3].tool"}},
		"arguments": {[]api.PlanCall{good, {ID: "a", Tool: "greet"}, {ID: "b", Tool: "retired",
			Arguments: []byte(`{}`)}}, []string{"$.calls.a", "$.calls.b"}},
		"empty": {nil, []string{"$.calls"}},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t)
			packed := api.Pack(api.Plan{Calls: test.calls})
			l.ExecuteWorkflow(api.PlanWorkflow, api.RunInput{Plan: &packed})
			var problems []api.Problem
			l.failure(api.RunInvalid, &problems)
			var paths []string
			for _, p := range problems {
				paths = append(paths, p.Path)
			}
			expect(t, "problems", paths, test.paths)
			expect(t, "executed", l.executed, nil)
		})
	}
	l := newLab(t)
	l.ExecuteWorkflow(api.PlanWorkflow, api.RunInput{})
	l.failure(api.RunInvalid, nil)
}

// Exclusive calls of a lane keep the plan's order.
func TestPlan_OrdersExclusiveCalls(t *testing.T) {
	l := newLab(t)
	l.runPlan(`
calls:
  - {id: a, tool: store, arguments: {text: a}}
  - {id: b, tool: store, arguments: {text: b}}
  - {id: e, tool: echo, arguments: {value: "${f}"}}
  - {id: c, tool: store, arguments: {text: "c ${a}"}}
  - {id: f, tool: flaky}
output: "${c}"
`)
	if r := l.result(); string(r.Output) != `3` {
		t.Errorf("output: %s", r.Output)
	}
	expect(t, "stored", l.stored, []string{"a", "b", "c 1"})
}

func TestPlan_FailsIfItsOutputIsMissing(t *testing.T) {
	l := newLab(t)
	l.runPlan(`{calls: [{id: a, tool: echo, arguments: {value: 1}}], output: "${a.b}"}`)
	if app := l.failure(api.RunCallsFailed, nil); app.Message() != `the plan's output: ${a.b}: the result has no "b"` {
		t.Errorf("message: %s", app.Message())
	}
}

func TestPlan_ModeOfTheRunPrecedesThePlans(t *testing.T) {
	for _, test := range []struct {
		run, plan api.Mode
		fine      bool
	}{{"", "", false}, {"", api.ModeLenient, true}, {api.ModeLenient, api.ModeStrict, true}} {
		l := newLab(t)
		p := plan(t, `{calls: [{id: a, tool: greet, arguments: {name: x, more: 1}}]}`)
		p.Value.Mode = test.plan
		l.ExecuteWorkflow(api.PlanWorkflow, api.RunInput{Plan: p, Mode: test.run})
		if fine := l.GetWorkflowError() == nil; fine != test.fine {
			t.Errorf("%+v: %v", test, l.GetWorkflowError())
		}
	}
}

func (l *lab) runCall(c *api.Call) {
	l.ExecuteWorkflow(api.CallWorkflow, api.RunInput{Call: c, Caller: api.Caller{ID: "someone"}})
}

// Policies read how the run's caller was authenticated and its claims. The inputs of tool calls do
// not have the claims.
func TestCaller_HasItsClaimsForPoliciesOnly(t *testing.T) {
	for _, tt := range []struct {
		group string
		calls int
	}{{"ops", 1}, {"dev", 0}} {
		l := newLab(t)
		l.rules = []api.PolicyRule{{Name: "ops-only", Then: api.PolicyDeny, Message: "ops only",
			When: "caller.auth != 'jwt' || !('ops' in caller.claims.groups)"}}
		l.ExecuteWorkflow(api.CallWorkflow, api.RunInput{
			Call: &api.Call{Tool: "greet", Arguments: `{"name":"Ann"}`},
			Caller: api.Caller{ID: "ada", Auth: api.AuthToken,
				Claims: map[string]any{"groups": []any{tt.group}}}})
		if len(l.scheduled) != tt.calls {
			t.Fatalf("%s made %d calls, want %d", tt.group, len(l.scheduled), tt.calls)
		}
		for _, s := range l.scheduled {
			if got, want := s.call.Origin.Caller, (api.Caller{Type: api.CallerDirect, ID: "ada",
				Auth: api.AuthToken}); !reflect.DeepEqual(got, want) {
				t.Errorf("the call has the caller %+v, want %+v", got, want)
			}
		}
	}
}

func TestDirectCall_ReturnsTheOutput(t *testing.T) {
	l := newLab(t)
	l.runCall(&api.Call{Tool: "greet", Arguments: `{"name":"Ann"}`})
	if r := l.result(); r.Outcome != api.OutcomeCompleted || string(r.Output) != `"hello Ann "` ||
		r.Usage.Calls != 1 {
		t.Errorf("result: %+v", r)
	}
	if o := l.scheduled[0].call.Origin; o.Caller.Type != api.CallerDirect ||
		o.Caller.ID != "someone" || l.scheduled[0].id != "1.1" {
		t.Errorf("call %s of %+v", l.scheduled[0].id, o)
	}
	named := newLab(t)
	named.runCall(&api.Call{ID: "mine", Tool: "flaky"})
	named.result()
	expect(t, "executed", named.executed, []string{"mine flaky", "mine flaky"})
}

// Calls of the run meet no policies and need no approval.
func TestDirectCall_CannotBeACallOfTheRun(t *testing.T) {
	for _, c := range []api.Call{{CallPurpose: api.CallPurpose{Purpose: api.PurposeUndo,
		TargetCallID: "1.1", TargetTool: "pay"}},
		{CallPurpose: api.CallPurpose{Purpose: api.PurposeVerify, TargetCallID: "1.1"}},
		{Plan: &api.ExecutionPlan{}}} {
		l := newGuardedLab(t)
		c.Tool, c.Arguments = "pay", `{"value":1}`
		l.runCall(&c)
		l.failure(api.RunInvalid, nil)
		expect(t, "executed", l.executed, nil)
	}
}

// Suggestions come from the whole catalog, and a refused call runs nothing.
func TestDirectCall_FailsWithTheErrorOfItsCall(t *testing.T) {
	for _, test := range []struct {
		tool, arguments string
		want            api.ErrorType
		says            string
		near            []string
		executed        int
	}{
		{"gret", `{}`, api.ErrToolNotFound, `call 1.1 of gret: tool_not_found: there is no tool "gret"`, []string{"greet"}, 0},
		{"greet", `{"times":0}`, api.ErrValidation, "call 1.1 of greet: validation_error: the arguments of greet do not fit\n  $.name: \"name\" is required (string)\n  $.times: 0 must be at least 1", nil, 0},
		{"greet", `{"name"`, api.ErrValidation, "call 1.1 of greet: validation_error: the arguments of greet do not fit\n  $: the arguments are not valid JSON: the text ends within a JSON value, at byte 7", nil, 0},
		{"retired", `{}`, api.ErrToolNotActive, `call 1.1 of retired: tool_not_active: tool "retired" is disabled`, []string{"broken", "echo", "flaky",
			"greet", "hang", "needy", "note", "old", "store"}, 0},
		{"broken", `{}`, api.ErrExecution, "call 1.1 of broken: execution_error: it is broken", nil, 1},
	} {
		t.Run(test.tool+test.arguments, func(t *testing.T) {
			l := newLab(t)
			l.runCall(&api.Call{Tool: test.tool, Arguments: test.arguments})
			var details api.RunResult
			app := l.failure(api.RunCallsFailed, &details)
			if app.Message() != test.says {
				t.Errorf("message: %s", app.Message())
			}
			if len(details.Failures) != 1 || details.Failures[0].Error.Type != test.want {
				t.Fatalf("details: %+v", details)
			}
			expect(t, "near names", details.Failures[0].Error.Near, test.near)
			if len(l.executed) != test.executed {
				t.Errorf("executed %v", l.executed)
			}
		})
	}
	l := newLab(t)
	l.runCall(nil)
	l.failure(api.RunInvalid, nil)
}

func TestDirectCall_EndsAsCancelled(t *testing.T) {
	l := newLab(t)
	l.cancelAt("hang")
	l.runCall(&api.Call{Tool: "hang"})
	l.cancelled()
}

// From the first call on that failed or was refused, tools can read that in their context.
func TestCalls_SeeThatAnEarlierOneFailed(t *testing.T) {
	for _, bad := range []api.Call{{Tool: "broken"}, {Tool: "store", Arguments: `{"txt":"a"}`}} {
		l := newLab(t)
		greet := api.Call{Tool: "greet", Arguments: `{"name":"Ann"}`}
		l.modelAnswers(api.Message{Calls: []api.Call{greet}}, api.Message{Calls: []api.Call{bad}},
			api.Message{Calls: []api.Call{greet}}, api.Message{Text: "Done."})
		l.ExecuteWorkflow(api.AgentWorkflow, api.RunInput{Agent: listedAgent(), Prompt: "Greet."})
		l.result()
		got := map[string]bool{}
		for _, s := range l.scheduled {
			if s.tool == "greet" {
				got[s.id] = s.call.HasErrors
			}
		}
		if want := map[string]bool{"1.1": false, "3.1": true}; !maps.Equal(got, want) {
			t.Errorf("after %s: got %v, want %v", bad.Tool, got, want)
		}
	}
}
