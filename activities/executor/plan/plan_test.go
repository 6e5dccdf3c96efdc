package plan

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/test/activitytest"
	"github.com/switchyard/switchyard/toolspecs"
)

func TestPrepareDecision_RejectsCallsThatCannotRun(t *testing.T) {
	tool := activitytest.Catalog(t, activitytest.Spec("order", func(s *toolspecs.Spec) {
		s.Entry = toolspecs.Entry{Kind: toolspecs.PlanEntry{Plan: &api.Plan{Calls: []api.PlanCall{
			{ID: "a", Tool: "t", Arguments: json.RawMessage(`{"x":"{{args.text}}{b}"}`)},
			{ID: "b", Tool: "t"}}}}}
	})).All()[0]
	for name, c := range map[string]struct {
		request   api.AdmissionRequest
		arguments string
		want      api.ErrorType
	}{
		"admitted":              {arguments: `{"text":"go"}`},
		"too deep":              {api.AdmissionRequest{Depth: api.MaxDepth}, `{}`, api.ErrPreconditionFailed},
		"completes a reference": {arguments: `{"text":"$"}`, want: api.ErrValidation},
	} {
		t.Run(name, func(t *testing.T) {
			var v api.AdmissionDecision
			e := Executor{}.PrepareDecision(c.request, tool, json.RawMessage(c.arguments), &v)
			if (e == nil) != (c.want == "") || e != nil && (e.Type != c.want || e.Phase == "") {
				t.Errorf("got %v, want %q", e, c.want)
			}
			if (v.Claim == 2) != (e == nil) {
				t.Errorf("the call claims %d calls", v.Claim)
			}
		})
	}
}

func TestExecute_ReportsThatPlansAreChildWorkflows(t *testing.T) {
	_, err := Executor{}.Execute(t.Context(), &toolspecs.Spec{Name: "order"}, nil)
	if !errors.Is(err, &api.Error{Type: api.ErrExecutorNotFound}) {
		t.Errorf("got %v", err)
	}
}
