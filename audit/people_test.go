package audit_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit"
	"github.com/switchyard/switchyard/audit/history"
	"github.com/switchyard/switchyard/internal/value/jsonvalue"
	"github.com/switchyard/switchyard/tool"
	"github.com/switchyard/switchyard/toolspecs"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	updatepb "go.temporal.io/api/update/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
)

// questionSpecs are tools that ask people: ask waits without a limit, hurry for a short time, and
// inquire asks during its call.
func questionSpecs() []toolspecs.Spec {
	question := []toolspecs.Parameter{
		{Name: "question", Type: "string", Required: true},
		{Name: "password", Type: "string", Sensitive: true},
	}
	human := toolspecs.Spec{
		Name:        "ask",
		Version:     "1.0.0",
		Description: "Asks.",
		Parameters:  question,
		Entry:       toolspecs.Entry{Kind: toolspecs.HumanEntry{}},
		Output:      &toolspecs.Parameter{Type: "string"},
	}
	hurry := human
	hurry.Name = "hurry"
	hurry.Entry.Kind = toolspecs.HumanEntry{AnswerWithin: api.Duration(300 * time.Millisecond)}
	inquire := toolspecs.Spec{
		Name:        "inquire",
		Version:     "1.0.0",
		Description: "Asks.",
		Parameters:  question,
		Entry: toolspecs.Entry{
			Kind: toolspecs.FunctionEntry{AnswerWithin: api.Duration(time.Minute)}},
	}
	inquireInHurry := inquire
	inquireInHurry.Name = "inquire_in_hurry"
	inquireInHurry.Entry.Kind = toolspecs.FunctionEntry{Handler: "inquire",
		AnswerWithin: hurry.Entry.Common().AnswerWithin}
	return []toolspecs.Spec{human, hurry, inquire, inquireInHurry}
}

var inquire = tool.NewFunction("inquire", func(ctx context.Context, in struct {
	Question string `json:"question"`
	Password string `json:"password,omitzero"`
}) (string, error) {
	reply, err := tool.Ask(ctx, in.Question, nil)
	return jsonvalue.Plain(reply.Value), err
})

// withPeople returns an agent that asks people.
func withPeople(limits api.Limits, steps ...api.ScriptStep) api.RunInput {
	in := agent(limits, steps...)
	in.Agent.Tools = []string{"echo", "hanging", "ask", "hurry", "inquire", "inquire_in_hurry"}
	return in
}

// reply answers as the person who is asked; the question contains the answer, if any. An invalid
// answer precedes the valid one. A refusal waits until a worker has the call.
func reply(ctx context.Context, t *testing.T, c client.Client, run string, q api.Question) {
	t.Helper()
	r := api.Reply{Question: q.ID, By: "alice", Reason: "because", Decline: q.Text == "decline"}
	if answer, ok := strings.CutPrefix(q.Text, "answer "); ok {
		r.Value = []byte(`"` + answer + `"`)
		if len(q.Schema) > 0 {
			wrong := r
			wrong.Value = []byte(`7`)
			if send(ctx, c, run, wrong) == nil {
				t.Error("a wrong answer is taken")
			}
		}
	}
	if !r.Decline && r.Value == nil {
		return
	}
	err := send(ctx, c, run, r)
	for early(err) {
		err = send(ctx, c, run, r)
	}
	if err != nil {
		t.Error(err)
	}
}

func send(ctx context.Context, c client.Client, run string, r api.Reply) error {
	handle, err := c.UpdateWorkflow(ctx, client.UpdateWorkflowOptions{
		WorkflowID:   run,
		UpdateName:   api.AnswerQuestionUpdate,
		Args:         []any{r},
		WaitForStage: client.WorkflowUpdateStageCompleted,
	})
	if err != nil {
		return err
	}
	return handle.Get(ctx, nil)
}

func early(err error) bool {
	app, ok := errors.AsType[*temporal.ApplicationError](err)
	return ok && app.Type() == string(api.ReplyEarly)
}

