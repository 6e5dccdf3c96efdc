package workflows_test

import (
	"context"
	"strings"
	"testing"

	"github.com/switchyard/switchyard/api"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
)

// The run is cancelled while a tool runs, and ends after that call without starting the waiting
// ones; while the model answers; and while it makes its summary.
func TestAgent_EndsAsCancelled(t *testing.T) {
	for _, test := range []struct {
		at       string
		ids      []string
		executed []string
	}{
		{"hang", []string{"turn-1", "1.1"}, []string{"1.1 hang"}},
		{"turn-1", []string{"turn-1"}, nil},
		{"summary", []string{"turn-1", "1.1", "summary"}, []string{"1.1 greet"}},
	} {
		t.Run(test.at, func(t *testing.T) {
			l := newLab(t)
			first := call("hang", `{}`)
			if test.at == "summary" {
				first = call("greet", `{"name":"a"}`)
			}
			a := agent(step(first, call("note", `{"text":"never"}`)), answer("not reached"))
			if test.at == "summary" {
				a = agent(step(first))
				a.Limits.Turns = 1
			}
			l.cancelAt(test.at)
			l.runAgent(a, "Go.")
			l.cancelled()
			expect(t, "activities", l.ids(), test.ids)
			expect(t, "executed", l.executed, test.executed)
			expect(t, "stored", l.stored, nil)
		})
	}
}

// cancelAt cancels the run when the activity with the id has started, or when the tool hang runs.
// The test environment immediately ends a cancelled activity for the workflow.
func (l *lab) cancelAt(id string) {
	if id == "hang" {
		l.hangs = l.CancelWorkflow
		return
	}
	watched := l.started
	l.SetOnActivityStartedListener(func(info *activity.Info, ctx context.Context,
		args converter.EncodedValues) {
		watched(info, ctx, args)
		if info.ActivityID == id {
			l.CancelWorkflow()
		}
	})
}

// The error names every reason, and nothing runs.
func TestAgent_RefusesInvalidInput(t *testing.T) {
	unknown := agent(answer("x"))
	unknown.Tools = []string{"greeet", "echo", "store2"}
	provider := agent(answer("x"))
	provider.Model.Provider = "unknown"
	for name, test := range map[string]struct {
		input api.RunInput
		paths []string
	}{
		"no agent":         {api.RunInput{}, []string{"$.agent"}},
		"unknown tools":    {api.RunInput{Agent: unknown}, []string{"$.tools[0]", "$.tools[2]"}},
		"unknown provider": {api.RunInput{Agent: provider}, []string{"$.model.provider"}},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t)
			l.ExecuteWorkflow(api.AgentWorkflow, test.input)
			var problems []api.Problem
			app := l.failure(api.RunInvalid, &problems)
			var paths []string
			for _, p := range problems {
				paths = append(paths, p.Path)
				if !strings.Contains(app.Message(), p.Message) {
					t.Errorf("message %q lacks %q", app.Message(), p.Message)
				}
			}
			expect(t, "problems", paths, test.paths)
			expect(t, "activities", l.ids(), nil)
		})
	}
}

// TestRuns_WithoutInputAreInvalid proves that a run of each kind fails as invalid if whoever starts
// it gives it no input, or null.
func TestRuns_WithoutInputAreInvalid(t *testing.T) {
	for _, kind := range []string{api.AgentWorkflow, api.PlanWorkflow, api.CallWorkflow,
		api.ScheduledWorkflow} {
		for name, input := range map[string][]any{"none": nil, "null": {nil}} {
			t.Run(kind+" with "+name, func(t *testing.T) {
				l := newLab(t)
				l.ExecuteWorkflow(kind, input...)
				l.failure(api.RunInvalid, nil)
			})
		}
	}
}
