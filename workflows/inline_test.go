package workflows_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/callcontext"
	"github.com/switchyard/switchyard/toolspecs"
)

// inlineCatalog has tools of the lane inline, beside those of the catalog.
const inlineCatalog = `
name: in_echo
version: 1.0.0
description: Answers with what it gets.
input_schema: {type: object, properties: {value: {}}, required: [value], additionalProperties: false}
entry: {type: function, handler: echo}
execution: {effect: read, lane: inline, timeout: 5s}
---
name: in_greet
version: 1.0.0
description: Greets.
parameters:
  - {name: name, type: string, required: true}
  - {name: times, type: integer, default: 1}
entry: {type: function, handler: greet}
execution: {effect: read, lane: inline, timeout: 5s, max_result: 1048576}
---
name: in_flaky
version: 1.0.0
description: Fails at its first attempt.
entry: {type: function, handler: flaky}
execution: {effect: read, lane: inline, timeout: 5s, retry: {max_attempts: 3, initial_interval: 10m, max_interval: 1h}}
---
name: in_broken
version: 1.0.0
description: Fails.
entry: {type: function, handler: broken}
execution: {effect: read, lane: inline, timeout: 5s}
---
name: in_hang
version: 1.0.0
description: Runs until it is stopped.
entry: {type: function, handler: hang}
execution: {effect: read, lane: inline, timeout: 5s, retry: {max_attempts: 1}}
`