// peopleScenarios are runs that ask people.
func peopleScenarios() []scenario {
	ask := func(tool, question string) api.ScriptCall {
		return call(tool, `{"question":"`+question+`","password":"secret"}`)
	}
	return []scenario{
		{
			name:     "people",
			workflow: api.AgentWorkflow,
			input: withPeople(api.Limits{}, turns(
				[]api.ScriptCall{ask("ask", "answer five")},
				[]api.ScriptCall{
					ask("ask", "decline"),
				},
				[]api.ScriptCall{ask("hurry", "wait")},
				[]api.ScriptCall{ask("inquire", "answer six")},
				[]api.ScriptCall{
					ask("inquire", "decline"),
				},
				[]api.ScriptCall{ask("inquire_in_hurry", "wait")},
			)...),
		},
		{
			name:     "people_cancelled",
			workflow: api.AgentWorkflow,
			stop:     cancelRun,
			input: withPeople(api.Limits{}, turns(
				[]api.ScriptCall{ask("ask", "wait"), call("hanging", `{}`)})...),
		},
		{
			name:     "people_terminated",
			workflow: api.AgentWorkflow,
			stop:     terminateRun,
			input: withPeople(api.Limits{}, turns(
				[]api.ScriptCall{ask("ask", "wait"), call("hanging", `{}`)})...),
		},
		{
			name:     "people_wall_time",
			workflow: api.AgentWorkflow,
			input: withPeople(api.Limits{WallTime: api.Duration(300 * time.Millisecond)},
				turns([]api.ScriptCall{ask("ask", "wait")})...),
		},
	}
}

