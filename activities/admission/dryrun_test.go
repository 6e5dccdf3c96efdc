package admission

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/test/expect"
	"github.com/switchyard/switchyard/toolspecs"
)

// Withheld calls get an answer in place of their tool's. Calls that would be refused are refused.
// An execution plan can make a single call a dry run.
func TestDryRun_WithholdsCallsWithEffects(t *testing.T) {
	catalog := catalogOf(t, spec("look", nil),
		spec("book", func(s *toolspecs.Spec) {
			s.Execution.Effect = api.EffectOnce
			s.Parameters = append(s.Parameters, toolspecs.Parameter{Name: "card", Type: "string",
				Sensitive: true},
				toolspecs.Parameter{Name: "n", Type: "integer", Default: json.RawMessage(`1`)})
			s.Output = &toolspecs.Parameter{Type: "integer"}
		}))
	b := setUp(t, catalog, nil)
	r := api.AdmissionRequest{Tools: toolsOf(catalog), DryRun: true, Calls: []api.Call{
		{ID: "1", Tool: "look", Arguments: `{"text":"a"}`},
		{ID: "2", Tool: "book", Arguments: `{"text":"a","card":"4711"}`},
		{ID: "3", Tool: "book", Arguments: `{"txt":"a"}`},
		{ID: "4", Tool: "book",
			Arguments: `{"text":"a","execution_plan":{"intent":"try","dry_run":true}}`},
	}}
	withheld := `{"dry_run":true,"would_call":"book","arguments":{"card":"***","n":1,"text":"a"},"lane":"general"}`
	decisions := b.admit(t, r)
	if v := decisions[0]; v.Error != nil || v.Result != nil || v.DryRun {
		t.Errorf("a call that reads: %+v", v)
	}
	if v := decisions[1]; !v.DryRun || v.Result == nil || string(v.Result.Output) != withheld ||
		!strings.Contains(string(v.Arguments), "4711") ||
		!expect.Contains(v.Result.ForModel(), "nothing was done") || v.Result.Tokens == 0 {
		t.Errorf("a call that changes something: %+v, result %+v", v, v.Result)
	}
	if v := decisions[2]; v.Error == nil || v.Error.Type != api.ErrValidation || v.DryRun {
		t.Errorf("a call with wrong arguments: %+v", v)
	}
	r.DryRun = false
	for i, v := range b.admit(t, r) {
		if v.DryRun != (i == 3) || (v.Result != nil) != (i == 3) {
			t.Errorf("call %s of a run that is none: %+v", v.ID, v)
		}
	}
	if v := b.admit(t, r)[3]; v.Plan == nil || v.Plan.Intent != "try" {
		t.Errorf("the plan of a withheld call: %+v", v.Plan)
	}
}

// A withheld call has its lane with the key, and whether it would have required approval.
func TestDryRun_NamesLaneAndApproval(t *testing.T) {
	tool := api.Tool{Name: "tap", Lane: "android"}
	v := withheld(tool, api.Call{Tool: "tap", Arguments: `{}`}, api.AdmissionDecision{ID: "1",
		Route:    api.Route{Key: "pixel"},
		Approval: &api.ApprovalNeed{Reason: "it costs money"}})
	want := `{"dry_run":true,"would_call":"tap","arguments":{},"lane":"android/pixel","approval":"it costs money"}`
	if string(v.Result.Output) != want || v.Route.Key != "" || v.Approval != nil {
		t.Errorf("got %+v: %s", v, v.Result.Output)
	}
}
