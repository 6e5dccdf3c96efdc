package history

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/value/redaction"
)

// After a sensitive value is known, no text of an event, record or result of the run repeats it.
// Names stay, the input is not modified, and nothing changes without sensitive values.
func TestHiding_RemovesSensitiveValuesEverywhere(t *testing.T) {
	const value = "hunter22"
	fault := api.Errorf(api.ErrExecution, "no: %s", value)
	hooks := []api.HookAction{{Hook: value, Reason: "for " + value}}
	raw := json.RawMessage(`{"x":"` + value + `"}`)
	event := api.Event{
		Type:     api.EventToolFailed,
		CallID:   value,
		Tool:     value,
		Summary:  "echo " + value,
		Failure:  value,
		Problems: []api.Problem{{Message: value}},
		Step: &api.ModelResponse{Message: api.Message{Text: "say " + value, Calls: []api.Call{
			{ID: value, Tool: value, Arguments: string(raw)}, {Arguments: "no JSON: " + value}}}},
		Record: &api.Record{
			CallID:    value,
			Arguments: raw,
			Error:     fault,
			Notes:     []string{value},
			Hooks:     hooks,
			Policies: []api.PolicyAction{
				{Message: value, Failure: value},
			},
			Approval: &api.Decided{Why: value, Reason: value, Original: raw, Edited: raw},
			Plan: &api.ExecutionPlan{
				Intent:           value,
				Rollback:         value,
				Preconditions:    []string{value},
				ExpectedOutcomes: []string{value},
			},
			Timing: api.Timing{Lane: value, LastFailure: value},
			Result: &api.Result{Output: raw, Notes: []string{value}, Hooks: hooks},
		},
		Approval: &api.Approval{
			ApprovalNeed: api.ApprovalNeed{Reason: value, Text: value},
			Call:         value,
		},
		Decided: &api.Decided{Why: value, Reason: value, Original: raw, Edited: raw},
		Question: &api.Question{
			ID:   value,
			Text: value,
		},
		Sent: &api.Sent{ID: value, Text: value},
		Hook: &hooks[0],
		Result: &api.RunResult{
			Answer:   value,
			Output:   raw,
			Failures: []api.CallOutcome{{ID: value, Error: fault}},
			Undone:   []api.Undone{{CallID: value, Error: fault}},
		},
	}
	before, err := json.Marshal(event)
	if err != nil {
		t.Fatal(err)
	}
	var h hidden
	if got, _ := json.Marshal(h.event(event)); string(got) != string(before) {
		t.Errorf("nothing is sensitive, and it became %s", got)
	}
	h.note(
		&redaction.Mask{All: true},
		json.RawMessage(`["`+value+`","short","`+strings.Repeat("long", 4<<10)+`"]`),
	)
	got, err := json.Marshal(h.event(event))
	if err != nil {
		t.Fatal(err)
	}
	const names = 14 // ids, tools, hooks, a lane
	if n := strings.Count(string(got), value); n != names {
		t.Errorf("the value stands %d times, not %d, in %s", n, names, got)
	}
	if after, _ := json.Marshal(event); string(after) != string(before) {
		t.Errorf("the event itself was changed: %s", after)
	}
	for range 2 * maxHidden {
		h.note(
			&redaction.Mask{All: true},
			json.RawMessage(`["`+strings.Repeat("v", len(h.values)+6)+`"]`),
		)
	}
	if len(h.values) != maxHidden {
		t.Errorf("%d values are looked for", len(h.values))
	}
}

// Sensitive parts of results are redacted by their path, also short values, and the whole of a
// truncated result. The same holds for what direct calls and plans return, but not for what a plan
// computes from results.
func TestHiding_RemovesSensitivePartsOfResults(t *testing.T) {
	mask := &redaction.Mask{Keys: map[string]*redaction.Mask{"pin": {All: true}}}
	for _, c := range []struct {
		kind         RunKind
		output, want string
	}{
		{RunCall, `{"name":"a","pin":7}`, `{"name":"a","pin":"***"}`},
		{RunPlan, `{"first":{"pin":7},"other":{"pin":7}}`,
			`{"first":{"pin":"***"},"other":{"pin":7}}`},
		{RunPlan, `"the pin"`, `"the pin"`},
		{RunPlan, ``, ``},
	} {
		d := NewDeriver("w", "r").run
		d.summary.Kind, d.summary.Name, d.tools["report"] = c.kind, "report", api.Tool{
			Name:       "report",
			OutputMask: mask,
		}
		result := &api.Result{Output: json.RawMessage(`{"pin":7}`)}
		if got := d.hidden.result("first", mask, result); string(got.Output) != `{"pin":"***"}` ||
			string(result.Output) != `{"pin":7}` {
			t.Errorf("got %s of %s", got.Output, result.Output)
		}
		if got := d.output(&api.RunResult{Output: json.RawMessage(c.output)}); string(
			got.Output) != c.want {
			t.Errorf("%s: got %s, want %s", c.kind, got.Output, c.want)
		}
	}
	var h hidden
	if got := h.result("first", mask, &api.Result{Output: json.RawMessage(`"{\"pin\":7"`),
		Cut: 9}); string(
		got.Output,
	) != `"***"` {
		t.Errorf("got %s", got.Output)
	}
	if r := (&api.Result{}); h.result("first", nil, r) != r || h.result("first", mask, nil) != nil {
		t.Error("a result without a mask was changed")
	}
}