// The open questions of a run are the same from its workers and, without one, from its history.
// Records, pending calls and the summary show who waits for a person.
func TestQuestions_AreReadFromWorkersAndHistory(t *testing.T) {
	c := devserver(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	steps := turns(
		[]api.ScriptCall{
			call("ask", `{"question":"wait"}`),
			call("inquire", `{"question":"really?"}`),
		},
	)
	execute(ctx, t, c, "asks", queue, api.AgentWorkflow, withPeople(api.Limits{}, steps...))
	var open []audit.RunQuestion
	for len(open) < 2 {
		var err error
		if open, err = audit.Questions(ctx, c, "asks", ""); err != nil {
			t.Fatal(err)
		}
	}
	summary, err := audit.Describe(ctx, c, "asks", "")
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []api.Question{{ID: "1.1", Call: "1.1", Tool: "ask", Text: "wait"},
		{ID: "1.2/1", Call: "1.2", Tool: "inquire", Text: "really?"}} {
		for _, q := range []api.Question{open[i].Question, summary.Questions[i]} {
			schema := len(q.Schema)
			left := q.Until.Sub(q.Asked)
			q.Schema, q.Asked, q.Until = nil, time.Time{}, time.Time{}
			if q.ID != want.ID || q.Call != want.Call || q.Tool != want.Tool ||
				q.Text != want.Text ||
				(schema > 0) != (want.ID == "1.1") ||
				left <= 0 ||
				open[i].WorkflowID != "asks" {
				t.Errorf("question %d: %+v", i, q)
			}
		}
	}
	running, err := audit.Pending(ctx, c, "asks", "")
	if err != nil {
		t.Fatal(err)
	}
	audit.OpenQuestions(running, "asks", open)
	for _, r := range running {
		if r.Kind == audit.KindCall &&
			(r.State != audit.StateAwaitingAnswer || len(r.Questions) != 1) {
			t.Errorf("the call %s is %s for %v", r.ID, r.State, r.Questions)
		}
	}
	for _, r := range collect(t, audit.Records(ctx, c, "asks", "")) {
		if r.Status != api.CallRunning || len(r.Notes) != 1 ||
			!strings.Contains(r.Notes[0], "waits for a person to answer") {
			t.Errorf("the record of %s: %s, notes %q", r.CallID, r.Status, r.Notes)
		}
	}
	if err := c.TerminateWorkflow(ctx, "asks", "", "enough"); err != nil {
		t.Fatal(err)
	}
	if open, err := audit.Questions(ctx, c, "asks", ""); len(open) != 0 || err != nil {
		t.Errorf("a closed run asks %+v, %v", open, err)
	}
	if _, err := audit.Questions(ctx, c, "nowhere", ""); !errors.Is(err, audit.ErrNotFound) {
		t.Errorf("an unknown run: %v", err)
	}
}

// The history of a run that was reset has the input of an update in the event of its admission
// only. Updates of others are ignored, and an unreadable one is an error.
func TestAdmittedUpdates_AreRead(t *testing.T) {
	request := func(id, name string, arg any) *updatepb.Request {
		return &updatepb.Request{
			Meta:  &updatepb.Meta{UpdateId: id},
			Input: &updatepb.Input{Name: name, Args: payloads(t, arg)},
		}
	}
	admitted := func(r *updatepb.Request) *historypb.HistoryEvent {
		return &historypb.HistoryEvent{
			EventType: enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_UPDATE_ADMITTED,
			Attributes: &historypb.HistoryEvent_WorkflowExecutionUpdateAdmittedEventAttributes{
				WorkflowExecutionUpdateAdmittedEventAttributes: &updateAdmittedAttributes{
					Request: r,
				}},
		}
	}
	accepted := func(id string, r *updatepb.Request) *historypb.HistoryEvent {
		return &historypb.HistoryEvent{
			EventType: enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_UPDATE_ACCEPTED,
			Attributes: &historypb.HistoryEvent_WorkflowExecutionUpdateAcceptedEventAttributes{
				WorkflowExecutionUpdateAcceptedEventAttributes: &updateAcceptedAttributes{
					ProtocolInstanceId: id,
					AcceptedRequest:    r,
				}},
		}
	}
	completed := func(id string, outcome *updatepb.Outcome) *historypb.HistoryEvent {
		return &historypb.HistoryEvent{
			EventType: enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_UPDATE_COMPLETED,
			Attributes: &historypb.HistoryEvent_WorkflowExecutionUpdateCompletedEventAttributes{
				WorkflowExecutionUpdateCompletedEventAttributes: &updateCompletedAttributes{
					Meta:    &updatepb.Meta{UpdateId: id},
					Outcome: outcome,
				}},
		}
	}
	success := &updatepb.Outcome{
		Value: &updatepb.Outcome_Success{Success: payloads(t, api.Reply{By: "ada"})},
	}
	ask := request("u1", api.AskQuestionUpdate, api.Question{Call: "1.1", Text: "?"})
	begin := started(t, api.CallWorkflow, payloads(t, direct("echo", `{}`)))
	d := history.NewDeriver("", "")
	var kinds []string
	for _, e := range derive(t, d, []*historypb.HistoryEvent{begin, admitted(ask),
		accepted("u1", nil), accepted("u2", request("u2", "another", 1)), completed("u2", success),
		accepted("u3", request("u3", api.AnswerQuestionUpdate, api.Reply{Question: "1.1/1",
			By: "ada"})), completed("u3", success), completed("u1", success)}) {
		kinds = append(kinds, string(e.Type))
	}
	if got := strings.Join(kinds, " "); got != "run_started question_asked question_closed" {
		t.Errorf("got %s", got)
	}
	for name, broken := range map[string][]*historypb.HistoryEvent{
		"a question": {accepted("u1", request("u1", api.AskQuestionUpdate, 1))},
		"a reply":    {accepted("u1", request("u1", api.AnswerQuestionUpdate, 1))},
		"an outcome": {accepted("u1", ask),
			completed("u1", &updatepb.Outcome{Value: &updatepb.Outcome_Success{Success: payloads(t,
				1)}})},
	} {
		d := history.NewDeriver("", "")
		derive(t, d, []*historypb.HistoryEvent{begin})
		var err error
		for _, e := range broken {
			_, err = d.Add(e)
		}
		if !errors.Is(err, history.ErrUnreadable) {
			t.Errorf("%s that cannot be read: %v", name, err)
		}
	}
}
