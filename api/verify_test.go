package api

import (
	"encoding/json"
	"testing"
)

// Any other value at the declared place leaves the outcome open.
func TestVerify_DecidesByBooleans(t *testing.T) {
	for _, test := range []struct {
		verify Verify
		result Result
		want   string
	}{
		{Verify{Done: "found"}, Result{Output: json.RawMessage(`{"found":true}`)},
			`true {"found":true}`},
		{Verify{Done: "a.0.b", Result: "a.0"},
			Result{Output: json.RawMessage(`{"a":[{"b":true}]}`)}, `true {"b":true}`},
		{Verify{Done: "found", Result: "gone"}, Result{Output: json.RawMessage(`{"found":false}`)},
			`false {"found":false}`},
		{Verify{Tool: "t", Done: "found", Result: "gone"},
			Result{Output: json.RawMessage(`{"found":true}`)},
			`! the answer of t says that the call has taken effect but has no "gone"`},
		{Verify{Tool: "t", Done: "found"}, Result{Output: json.RawMessage(`{"found":1}`)},
			`! the answer of t has neither true nor false at "found"`},
		{Verify{Tool: "t", Done: "found"}, Result{Output: json.RawMessage(`null`)},
			`! the answer of t has neither true nor false at "found"`},
		{Verify{Tool: "t", Done: "found"}, Result{Output: json.RawMessage(`{"found":true`), Cut: 1},
			`! 1 bytes of the answer of t were cut`},
		{Verify{Tool: "t", Done: "found"}, Result{Output: json.RawMessage(`{`)},
			`! the answer of t is not JSON: the JSON value is incomplete`},
	} {
		done, output, err := test.verify.Evaluate(&test.result)
		got := "false " + string(output)
		if done {
			got = "true " + string(output)
		}
		if err != nil {
			got = "! " + err.Error()
		}
		if got != test.want {
			t.Errorf("%s: got %s, want %s", test.result.Output, got, test.want)
		}
	}
}

// The tool must declare verify.
func TestVerifiable_NeedsUnknownOutcomeOfOnceTool(t *testing.T) {
	tool := Tool{Effect: EffectOnce, Verify: &Verify{}}
	unknown := Error{Type: ErrOutcomeUnknown, Phase: PhaseExecution}
	repeatable, stateful, person, silent := tool, tool, tool, tool
	repeatable.Effect, stateful.Dispatch, person.Dispatch, silent.Verify = EffectIdempotent,
		DispatchInstance, DispatchQuestion, nil
	if !tool.Verifiable(&unknown) || repeatable.Verifiable(&unknown) ||
		!stateful.Verifiable(&unknown) || person.Verifiable(&unknown) ||
		silent.Verifiable(&unknown) {
		t.Error("which tools' calls are verified")
	}
	for _, kind := range errorTypes() {
		want := kind == ErrOutcomeUnknown
		if got := tool.Verifiable(&Error{Type: kind, Phase: PhaseExecution}); got != want {
			t.Errorf("%s: %t", kind, got)
		}
	}
}
