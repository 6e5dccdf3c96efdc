package admission

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/test/activitytest"
	"github.com/switchyard/switchyard/toolspecs"
)

// A batch contains only calls of agents. It never passes a conflicting call, never exceeds its
// maximum, and never contains a call that needs something of its own.
func TestBatching_CombinesCompatibleCalls(t *testing.T) {
	alone := func(s *toolspecs.Spec) { s.Execution.Access = api.AccessExclusive }
	catalog := catalogOf(t, activitytest.BatchSpec("stat", nil),
		activitytest.BatchSpec("write", alone), spec("look", nil), spec("lock", alone))
	b := setUp(t, catalog, nil)
	const one, two, other = `{"paths":["a"]}`, `{"paths":["b","c"]}`, `{"paths":["a"],"unit":"kB"}`
	for _, test := range []struct {
		name  string
		calls []string
		want  []int // the first call that each is made with, from 1; 0 for none
	}{
		{"equal others", []string{"stat " + one, "stat " + other, "stat " + two, "stat " + other},
			[]int{1, 2, 1, 2}},
		{"too many", []string{"stat " + two, "stat " + two, "stat " + one}, []int{1, 0, 1}},
		{"a shared call between", []string{"stat " + one, `look {"text":"a"}`, "stat " + one},
			[]int{1, 0, 1}},
		{"an exclusive call of the lane between", []string{"write " + one, "write " + one,
			`lock {"text":"a"}`, "write " + one}, []int{1, 1, 0, 0}},
		{"an exclusive call of another lane between", []string{"stat " + one, `lock {"text":"a"}`,
			"stat " + one}, []int{1, 0, 1}},
		{"exclusive, and another list between", []string{"write " + one, "write " + other,
			"write " + one}, []int{0, 0, 0}},
		{"refused ones between", []string{"write " + one, `write {}`, "write " + one},
			[]int{1, 0, 1}},
	} {
		r := api.AdmissionRequest{Tools: toolsOf(catalog),
			Caller: api.Caller{Type: api.CallerAgent}}
		for i, c := range test.calls {
			tool, arguments, _ := strings.Cut(c, " ")
			r.Calls = append(r.Calls, api.Call{ID: fmt.Sprint(i + 1), Tool: tool,
				Arguments: arguments})
		}
		var got []int
		for _, v := range b.admit(t, r) {
			n := 0
			fmt.Sscan(v.Batch, &n)
			got = append(got, n)
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%s: %v, want %v", test.name, got, test.want)
		}
		r.Caller.Type = api.CallerPlan
		if slices.ContainsFunc(b.admit(t, r),
			func(v api.AdmissionDecision) bool { return v.Batch != "" }) {
			t.Errorf("%s: calls of a plan are batched", test.name)
		}
	}
	tool, _ := catalog.Get("stat")
	for name, v := range map[string]api.AdmissionDecision{"an approval": {Approval: &api.ApprovalNeed{}},
		"bounds": {Plan: &api.ExecutionPlan{Limits: api.PlanLimits{MaxAttempts: 1}}}} {
		if candidate(tool.Tool(), api.Call{Arguments: one}, v) != nil {
			t.Errorf("a call with %s is made with others", name)
		}
	}
	if candidate(tool.Tool(), api.Call{Arguments: one,
		CallPurpose: api.CallPurpose{Purpose: api.PurposeVerify, TargetCallID: "1"}},
		api.AdmissionDecision{}) != nil {
		t.Error("a call of the run is batched with others")
	}
}
