package turn

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/failures"
)

func TestResults_KeepAResultAsLongAsAReferenceNeedsIt(t *testing.T) {
	calls := []api.PlanCall{{ID: "list"}, {ID: "log"},
		{ID: "first", Arguments: json.RawMessage(`{"of": "${list.0}"}`)},
		{ID: "second", Arguments: json.RawMessage(`{"of": "${list.1}", "and": "${first}"}`)}}
	r := NewResults(calls, map[string]any{"answer": "${second}"})
	kept := func() (ids []string) {
		for _, c := range calls {
			if r.Of(c.ID) != nil {
				ids = append(ids, c.ID)
			}
		}
		return ids
	}
	expect := func(when string, want ...string) {
		t.Helper()
		if got := kept(); !slices.Equal(got, want) {
			t.Errorf("%s, the results of %v are kept, want %v", when, got, want)
		}
	}
	end := func(i int) {
		r.End(i, api.CallOutcome{ID: calls[i].ID,
			Result: &api.Result{Output: json.RawMessage(`["a", "b"]`)}})
	}
	end(0)
	end(1)
	expect("after two calls, to one of which others refer", "list")
	if v, ok := r.Lookup("list"); !ok || len(v.([]any)) != 2 {
		t.Errorf("the result is %v, %v", v, ok)
	}
	r.MarkResolved(2)
	end(2)
	expect("while another call refers to the first one", "list", "first")
	r.MarkResolved(3)
	expect("once all arguments are resolved")
	if v, ok := r.Lookup("list"); ok {
		t.Errorf("the result of a call that no other one needs is %v, want none", v)
	}
	end(3)
	expect("at the end of the plan, whose output has the last result", "second")
}

func TestResults_DropAResultThatOnlyCallsReferToWhichAreNotMade(t *testing.T) {
	r := NewResults([]api.PlanCall{{ID: "a"},
		{ID: "b", Arguments: json.RawMessage(`{"x": "${a.name} ${a.age}"}`)}}, nil)
	r.End(0, api.CallOutcome{ID: "a", Result: &api.Result{Output: json.RawMessage(`{}`)}})
	r.MarkResolved(1)
	r.End(1, api.CallOutcome{ID: "b", Error: failures.CancelledBeforeStart()})
	if r.Of("a") != nil || r.Outcomes[1].Error == nil {
		t.Errorf("the outcomes are %+v, want no result and the error", r.Outcomes)
	}
}
