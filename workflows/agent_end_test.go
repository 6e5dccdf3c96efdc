package workflows_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/switchyard/switchyard/activities/models"
	"github.com/switchyard/switchyard/api"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
)

// TestAgentCancelled proves that a cancelled run ends as cancelled: while a tool runs only after
// that call, with the waiting calls never started; while the model answers, and while the summary
// is made.
func TestAgentCancelled(t *testing.T) {
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

// cancelAt cancels the run when the activity of that id has started, or when the tool hang runs.
// The test environment ends a cancelled activity for the workflow at once.
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

// TestAgentRefusal proves that a model that declines fails the run with its words and the usage so
// far.
func TestAgentRefusal(t *testing.T) {
	l := newLab(t)
	l.answers = append(l.answers, func() (api.ModelResponse, error) {
		return api.ModelResponse{Message: api.Message{Text: "I would rather not."},
			Stop: api.StopRefusal}, nil
	})
	l.runAgent(toldAgent(), "Go.")
	var details api.RunResult
	if app := l.failure(api.RunRefused, &details); !strings.Contains(app.Message(),
		"I would rather not.") {
		t.Errorf("message: %s", app.Message())
	}
	if details.Usage.Turns != 1 {
		t.Errorf("details: %+v", details)
	}
}

// TestAgentModelFails proves that a passing failure of the model is tried again, that one for good
// fails the run at once, that a lasting one does after the attempts, each with what the model's
// side said.
func TestAgentModelFails(t *testing.T) {
	busy := func() (api.ModelResponse, error) {
		return api.ModelResponse{}, &models.Error{Message: "busy", RetryAfter: time.Hour}
	}
	broken := func() (api.ModelResponse, error) {
		return api.ModelResponse{}, &models.Error{Message: "wrong key", Permanent: true}
	}
	t.Run("passing", func(t *testing.T) {
		l := newLab(t)
		l.answers = append(l.answers, busy, busy)
		l.tell(api.Message{Text: "fine"})
		begin := l.Now()
		l.runAgent(toldAgent(), "Go.")
		if r := l.result(); r.Answer != "fine" || r.Usage.Turns != 1 {
			t.Errorf("result: %+v", r)
		}
		if took := l.Now().Sub(begin); took < 2*time.Hour {
			t.Errorf("the model asked for two hours of patience and got %s", took)
		}
	})
	t.Run("permanent", func(t *testing.T) {
		l := newLab(t)
		l.answers = append(l.answers, broken)
		l.runAgent(toldAgent(), "Go.")
		var usage api.Usage
		if app := l.failure(api.RunModelFailed, &usage); !strings.Contains(app.Message(),
			"wrong key") || len(l.prompts) != 1 {
			t.Errorf("%d attempts, message: %s", len(l.prompts), app.Message())
		}
	})
	t.Run("lasting", func(t *testing.T) {
		l := newLab(t)
		a := toldAgent()
		a.Model.MaxAttempts = 3
		l.answers = append(l.answers, busy, busy, busy, busy)
		l.runAgent(a, "Go.")
		if app := l.failure(api.RunModelFailed, nil); !strings.Contains(app.Message(), "busy") ||
			len(l.prompts) != 3 {
			t.Errorf("%d attempts, message: %s", len(l.prompts), app.Message())
		}
	})
	t.Run("empty answer", func(t *testing.T) {
		l := newLab(t)
		a := toldAgent()
		a.Model.MaxAttempts = 2
		l.tell(api.Message{}, api.Message{})
		l.runAgent(a, "Go.")
		l.failure(api.RunModelFailed, nil)
	})
}

// TestAgentInvalid proves that a run that cannot start fails at once, names every reason, and runs
// nothing.
func TestAgentInvalid(t *testing.T) {
	unknown := agent(answer("x"))
	unknown.Tools = []string{"greeet", "echo", "store2"}
	provider := agent(answer("x"))
	provider.Model.Provider = "nobody"
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
