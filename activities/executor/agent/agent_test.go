package agent

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/test/activitytest"
	"github.com/switchyard/switchyard/toolspecs"
)

func TestPrepareDecision_RejectsCallsThatCannotRun(t *testing.T) {
	tool := activitytest.Catalog(t, activitytest.Spec("helper", func(s *toolspecs.Spec) {
		s.Entry = toolspecs.Entry{Kind: toolspecs.AgentEntry{Agent: &api.Agent{Name: "helper",
			Model: api.Model{Provider: api.ProviderScripted}}}}
	})).All()[0]
	for name, c := range map[string]struct {
		request api.AdmissionRequest
		text    string
		want    api.ErrorType
	}{
		"admitted":        {text: "go"},
		"too deep":        {api.AdmissionRequest{Depth: api.MaxDepth}, "go", api.ErrPreconditionFailed},
		"prompt too long": {text: strings.Repeat("x", maxPrompt), want: api.ErrValidation},
		"budget used up":  {api.AdmissionRequest{Spent: "tokens"}, "go", api.ErrBudgetExceeded},
	} {
		t.Run(name, func(t *testing.T) {
			arguments, err := json.Marshal(map[string]string{"text": c.text})
			if err != nil {
				t.Fatal(err)
			}
			var v api.AdmissionDecision
			e := Executor{}.PrepareDecision(c.request, tool, arguments, &v)
			if (e == nil) != (c.want == "") || e != nil && (e.Type != c.want || e.Phase == "") {
				t.Errorf("got %v, want %q", e, c.want)
			}
			if (v.Prompt == "") != (e != nil) {
				t.Errorf("the prompt has %d bytes", len(v.Prompt))
			}
		})
	}
}

func TestExecute_ReportsThatAgentsAreChildWorkflows(t *testing.T) {
	_, err := Executor{}.Execute(t.Context(), &toolspecs.Spec{Name: "helper"}, nil)
	if !errors.Is(err, &api.Error{Type: api.ErrExecutorNotFound}) {
		t.Errorf("got %v", err)
	}
}
