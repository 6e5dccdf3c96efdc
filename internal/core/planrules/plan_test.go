package planrules

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/switchyard/switchyard/api"
	"pgregory.net/rapid"
)

// planOf decodes a plan.
func planOf(t *testing.T, text string) api.Plan {
	t.Helper()
	var p api.Plan
	if err := json.Unmarshal([]byte(text), &p); err != nil {
		t.Fatal(err)
	}
	return p
}

// Each fault has its place, and all are found before a call runs.
func TestPlanCheck_ReportsEveryFault(t *testing.T) {
	tests := []struct{ name, plan, want string }{
		{"good", `{"calls":[{"id":"a","tool":"echo"},{"id":"b","tool":"echo","depends_on":["a"],"arguments":{"text":"${a.x} $${literal}"}}],"output":"${b}"}`,
			""},
		{"forward reference", `{"calls":[{"id":"b","tool":"echo","arguments":{"x":["${a}"]}},{"id":"a","tool":"echo"}]}`,
			""},
		{"no calls", `{"calls":[]}`, "required $.calls"},
		{"no id, no tool", `{"calls":[{}]}`, "required $.calls[0].id; required $.calls[0].tool"},
		{"illegal id", `{"calls":[{"id":"a.b","tool":"echo"}]}`, "name $.calls[0].id"},
		{"id twice", `{"calls":[{"id":"a","tool":"echo"},{"id":"a","tool":"echo"}]}`,
			"unique $.calls[1].id"},
		{"dangling dependency", `{"calls":[{"id":"a","tool":"echo","depends_on":["a2","a3"]}]}`,
			"depends_on $.calls[0].depends_on[0]; depends_on $.calls[0].depends_on[1]"},
		{"dangling reference",
			`{"calls":[{"id":"a","tool":"echo","arguments":{"deep":{"er":"${b.c}"}}}]}`,
			"reference $.calls[0].arguments.deep.er"},
		{"malformed reference", `{"calls":[{"id":"a","tool":"echo","arguments":{"x":"${}"}}]}`,
			"reference $.calls[0].arguments.x"},
		{"arguments are no object", `{"calls":[{"id":"a","tool":"echo","arguments":["${b}"]}]}`,
			"type $.calls[0].arguments; reference $.calls[0].arguments[0]"},
		{"dangling output", `{"calls":[{"id":"a","tool":"echo"}],"output":{"x":"${b}"}}`,
			"reference $.output.x"},
		{"waits for itself", `{"calls":[{"id":"a","tool":"echo","depends_on":["a"]}]}`,
			"cycle $.calls[0].id"},
		{"refers to itself", `{"calls":[{"id":"a","tool":"echo","arguments":{"x":"${a}"}}]}`,
			"cycle $.calls[0].id"},
		{"several references",
			`{"calls":[{"id":"a","tool":"echo","arguments":{"a b":["${b}","${"],"x":"${c} ${d"}}]}`,
			`reference $.calls[0].arguments["a b"][0]; reference $.calls[0].arguments["a b"][1]; reference $.calls[0].arguments.x`},
		{"two cycles and more faults",
			`{"calls":[{"id":"a","tool":"echo","depends_on":["b"]},{"id":"b","tool":"","depends_on":["a","z"]},{"id":"c","tool":"echo","arguments":{"x":"${d} ${"}},{"id":"d","tool":"echo","depends_on":["c","d"]}]}`,
			"required $.calls[1].tool; depends_on $.calls[1].depends_on[1]; reference $.calls[2].arguments.x; cycle $.calls[0].id; cycle $.calls[2].id; cycle $.calls[3].id"},
		{"cycle behind a good call",
			`{"calls":[{"id":"go","tool":"echo"},{"id":"x","tool":"echo","depends_on":["c"]},{"id":"a","tool":"echo","depends_on":["b"]},{"id":"b","tool":"echo","arguments":{"x":"${c}"}},{"id":"c","tool":"echo","depends_on":["a"]}]}`,
			"cycle $.calls[2].id"},
		{"everything at once",
			`{"calls":[{"id":"","tool":""},{"id":"b","tool":"","depends_on":["z"],"arguments":{"x":"${y}"}}],"output":"${}"}`,
			"required $.calls[0].id; required $.calls[0].tool; required $.calls[1].tool; depends_on $.calls[1].depends_on[0]; reference $.calls[1].arguments.x; reference $.output"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			for _, p := range Check(planOf(t, tt.plan)) {
				got = append(got, p.Rule+" "+p.Path)
				if p.Message == "" {
					t.Errorf("%s has no message", p.Path)
				}
			}
			if joined := strings.Join(got, "; "); joined != tt.want {
				t.Errorf("got  %s\nwant %s", joined, tt.want)
			}
		})
	}
}