// newInlineLab is newLabOf with the tools of the lane inline.
func newInlineLab(t *testing.T, processes int) *lab {
	t.Helper()
	specs, err := toolspecs.Decode("inline.yaml", []byte(inlineCatalog), toolspecs.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return newLabOf(t, processes, specs...)
}

// inlineAgent returns an agent with the tools of the lane inline, whose model steps are on a lane.
func inlineAgent(lane string, steps ...api.ScriptStep) *api.Agent {
	a := agent(steps...)
	a.Model.Lane = lane
	a.Tools = []string{"in_echo", "in_greet", "in_flaky", "in_broken", "in_hang", "greet", "store"}
	return a
}

// They run beside other calls of their turn that are activities. The model gets the same answers,
// and an inline model step queries nothing.
func TestInlineCalls_AreNoActivities(t *testing.T) {
	steps := []api.ScriptStep{
		step(call("in_greet", `{"name":"Ann"}`), call("greet", `{"name":"Bob"}`),
			call("in_broken", `{}`), call("in_flaky", `{}`), call("in_echo", `{"value":`)),
		step(call("in_echo", `{"value":{"a":"<&>"}}`)), answer("done"),
	}
	for _, test := range []struct {
		lane      string
		processes int
		scheduled []string
	}{
		{"", 1, []string{"turn-1", "1.2", "turn-2", "turn-3"}},
		{"", 2, []string{"turn-1", "1.2", "turn-2", "turn-3"}},
		{api.LaneInline, 2, []string{"1.2"}},
	} {
		t.Run(fmt.Sprint(test.lane, test.processes), func(t *testing.T) {
			l := newInlineLab(t, test.processes)
			l.runAgent(inlineAgent(test.lane, steps...), "Go.")
			if r := l.result(); r.Answer != "done" || r.Usage.Turns != 3 || r.Usage.Calls != 6 ||
				r.Usage.Failed != 2 {
				t.Errorf("result: %+v", r)
			}
			expect(t, "activities", l.ids(), test.scheduled)
			expect(t, "executed", slices.Sorted(slices.Values(l.executed)), []string{"1.1 in_greet",
				"1.2 greet", "1.3 in_broken", "1.4 in_flaky", "1.4 in_flaky", "2.1 in_echo"})
			if test.lane == api.LaneInline && len(l.queries) > 0 {
				t.Errorf("the run was asked %v", l.queries)
			}
			var texts []string
			for _, m := range l.conversation()[3:8] {
				texts = append(texts, m.CallID+" "+strings.SplitN(m.Text, "\n", 2)[0])
			}
			expect(t, "texts for the model", texts, []string{"1.1 hello Ann ", "1.2 hello Bob ",
				"1.3 ERROR execution_error: it is broken", "1.4 now",
				"1.5 ERROR validation_error: the arguments of in_echo do not fit"})
		})
	}
}

// References are resolved.
func TestInlineCalls_InPlansAndDirectCalls(t *testing.T) {
	l := newInlineLab(t, 1)
	plan := api.Pack(api.Plan{Name: "two", Calls: []api.PlanCall{
		{ID: "a", Tool: "in_echo", Arguments: []byte(`{"value":{"n":2}}`)},
		{ID: "b", Tool: "in_echo", Arguments: []byte(`{"value":"${a.n}"}`)}}})
	l.ExecuteWorkflow(api.PlanWorkflow, api.RunInput{Plan: &plan})
	if r := l.result(); string(r.Output) != `{"b":2}` || len(l.ids()) > 0 {
		t.Errorf("the plan gives %s by %v", r.Output, l.ids())
	}
	l = newInlineLab(t, 1)
	l.ExecuteWorkflow(api.CallWorkflow, api.RunInput{Call: &api.Call{Tool: "in_echo",
		Arguments: `{"value":7}`}})
	if r := l.result(); string(r.Output) != `7` || len(l.ids()) > 0 {
		t.Errorf("the call gives %s by %v", r.Output, l.ids())
	}
}

// The lane is inline.
func TestInlineCalls_HaveTheContextOfOtherCalls(t *testing.T) {
	l := newInlineLab(t, 1)
	var runFacts api.CallContext
	l.calls = func(ctx context.Context) { runFacts, _ = callcontext.From(ctx) }
	in := api.RunInput{Agent: inlineAgent("", step(call("in_echo", `{"value":1}`)), answer("done")),
		Variables: map[string]any{"v": "w"}}
	l.ExecuteWorkflow(api.AgentWorkflow, in)
	l.result()
	if len(l.queries) > 0 {
		t.Errorf("the process that made the call asked the run %v", l.queries)
	}
	if runFacts.CallID != "1.1" || runFacts.Tool != "in_echo" || runFacts.Lane != api.LaneInline ||
		runFacts.Attempt != 1 || runFacts.Key == "" ||
		!strings.HasSuffix(runFacts.Key, "/1.1") || runFacts.WorkflowID == "" ||
		runFacts.Conversation != runFacts.WorkflowID || runFacts.Variables["v"] != "w" ||
		runFacts.Caller.ID != "tester" {
		t.Errorf("it sees %+v", runFacts)
	}
}

// The run starts no others.
func TestInlineCalls_EndWithCancellation(t *testing.T) {
	l := newInlineLab(t, 1)
	l.hangs = l.CancelWorkflow
	l.runAgent(inlineAgent(api.LaneInline, step(call("in_hang", `{}`)),
		step(call("in_echo", `{"value":1}`)), answer("never")), "Go.")
	l.cancelled()
	expect(t, "executed", l.executed, []string{"1.1 in_hang"})
}

// The run refuses what must not run inline, whatever the toolspec and admission say, and executes
// none of it.
func TestInlineCalls_WithEffectsAreRefused(t *testing.T) {
	for name, change := range map[string]func(*api.Tool){
		"once":       func(t *api.Tool) { t.Effect = api.EffectOnce },
		"idempotent": func(t *api.Tool) { t.Effect = api.EffectIdempotent },
		"question":   func(t *api.Tool) { t.Dispatch = api.DispatchQuestion },
		"people":     func(t *api.Tool) { t.AnswerWithin = api.Duration(time.Hour) },
		"timeout":    func(t *api.Tool) { t.Timeout = api.MaxInlineTimeout + 1 },
	} {
		for _, careless := range []bool{false, true} {
			t.Run(fmt.Sprint(name, careless), func(t *testing.T) {
				l := newInlineLab(t, 1)
				l.pinned = func(p *api.Pinned) {
					for i := range p.Catalog.Tools {
						if p.Catalog.Tools[i].Name == "in_echo" {
							change(&p.Catalog.Tools[i])
						}
					}
				}
				if careless {
					l.decisions = func(decisions []api.AdmissionDecision) {
						for i := range decisions {
							decisions[i].Error = nil
						}
					}
				}
				l.runAgent(inlineAgent("", step(call("in_echo", `{"value":1}`)), answer("done")),
					"Go.")
				if r := l.result(); r.Usage.Calls != 1 || r.Usage.Failed != 1 ||
					len(l.executed) > 0 {
					t.Errorf("%+v, executed %v", r, l.executed)
				}
				if texts := l.conversation()[3].Text; !strings.Contains(texts,
					"ERROR precondition_failed") || !strings.Contains(texts, name) {
					t.Errorf("the model reads %q", texts)
				}
			})
		}
	}
}

// The SDK passes the input of local activities unchanged, so it may contain what JSON cannot
// encode.
func TestInlineInput_IsNotEncoded(t *testing.T) {
	if data, err := json.Marshal(
		api.ModelRequest{Inline: &api.InlineStep{ID: "turn-1"}}); err != nil ||
		strings.Contains(string(data), "nline") {
		t.Errorf("an inline step is encoded as %s, %v", data, err)
	}
	var x api.Execution
	c := &api.InlineCall{ID: "1.1", Execution: api.Execution{Digest: "d"}}
	if err := c.Get(&x); err != nil || x.Digest != "d" || !c.HasValues() {
		t.Errorf("an inline call gives %+v, %v", x, err)
	}
	if err := c.Get(&x, &x); err == nil {
		t.Error("an inline call gives two values")
	}
	if err := c.Get(&c); err == nil {
		t.Error("an inline call gives what it does not hold")
	}
}
