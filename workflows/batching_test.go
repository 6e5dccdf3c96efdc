package workflows_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/callcontext"
	"github.com/switchyard/switchyard/internal/core/ledgerrules"
	"github.com/switchyard/switchyard/toolspecs"
	"go.temporal.io/sdk/activity"
)

// many is a tool whose calls are batched: it returns the list that it gets.
func many(handler string, change func(*toolspecs.Spec)) toolspecs.Spec {
	s := toolspecs.Spec{Name: "many", Version: "1.0.0", Description: "Takes many.",
		InputSchema: json.RawMessage(
			`{"type":"object","properties":{"value":{"type":"array"},"unit":{"type":"string"}},"required":["value"],"additionalProperties":false}`),
		Entry: toolspecs.Entry{Kind: toolspecs.FunctionEntry{Handler: handler}},
		Batch: &api.Batch{Argument: "value", Max: 4}}
	if change != nil {
		change(&s)
	}
	return s
}

// Each call has its own part of the answer, its own id and its own place in the turn. Calls beyond
// the maximum, with other arguments, or with bounds of their own run separately.
func TestBatch_CombinesCallsThatDifferInTheirLists(t *testing.T) {
	l := newLabOf(t, 2, many("echo", nil))
	var parts []api.Part
	l.calls = func(ctx context.Context) {
		if c, _ := callcontext.From(ctx); c.CallID == "1.1" {
			parts = c.Parts
		}
	}
	l.modelAnswers(api.Message{Calls: []api.Call{
		{Tool: "many", Arguments: `{"value":["a","b"]}`},
		{Tool: "greet", Arguments: `{"name":"Ann"}`},
		{Tool: "many", Arguments: `{"value":["c"],"unit":"m"}`},
		{Tool: "many", Arguments: `{"value":[{"d":1}]}`},
		{Tool: "many", Arguments: `{"value":["e","f"]}`},
		{Tool: "many", Arguments: `{"value":["g"],"execution_plan":{"intent":"alone","limits":{"timeout":"3s"}}}`},
		{Tool: "many", Arguments: `{"value":[12345678901234567890],"execution_plan":{"intent":"separate"}}`},
		{Tool: "many", Arguments: `{"value":[]}`},
		{Tool: "many", Arguments: `{"value":7}`},
	}}, api.Message{Text: "done"})
	a := listedAgent()
	a.Tools = append(a.Tools, "many")
	l.runAgent(a, "Go.")
	r := l.result()
	if r.Answer != "done" || r.Usage.Calls != 9 || r.Usage.Failed != 1 {
		t.Errorf("result: %+v", r)
	}
	got := l.callResults()
	expect(t, "results", got[:8], []string{`1.1 ["a","b"]`, "1.2 hello Ann ", `1.3 ["c"]`,
		`1.4 [{"d":1}]`, `1.5 ["e","f"]`, `1.6 ["g"]`, `1.7 [12345678901234567890]`, "1.8 []"})
	if !strings.Contains(got[8], "validation_error") {
		t.Errorf("the result of a wrong call is %s", got[8])
	}
	expect(t, "executed", slices.Sorted(slices.Values(l.executed)),
		[]string{"1.1 many", "1.2 greet", "1.3 many", "1.5 many", "1.6 many", "1.8 many"})
	expect(t, "parts", parts, []api.Part{{ID: "1.1", Elements: 2}, {ID: "1.4", Elements: 1},
		{ID: "1.7", Elements: 1}})
	for _, s := range l.scheduled {
		if s.id == "1.1" && string(
			s.call.Arguments) != `{"value":["a","b",{"d":1},12345678901234567890]}` {
			t.Errorf("batched with %s", s.call.Arguments)
		}
	}
}

