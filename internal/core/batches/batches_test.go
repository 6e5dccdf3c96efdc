package batches

import (
	"encoding/json"
	"testing"

	"github.com/switchyard/switchyard/api"
)

// Equal arguments match in any notation, and the list returns to its place.
func TestBatchElements_CompareOtherArgumentsByValue(t *testing.T) {
	b := api.Batch{Argument: "paths"}
	list, others, err := Elements(b, json.RawMessage(`{"b":1,"paths":["x",2],"a":"<"}`))
	if err != nil || len(list) != 2 || others != `{"a":"<","b":1}` {
		t.Errorf("%v, %s, %v", list, others, err)
	}
	if _, same, _ := Elements(b,
		json.RawMessage(`{ "a": "\u003c", "b":1, "paths":[] }`)); same != others {
		t.Errorf("the same is %s", same)
	}
	if got, err := Arguments(b, json.RawMessage(`{"paths":["x"],"a":1}`), []any{"y", "z"}); err != nil ||
		string(got) != `{"a":1,"paths":["y","z"]}` {
		t.Errorf("with another list: %s, %v", got, err)
	}
	for _, wrong := range []string{`{`, `[]`, `{"paths":"x"}`, `{}`} {
		if _, _, err := Elements(b, json.RawMessage(wrong)); err == nil {
			t.Errorf("%s has a list", wrong)
		}
	}
	for _, wrong := range []string{`{`, `[]`} {
		if _, err := Arguments(b, json.RawMessage(wrong), nil); err == nil {
			t.Errorf("%s takes a list", wrong)
		}
	}
}

// A failure of the whole batch is the failure of each call. A result without parts is an error.
func TestPartOf_GivesEachCallItsPart(t *testing.T) {
	whole := api.CallOutcome{ID: "1.1", Tool: "a",
		Result: &api.Result{Parts: []api.CallOutcome{{ID: "1.1",
			Result: &api.Result{Output: json.RawMessage(`[1]`)}},
			{ID: "1.2", Error: api.Errorf(api.ErrInvalidOutput, "no")}}}}
	if got := Part(whole, "1.1"); string(got.Result.Output) != `[1]` {
		t.Errorf("the first is %+v", got)
	}
	if got := Part(whole, "1.2"); got.Error == nil || got.Error.Message != "no" {
		t.Errorf("the second is %+v", got)
	}
	if got := Part(whole, "1.3"); got.ID != "1.3" || got.Error == nil ||
		got.Error.Type != api.ErrInvalidOutput {
		t.Errorf("a missing part is %+v", got)
	}
	failed := api.CallOutcome{ID: "1.1", Tool: "a", Error: api.Errorf(api.ErrTimeout, "late")}
	if got := Part(failed, "1.2"); got.Error == failed.Error || got.Error.Type != api.ErrTimeout ||
		got.ID != "1.2" {
		t.Errorf("a failure of all is %+v", got)
	}
}