// A program may build a Plan with invalid arguments or output. They are faults, not panics.
func TestPlanCheck_ReportsBrokenJSON(t *testing.T) {
	p := api.Plan{Calls: []api.PlanCall{{ID: "a", Tool: "echo", Arguments: json.RawMessage(`{"x":`)}},
		Output: json.RawMessage(`{}}`)}
	problems := Check(p)
	if len(problems) != 2 || problems[0].Path != "$.calls[0].arguments" ||
		problems[1].Path != "$.output" || problems[0].Rule != api.RuleType {
		t.Errorf("got %v", problems)
	}
	if refs := References(p.Calls[0]); refs != nil {
		t.Errorf("broken arguments refer to %v", refs)
	}
	if refs := References((api.PlanCall{Arguments: json.RawMessage(`{"x":"${}"}`)})); refs != nil {
		t.Errorf("a malformed reference counts: %v", refs)
	}
}

// The message lists the calls of the cycle.
func TestPlanCycle_IsNamed(t *testing.T) {
	p := planOf(t, `{"calls":[{"id":"a","tool":"t","depends_on":["b"]},{"id":"b","tool":"t","depends_on":["c"]},{"id":"c","tool":"t","depends_on":["b"]}]}`)
	problems := Check(p)
	if len(problems) != 1 || problems[0].Message != "these calls depend on each other: b → c → b" ||
		problems[0].Path != "$.calls[1].id" {
		t.Errorf("got %v", problems)
	}
}

func TestLongCycle_IsCutInTheMessage(t *testing.T) {
	var p api.Plan
	for i := range 1000 {
		p.Calls = append(p.Calls, api.PlanCall{ID: fmt.Sprintf("c%d", i), Tool: "t",
			DependsOn: []string{fmt.Sprintf("c%d", (i+1)%1000)}})
	}
	problems := Check(p)
	if len(problems) != 1 || problems[0].Message != "these calls depend on each other: c0 → c1 → c2 → c3 → c4 → c5 → c6 → c7 → c8 → c9 → c10 → c11 → c12 → c13 → c14 → c15 → c16 → c17 → … → c0" {
		t.Errorf("got %v", problems)
	}
}

// Dependencies and references count alike, in the written order.
func TestPlanNeeds_ListsDependenciesOnce(t *testing.T) {
	c := api.PlanCall{DependsOn: []string{"b", "a", "b"},
		Arguments: json.RawMessage(`{"z":"${d} ${a}","y":"${c.0}"}`)}
	if got := Needs(c); !slices.Equal(got, []string{"b", "a", "c", "d"}) {
		t.Errorf("needs %v", got)
	}
	if got := Needs((api.PlanCall{})); len(got) != 0 {
		t.Errorf("needs %v", got)
	}
}

// For any plan without cycles, every call follows those it needs, and none is lost or repeated.
// Check finds every cycle.
func TestPlanSorted_PutsDependenciesFirst(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 12).Draw(t, "calls")
		place := rapid.Permutation(seq(n)).Draw(t, "order")
		p := api.Plan{Calls: make([]api.PlanCall, n)}
		for i := range n {
			c := api.PlanCall{ID: fmt.Sprintf("c%d", i), Tool: "echo"}
			for j := range i {
				if rapid.Bool().Draw(t, "needs") {
					c.DependsOn = append(c.DependsOn, fmt.Sprintf("c%d", j))
				}
			}
			p.Calls[place[i]] = c
		}
		if problems := Check(p); len(problems) != 0 {
			t.Fatalf("a good plan has problems: %v", problems)
		}
		done := map[string]bool{}
		for _, c := range Sort(p) {
			for _, need := range Needs(c) {
				if !done[need] {
					t.Fatalf("%s comes before %s, which it needs", c.ID, need)
				}
			}
			done[c.ID] = true
		}
		if len(done) != n || len(Sort(p)) != n {
			t.Fatalf("%d of %d calls came back", len(done), n)
		}
		first, last := place[0], place[n-1]
		p.Calls[first].DependsOn = append(p.Calls[first].DependsOn, p.Calls[last].ID)
		p.Calls[last].DependsOn = append(p.Calls[last].DependsOn, p.Calls[first].ID)
		if problems := Check(p); len(problems) != 1 || problems[0].Rule != api.RuleCycle {
			t.Fatalf("the cycle was not found: %v", problems)
		}
	})
}

func seq(n int) []int {
	s := make([]int, n)
	for i := range s {
		s[i] = i
	}
	return s
}

func TestPlanSorted_KeepsTheOrderOfIndependentCalls(t *testing.T) {
	p := planOf(t, `{"calls":[{"id":"z","tool":"t"},{"id":"b","tool":"t","depends_on":["m"]},{"id":"a","tool":"t"},{"id":"m","tool":"t"}]}`)
	var ids []string
	for _, c := range Sort(p) {
		ids = append(ids, c.ID)
	}
	if !slices.Equal(ids, []string{"z", "m", "b", "a"}) {
		t.Errorf("sorted %v", ids)
	}
}
