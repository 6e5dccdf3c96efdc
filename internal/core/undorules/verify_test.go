package undorules

import (
	"encoding/json"
	"testing"

	"github.com/switchyard/switchyard/api"
)

// Any other value at the declared place leaves the outcome open.
func TestVerify_DecidesByBooleans(t *testing.T) {
	for _, test := range []struct {
		verify api.Verify
		result api.Result
		want   string
	}{
		{api.Verify{Done: "found"}, api.Result{Output: json.RawMessage(`{"found":true}`)},
			`true {"found":true}`},
		{api.Verify{Done: "a.0.b", Result: "a.0"},
			api.Result{Output: json.RawMessage(`{"a":[{"b":true}]}`)}, `true {"b":true}`},
		{api.Verify{Done: "found", Result: "gone"}, api.Result{Output: json.RawMessage(`{"found":false}`)},
			`false {"found":false}`},
		{api.Verify{Tool: "t", Done: "found", Result: "gone"},
			api.Result{Output: json.RawMessage(`{"found":true}`)},
			`! the answer of t says that the call has taken effect but has no "gone"`},
		{api.Verify{Tool: "t", Done: "found"}, api.Result{Output: json.RawMessage(`{"found":1}`)},
			`! the answer of t has neither true nor false at "found"`},
		{api.Verify{Tool: "t", Done: "found"}, api.Result{Output: json.RawMessage(`null`)},
			`! the answer of t has neither true nor false at "found"`},
		{api.Verify{Tool: "t", Done: "found"}, api.Result{Output: json.RawMessage(`{"found":true`), Cut: 1},
			`! 1 bytes of the answer of t were cut`},
		{api.Verify{Tool: "t", Done: "found"}, api.Result{Output: json.RawMessage(`{`)},
			`! the answer of t is not JSON: the JSON value is incomplete`},
	} {
		done, output, err := ReadAnswer(test.verify, &test.result)
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
