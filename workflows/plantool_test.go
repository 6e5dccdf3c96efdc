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
	"github.com/switchyard/switchyard/toolspecs/plans"
)

// planTool returns a tool with the parameters who and times that is the plan in YAML.
func planTool(t *testing.T, name, plan string, change ...func(*toolspecs.Spec)) toolspecs.Spec {
	t.Helper()
	p, err := plans.Decode(name+".yaml", []byte(plan), nil)
	if err != nil {
		t.Fatal(err)
	}
	s := toolspecs.Spec{Name: name, Version: "1.0.0", Description: "A plan.",
		Parameters: []toolspecs.Parameter{{Name: "who", Type: "string"},
			{Name: "times", Type: "integer", Default: json.RawMessage("1")}},
		Entry: toolspecs.Entry{Kind: toolspecs.PlanEntry{Plan: p}}}
	for _, c := range change {
		c(&s)
	}
	return s
}

const greeting = `
calls:
  - {id: hello, tool: greet, arguments: {name: "{{args.who}}", times: "{{args.times}}"}}
  - {id: again, tool: greet, arguments: {name: "${hello}{{args.who}}"}}
output: {said: "${again}", to: "{{args.who}}"}`

// A call of a plan tool runs the plan with the call's arguments in a run of its own. Its output is
// the result, and its usage and context are those of the calling run.
func TestPlanTool_RunsThePlanWithItsArguments(t *testing.T) {
	l, inputs := newTree(t, planTool(t, "polite", greeting))
	l.ExecuteWorkflow(api.AgentWorkflow, api.RunInput{Prompt: "Go.", Trace: "trace-1",
		Variables: map[string]any{"project": "apollo"},
		Agent: above("polite", step(call("polite", `{"who":"${hello}","times":2}`)),
			answer("done"))})
	r := l.result()
	expect(t, "results", l.callResults(), []string{
		`1.1 {"said":"hello hello ${hello} hello ${hello} ${hello} ","to":"${hello}"}`})
	expect(t, "executed", slices.Sorted(slices.Values(l.executed)),
		[]string{"1.1/again greet", "1.1/hello greet"})
	if r.Usage.Calls != 3 || r.Usage.Failed != 0 {
		t.Errorf("usage: %+v", r.Usage)
	}
	in := inputs["1.1"]
	if in.Plan == nil || in.Plan.Value.Name != "polite" || in.Parent.Depth != 1 ||
		in.Trace != "trace-1" || in.Variables["project"] != "apollo" || in.Limits != nil {
		t.Errorf("input: %+v", in)
	}
}

func TestPlanTool_OfPlansDirectCallsAndPlanTools(t *testing.T) {
	outer := `calls: [{id: in, tool: polite, arguments: {who: "{{args.who}}"}}]
output: "${in.said}"`
	l, _ := newTree(t, planTool(t, "polite", greeting), planTool(t, "outer", outer))
	l.ExecuteWorkflow(api.CallWorkflow,
		api.RunInput{Call: &api.Call{Tool: "outer", Arguments: `{"who":"a"}`}})
	if r := l.result(); string(r.Output) != `"hello hello a a "` || r.Usage.Calls != 4 {
		t.Errorf("result: %+v, %s", r, r.Output)
	}
	expect(t, "executed", slices.Sorted(slices.Values(l.executed)),
		[]string{"1.1/in/again greet", "1.1/in/hello greet"})
}

// What a failed call of the plan was is in the error of the plan tool's call, and the calls beside
// it continue.
func TestPlanTool_FailsWithItsPlan(t *testing.T) {
	plan := `calls: [{id: a, tool: broken}, {id: b, tool: greet, arguments: {name: b}}]`
	l, _ := newTree(t, planTool(t, "bad", plan))
	l.runAgent(above("bad greet", step(call("bad", `{}`), call("greet", `{"name":"c"}`)),
		answer("done")), "Go.")
	r := l.result()
	texts := l.callResults()
	if want := "1.1 ERROR execution_error: the plan's run failed (calls_failed): call a of broken: "; !strings.HasPrefix(texts[0], want) || texts[1] != "1.2 hello c " {
		t.Errorf("the model reads %q, want %q", texts, want)
	}
	if r.Usage.Calls != 4 || r.Usage.Failed != 2 {
		t.Errorf("usage: %+v", r.Usage)
	}
}

func TestPlanTool_IsCancelledAtItsTimeout(t *testing.T) {
	l, _ := newTree(t, planTool(t, "slow", `calls: [{id: a, tool: hang}]`,
		func(s *toolspecs.Spec) { s.Execution.Timeout = api.Duration(time.Second) }))
	l.runAgent(above("slow", step(call("slow", `{}`)), answer("done")), "Go.")
	l.result()
	expect(t, "results", l.callResults(), []string{
		"1.1 ERROR timeout: slow did not answer within 1s and was cancelled\n" +
			"The tool did not answer in time and was stopped."})
}

// A call claims the calls of its plan. What the run has left after that is not exceeded by plans
// below, either.
func TestPlanTool_StaysWithinTheBudgetOfItsCaller(t *testing.T) {
	three := `calls: [{id: a, tool: greet, arguments: {name: a}},
  {id: b, tool: greet, arguments: {name: b}}, {id: c, tool: greet, arguments: {name: c}}]`
	for _, test := range []struct {
		calls int
		want  string
	}{
		{3, "1.1 ERROR budget_exceeded: the run may make 3 more calls, and this is one too many; the call claims 3 further calls\n" +
			"The run's budget does not allow this call; nothing ran."},
		{4, `1.1 {"a":"hello a ","b":"hello b ","c":"hello c "}`},
	} {
		t.Run(fmt.Sprint(test.calls), func(t *testing.T) {
			l, inputs := newTree(t, planTool(t, "three", three))
			a := above("three", step(call("three", `{}`)), answer("done"))
			a.Limits.Calls = test.calls
			l.runAgent(a, "Go.")
			l.result()
			if got := l.callResults()[0]; got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
			if in, ran := inputs["1.1"]; ran && in.Limits.Calls != 3 {
				t.Errorf("limits: %+v", in.Limits)
			}
		})
	}
}

// A completed plan leaves its undo calls to its caller; a failed one has undone its own.
func TestPlanTool_IsUndoneByItsCaller(t *testing.T) {
	plan := `calls: [{id: a, tool: book, arguments: {text: "{{args.who}}"}}]`
	l := newBookings(t, planTool(t, "order_all", plan))
	l.runPlan(`calls: [{id: one, tool: order_all, arguments: {who: x}},
  {id: two, tool: broken, depends_on: [one]}]`)
	l.failure(api.RunCallsFailed, nil)
	expect(t, "executed", l.executed, []string{"one/a book", "two broken",
		"one/a/undo-one/a unbook"})
}

func TestPlanTool_WithMissingToolsPreventsTheStart(t *testing.T) {
	l, _ := newTree(t, planTool(t, "lost", `calls: [{id: a, tool: greeet}]`))
	l.runAgent(above("lost", answer("x")), "Go.")
	var problems []api.Problem
	l.failure(api.RunInvalid, &problems)
	if len(problems) != 1 || problems[0].Path != "$.tools[0]" || problems[0].Message !=
		`the plan of tool "lost": no worker's catalog has a tool "greeet"; did you mean greet?` {
		t.Errorf("problems: %+v", problems)
	}
}
