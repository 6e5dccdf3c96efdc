package workflows_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/people"
	"github.com/switchyard/switchyard/internal/value/jsonvalue"
	"github.com/switchyard/switchyard/tool"
	"github.com/switchyard/switchyard/toolspecs"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
)

// peoplesTools are tools that ask people.
const peoplesTools = `
name: ask
version: 1.0.0
description: Asks a person.
parameters: [{name: question, type: string}, {name: pin, type: string, sensitive: true}]
entry: {type: human}
---
name: budget
version: 1.0.0
description: How much may be spent?
parameters: [{name: for, type: string, required: true}, {name: pin, type: string, sensitive: true}]
output: {type: integer, validation: {min: 1, max: 100}}
entry: {type: human}
---
name: inquire
version: 1.0.0
description: Asks a person in the middle of its call.
parameters: [{name: text, type: string, required: true}]
entry: {type: function, answer_within: 1h}
execution: {effect: read}
`

// answerers is what a server stores about calls that wait for people: their activities, by id.
type answerers struct {
	tries   atomic.Int64
	mu      sync.Mutex
	pending map[string]*workflowpb.PendingActivityInfo
	tokens  map[string][]byte
}

// newPeoplesLab is newLab with tools that ask people.
func newPeoplesLab(t *testing.T) *lab {
	t.Helper()
	specs, err := toolspecs.Decode("people.yaml", []byte(peoplesTools), toolspecs.Options{})
	if err != nil {
		t.Fatal(err)
	}
	l := newLabOf(t, 1, specs...)
	l.people = &answerers{pending: map[string]*workflowpb.PendingActivityInfo{},
		tokens: map[string][]byte{}}
	return l
}

// inquire asks the question of its arguments and returns the reply.
func (l *lab) inquire(ctx context.Context, in struct {
	Text string `json:"text"`
}) (string, error) {
	l.count(ctx)
	reply, err := tool.Ask(ctx, in.Text, json.RawMessage(`{"type":"string"}`))
	if reply.Decline {
		return people.ReplyNote(reply), err
	}
	return jsonvalue.Plain(reply.Value), err
}

// taken records an activity that a worker has taken, as a server does.
func (p *answerers) taken(info *activity.Info) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.tokens[info.ActivityID] = info.TaskToken
	p.pending[info.ActivityID] = &workflowpb.PendingActivityInfo{ActivityId: info.ActivityID,
		State: enumspb.PENDING_ACTIVITY_STATE_STARTED}
}