// An answer that cannot be split is a failure, and each call counts.
func TestBatch_FailureIsThatOfEachCall(t *testing.T) {
	for name, test := range map[string]struct{ founds, want string }{
		"the tool fails":   {"", "ERROR execution_error: it cannot be reached"},
		"too few elements": {`[1]`, "ERROR invalid_output: 2 calls of many were executed as one batch"},
		"no list":          {`{"a":1}`, "ERROR invalid_output: 2 calls of many were executed as one batch"},
		"one for each":     {`[1,2]`, "[1] [2]"},
		"no declared form": {`["a",2]`,
			"ERROR invalid_output: the answer of many does not have the declared form"},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLabOf(t, 1, many("found", func(s *toolspecs.Spec) {
				s.OutputSchema = json.RawMessage(`{"type":"array","items":{"type":"integer"}}`)
			}))
			l.founds = []string{test.founds}
			l.modelAnswers(api.Message{Calls: []api.Call{{Tool: "many", Arguments: `{"value":[1]}`},
				{Tool: "many", Arguments: `{"value":[2]}`}}},
				api.Message{Text: "done"})
			a := listedAgent()
			a.Tools = append(a.Tools, "many")
			l.runAgent(a, "Go.")
			r, got := l.result(), l.callResults()
			switch {
			case test.want == "[1] [2]":
				expect(t, "results", got, []string{"1.1 [1]", "1.2 [2]"})
			case name == "no declared form":
				if !strings.Contains(got[0], test.want) || got[1] != "1.2 [2]" ||
					r.Usage.Failed != 1 {
					t.Errorf("got %q, usage %+v", got, r.Usage)
				}
			case !strings.Contains(got[0], "1.1 "+test.want) || !strings.Contains(got[1], "1.2 "+
				test.want) || r.Usage.Failed != 2:
				t.Errorf("got %q, usage %+v", got, r.Usage)
			}
			if r.Usage.Calls != 2 || len(l.asked) != 1 {
				t.Errorf("usage %+v, asked %q", r.Usage, l.asked)
			}
		})
	}
}

// Each batched call is undone separately, with its own arguments and its part of the answer, the
// last one first.
func TestBatch_UndoRunsForEachCall(t *testing.T) {
	l := newLabOf(t, 1, many("echo", func(s *toolspecs.Spec) {
		s.Undo = &api.Undo{Tool: "store",
			Arguments: json.RawMessage(`{"text":"{{args.value}} {{result.0}} {{call.key}}"}`)}
	}))
	l.modelAnswers(api.Message{Calls: []api.Call{{Tool: "many", Arguments: `{"value":["a"]}`},
		{Tool: "many", Arguments: `{"value":["b"]}`}}})
	a := listedAgent()
	a.Model.MaxAttempts = 1
	a.Tools = append(a.Tools, "many")
	l.runAgent(a, "Go.")
	if l.GetWorkflowError() == nil {
		t.Fatal("the run did not fail")
	}
	var ends []string
	for _, text := range l.stored {
		head, key, _ := strings.Cut(text, "/")
		ends = append(ends, fmt.Sprint(head[:9], " ", key))
	}
	expect(t, "undone", ends, []string{`["b"] b d 1.2`, `["a"] a d 1.1`})
}

// Ledgers are told of each call of a batch that never started: one that they were not told of would
// count as running for a month.
func TestBatch_ThatNeverStartsReleasesItsReservations(t *testing.T) {
	blocker := toolspecs.Spec{Name: "hold", Version: "1.0.0", Description: "Hangs.",
		InputSchema: json.RawMessage(`{"type":"object"}`),
		Entry:       toolspecs.Entry{Kind: toolspecs.FunctionEntry{Handler: "hang"}}}
	blocker.Execution.Access, blocker.Execution.Lane = api.AccessExclusive, api.LaneSerial
	l := newLabOf(t, 2, many("echo", func(s *toolspecs.Spec) { s.Execution.Lane = api.LaneSerial }),
		blocker)
	l.decisions = func(all []api.AdmissionDecision) {
		for i := range all {
			all[i].Reserved = &api.Reservation{Holder: fmt.Sprint("h", i),
				Scopes: []api.LedgerScope{api.ScopePrincipalCalls}}
		}
	}
	var told []string
	l.RegisterActivityWithOptions(func(_ context.Context, ends ledgerrules.Ends) error {
		for _, ledger := range ends.Ledgers {
			for _, c := range ledger.Calls {
				told = append(told, c.Call)
			}
		}
		return nil
	}, activity.RegisterOptions{Name: api.CloseReservationsActivity})
	l.modelAnswers(api.Message{Calls: []api.Call{{Tool: "hold", Arguments: `{}`},
		{Tool: "many", Arguments: `{"value":["a"]}`}, {Tool: "many", Arguments: `{"value":["b"]}`},
		{Tool: "many", Arguments: `{"value":["c"]}`}}})
	l.cancelAt("hang")
	a := listedAgent()
	a.Tools = append(a.Tools, "many", "hold")
	l.runAgent(a, "Go.")
	slices.Sort(told)
	expect(t, "executed", l.executed, []string{"1.1 hold"})
	expect(t, "told", told, []string{"1.1", "1.2", "1.3", "1.4"})
}
