package workflows_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/switchyard/switchyard/api"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"
)

// loads makes load_conversation return the result of f.
func (l *lab) loads(f func() (api.LoadedConversation, error)) {
	l.RegisterActivityWithOptions(func(context.Context,
		api.LoadConversationRequest) (api.LoadedConversation, error) {
		return f()
	},
		activity.RegisterOptions{Name: api.LoadConversationActivity})
}

// A run that continues a conversation numbers its turns after the earlier ones, and its model reads
// which turns are its own.
func TestConversation_NumbersTurnsOn(t *testing.T) {
	l := newLab(t)
	l.loads(func() (api.LoadedConversation, error) { return api.LoadedConversation{Turn: 4}, nil })
	l.modelAnswers(api.Message{Calls: []api.Call{{Tool: "greet", Arguments: `{"name":"a"}`}}},
		api.Message{Text: "done"})
	a := listedAgent()
	a.Limits.Turns = 2
	l.ExecuteWorkflow(api.AgentWorkflow, api.RunInput{Agent: a, Prompt: "Go.", Continue: true})
	if r := l.result(); r.Outcome != api.OutcomeAnswered || r.Usage.Turns != 2 {
		t.Errorf("result: %+v", r)
	}
	for i, p := range l.prompts {
		if p.Turn != 5+i || p.Before != 4 {
			t.Errorf("step %d is of turn %d, after %d", i, p.Turn, p.Before)
		}
	}
	if got := strings.Join(l.executed, " "); got != "5.1 greet" {
		t.Errorf("executed: %s", got)
	}
}

// Nothing runs, and the error has the reason.
func TestConversation_ThatCannotBeContinuedEndsTheRun(t *testing.T) {
	const busy = "the run x goes on"
	for want, in := range map[string]api.RunInput{
		"$.continue: the workflow id of a run that continues the conversation another must be another, so that no two runs continue it at once; it is default-test-workflow-id": {Conversation: "another"},
		"$.continue: the run of a sub-agent cannot continue a conversation":                                                                                                     {Parent: &api.Parent{Call: "1.1"}},
		"$.conversation: " + busy: {},
	} {
		l := newLab(t)
		l.loads(func() (api.LoadedConversation, error) {
			return api.LoadedConversation{Problems: []api.Problem{{Path: "$.conversation",
				Rule: "busy", Message: busy}}}, nil
		})
		in.Agent, in.Prompt, in.Continue = listedAgent(), "Go.", true
		l.ExecuteWorkflow(api.AgentWorkflow, in)
		if app := l.failure(api.RunInvalid, nil); app.Message() != "nothing was run: "+want {
			t.Errorf("got %q, want %q", app.Message(), want)
		}
	}
}

// The loss of the worker that loads a conversation is noticed by missing heartbeats, so that the
// run can continue or be cancelled soon.
func TestConversation_LoadingHasAHeartbeat(t *testing.T) {
	l := newLab(t)
	var got time.Duration
	l.RegisterActivityWithOptions(func(ctx context.Context,
		_ api.LoadConversationRequest) (api.LoadedConversation, error) {
		got = activity.GetInfo(ctx).HeartbeatTimeout
		return api.LoadedConversation{}, nil
	}, activity.RegisterOptions{Name: api.LoadConversationActivity})
	l.modelAnswers(api.Message{Text: "done"})
	l.ExecuteWorkflow(api.AgentWorkflow, api.RunInput{Agent: listedAgent(), Prompt: "Go.",
		Continue: true})
	l.result()
	if got != 5*time.Second {
		t.Errorf("the heartbeat timeout is %s", got)
	}
}

// A run that is cancelled before it has loaded its conversation ends without the details that the
// server gives to an activity that never started: readers would take them for the run's usage.
func TestAgentRun_CancelledBeforeItsStartHasNoDetails(t *testing.T) {
	l := newLab(t)
	l.loads(func() (api.LoadedConversation, error) {
		return api.LoadedConversation{}, temporal.NewCanceledError("ACTIVITY_ID_NOT_STARTED")
	})
	l.ExecuteWorkflow(api.AgentWorkflow, api.RunInput{Agent: listedAgent(), Prompt: "Go.",
		Continue: true})
	cancelled, ok := errors.AsType[*temporal.CanceledError](l.GetWorkflowError())
	if !ok || cancelled.HasDetails() {
		t.Errorf("the run ended with %v, details: %v", l.GetWorkflowError(), ok)
	}
}