func (c queryClient) DescribeWorkflowExecution(context.Context, string,
	string) (*workflowservice.DescribeWorkflowExecutionResponse, error) {
	p := c.lab.people
	if p == nil {
		return nil, errors.New("the environment has no server")
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	r := &workflowservice.DescribeWorkflowExecutionResponse{}
	for _, a := range p.pending {
		r.PendingActivities = append(r.PendingActivities, a)
	}
	return r, nil
}

func (c queryClient) CompleteActivityByID(_ context.Context, _, _, _, id string, result any,
	err error) error {
	p := c.lab.people
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.pending[id] == nil {
		return serviceerror.NewNotFound("no such activity")
	}
	delete(p.pending, id)
	return c.lab.CompleteActivity(p.tokens[id], result, err)
}

func (c queryClient) UpdateWorkflow(ctx context.Context,
	o client.UpdateWorkflowOptions) (client.WorkflowUpdateHandle, error) {
	// The test environment does not forget a refused update, as servers do.
	u := c.lab.update(o.UpdateName, fmt.Sprint(o.UpdateID, c.lab.people.tries.Add(1)), o.Args...)
	select {
	case <-u.over:
	case <-u.accepted:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	return u, nil
}

// update is an update of the run of the test environment.
type update struct {
	client.WorkflowUpdateHandle
	once           sync.Once
	accepted, over chan struct{}
	result         any
	err            error
}

func (u *update) Accept() { u.once.Do(func() { close(u.accepted) }) }

func (u *update) Reject(err error) { u.Complete(nil, err) }

func (u *update) Complete(result any, err error) {
	u.result, u.err = result, err
	close(u.over)
}

func (u *update) Get(ctx context.Context, into any) error {
	select {
	case <-u.over:
	case <-ctx.Done():
		return ctx.Err()
	}
	if u.err != nil || into == nil {
		return u.err
	}
	payload, err := converter.GetDefaultDataConverter().ToPayload(u.result)
	if err != nil {
		return err
	}
	return converter.GetDefaultDataConverter().FromPayload(payload, into)
}

// updateRun sends an update to the run. It is for callbacks of the test environment, which accepts
// updates only in their goroutine.
func (l *lab) updateRun(name, id string, args ...any) *update {
	u := &update{accepted: make(chan struct{}), over: make(chan struct{})}
	l.UpdateWorkflow(name, id, u, args...)
	return u
}

// update is updateRun for activities: when it returns, the run gets the update before it learns how
// the activity ended.
func (l *lab) update(name, id string, args ...any) *update {
	sent := make(chan *update, 1)
	l.RegisterDelayedCallback(func() { sent <- l.updateRun(name, id, args...) }, 0)
	return <-sent
}

// open queries the run's open questions.
func (l *lab) open() []api.Question {
	l.t.Helper()
	value, err := l.QueryWorkflow(api.QuestionsQuery)
	if err != nil {
		l.t.Fatal(err)
	}
	var list []api.Question
	if err := value.Get(&list); err != nil {
		l.t.Fatal(err)
	}
	return list
}

// after calls f at a time of the run's clock.
func (l *lab) after(d time.Duration, f func()) { l.RegisterDelayedCallback(f, d) }

// reply replies at a time of the run's clock; the returned value has the outcome.
func (l *lab) reply(d time.Duration, r api.Reply) *update {
	u := &update{accepted: make(chan struct{}), over: make(chan struct{})}
	l.after(d, func() {
		l.UpdateWorkflow(api.AnswerQuestionUpdate, fmt.Sprint(r, d), u, r)
	})
	return u
}

// refused returns why a reply was refused; nil if it was accepted.
func (u *update) refused(t *testing.T) *api.ReplyError {
	t.Helper()
	select {
	case <-u.over:
	default:
		t.Fatal("the reply is not over")
	}
	if u.err == nil {
		return nil
	}
	app, ok := errors.AsType[*temporal.ApplicationError](u.err)
	var e api.ReplyError
	if !ok || app.Details(&e) != nil || string(e.Type) != app.Type() || e.Message != app.Message() {
		t.Fatalf("the reply ended with %v", u.err)
	}
	return &e
}

func says(question, by, value string) api.Reply {
	return api.Reply{Question: question, By: by, Value: []byte(value)}
}

// peoplesAgent returns an agent with the tools that ask people.
func peoplesAgent(steps ...api.ScriptStep) *api.Agent {
	a := agent(steps...)
	a.Tools = []string{"ask", "budget", "inquire", "echo"}
	return a
}

func (l *lab) runPeoplesAgent(steps ...api.ScriptStep) {
	l.ExecuteWorkflow(api.AgentWorkflow, api.RunInput{Agent: peoplesAgent(steps...), Prompt: "Go."},
		[]byte(nil))
}

// The refusal lists the open questions.
func TestReplies_WithoutAnOpenQuestionAreRefused(t *testing.T) {
	l := newPeoplesLab(t)
	tests := []struct {
		reply api.Reply
		want  api.ReplyErrorType
		says  string
	}{
		{says("2.1", "ada", `1`), api.ReplyUnknown, `the run has no question "2.1"; open: 1.1, 1.2`},
		{says("1.1", "", `1`), api.ReplyMalformed, "the reply has no name"},
		{api.Reply{Question: "1.1", By: "ada"}, api.ReplyMalformed, "the reply neither has a value nor declines"},
		{api.Reply{Question: "1.1", By: "ada", Reason: strings.Repeat("x", 3000), Decline: true},
			api.ReplyMalformed, "the reason is too long"},
	}
	updates := make([]*update, len(tests))
	for i, test := range tests {
		updates[i] = l.reply(time.Duration(i+1)*time.Minute, test.reply)
	}
	l.reply(time.Hour, says("1.1", "ada", `1`))
	l.reply(2*time.Hour, says("1.2", "ada", `1`))
	l.runPeoplesAgent(step(call("ask", `{}`), call("ask", `{}`)), answer("done"))
	l.result()
	for i, test := range tests {
		if e := updates[i].refused(t); e == nil || e.Type != test.want ||
			e.Message != test.says {
			t.Errorf("%+v: %+v", test.reply, e)
		}
	}
}

// The other is refused because the first is being checked. A reply is accepted only if it ended the
// call.
func TestReplies_OneOfTwoIsAccepted(t *testing.T) {
	l := newPeoplesLab(t)
	one, two := l.reply(time.Minute, says("1.1", "ada", `1`)),
		l.reply(time.Minute, says("1.1", "bob", `2`))
	l.runPeoplesAgent(step(call("ask", `{}`)), answer("done"))
	l.result()
	first, second := one.refused(t), two.refused(t)
	if (first == nil) == (second == nil) {
		t.Fatalf("the replies ended with %+v and %+v", first, second)
	}
	if first == nil {
		first = second
	}
	if first.Type != api.ReplyBusy && first.Type != api.ReplyClosed {
		t.Errorf("the other reply: %+v", first)
	}
}

// Their ids start with that of the call. Questions beyond the limit wait for others, and each gets
// its own reply.
func TestQuestions_DuringCalls(t *testing.T) {
	l := newPeoplesLab(t)
	var calls []api.ScriptCall
	for i := range 9 {
		calls = append(calls, call("inquire", fmt.Sprintf(`{"text":"%d?"}`, i+1)))
	}
	most, replied := 0, map[string]*update{}
	var reply func()
	reply = func() {
		open := l.open()
		most = max(most, len(open))
		for _, q := range open {
			// It accepts no reply at the very time at which it is asked.
			if replied[q.ID] == nil && l.Now().After(q.Asked) {
				replied[q.ID] = l.updateRun(api.AnswerQuestionUpdate, "", says(q.ID, "ada", `"`+q.ID+
					` `+q.Text+`"`))
			}
		}
		if len(replied) < len(calls) {
			l.after(10*time.Millisecond, reply)
		}
	}
	l.after(10*time.Millisecond, reply)
	l.runPeoplesAgent(step(calls...), answer("done"))
	l.result()
	for id, u := range replied {
		if e := u.refused(t); e != nil {
			t.Errorf("%s: %+v", id, e)
		}
	}
	if most > 6 {
		t.Errorf("%d calls asked at a time", most)
	}
	for i, m := range l.conversation()[3:12] {
		if want := fmt.Sprintf("1.%d/1 %d?\n[note: question 1.%d/1 was answered by ada]", i+1, i+1,
			i+1); m.Text != want {
			t.Errorf("the model reads %q, want %q", m.Text, want)
		}
	}
}
