package workflows

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/switchyard/switchyard/api"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"
)

// maxAsking bounds the calls of a run that ask at a time. Each holds one of the updates that a
// server lets a run have in flight, ten by default, and replies need some of them too.
const maxOpenQuestions = 6

// maxAnswered bounds what a query for open questions or approvals answers with, in bytes.
const maxAnswered = 1 << 20

// questions are what the run waits for people to answer: calls of human tools, and what other calls
// ask while they run. They live in the run's memory; what was asked and replied stands in history.
type questions struct {
	origin api.Origin
	// hooks are those after the run's calls; parent is the path of the call that the run works for.
	hooks  []api.Hook
	parent string
	// open are in the order in which they were asked.
	open []*question
	// closed tells of questions that are over how they ended, in words, by id.
	closed map[string]string
	// calls are those that run, by id.
	calls map[string]*questionCall
	// asking counts the updates that wait for a reply.
	openQuestions int
}

// askingCall is a running call and how often it has asked.
type questionCall struct {
	tool  api.Tool
	asked int
}

type question struct {
	api.Question
	// tool and notes are set where the call itself is the question.
	tool  *api.Tool
	notes []string
	// hooks are those after such a call, which had these arguments.
	hooks     []api.Hook
	arguments json.RawMessage
	// checking is whose reply is being checked.
	checking string
	// reply is set when there is one, over when the question is closed.
	reply *api.Reply
	over  bool
	// taken says that the reply became the call's end.
	taken bool
}

// newQuestions makes the run answer the query and take the updates that are about questions. It
// comes before anything that waits, so that no update finds the run without.
func newQuestions(ctx workflow.Context) (*questions, error) {
	q := &questions{closed: map[string]string{}, calls: map[string]*questionCall{}}
	if err := workflow.SetQueryHandler(ctx, api.QuestionsQuery, q.list); err != nil {
		return nil, err
	}
	if err := workflow.SetUpdateHandlerWithOptions(ctx, api.AskQuestionUpdate, q.ask,
		workflow.UpdateHandlerOptions{Validator: q.mayAsk,
			Description: "a running call asks a person"}); err != nil {
		return nil, err
	}
	err := workflow.SetUpdateHandlerWithOptions(ctx, api.AnswerQuestionUpdate, q.reply,
		workflow.UpdateHandlerOptions{Validator: q.mayReply,
			Description: "a person replies to a question"})
	return q, err
}

// list answers the query with the open questions, as many as fit.
func (q *questions) list() ([]api.Question, error) {
	return answering(q.open, func(o *question) (api.Question, int) {
		return o.Question,
			len(o.Text) + len(o.Schema)
	}), nil
}

// answering is what a query answers with of what is open: as much as fits, one at least. of gives
// what is told of each, and its size.
func answering[T, Told any](open []T, of func(T) (Told, int)) []Told {
	list := []Told{}
	size := 0
	for _, o := range open {
		told, n := of(o)
		if size += n; size > maxAnswered && len(list) > 0 {
			break
		}
		list = append(list, told)
	}
	return list
}

// begin notes a call that has been scheduled. A call of a human tool is a question.
func (q *questions) begin(ctx workflow.Context, call *callRun) {
	c, v, t := call.call, call.decision, call.tool
	if t.AnswerWithin <= 0 {
		return
	}
	q.calls[c.ID] = &questionCall{tool: t}
	if t.Kind != api.KindHuman {
		return
	}
	now := workflow.Now(ctx)
	q.open = append(q.open, &question{tool: &t, notes: v.Notes, hooks: api.HooksFor(q.hooks,
		t.Name), arguments: call.arguments(), Question: api.Question{ID: c.ID, Call: c.ID,
		Tool: t.Name,
		Text: v.Question, Schema: t.OutputSchema, Asked: now,
		Until: now.Add(t.AnswerWithin.Std())}})
}

// end closes the questions of a call that is over.
func (q *questions) end(out api.CallOutcome) {
	if q.calls[out.ID] == nil {
		return
	}
	delete(q.calls, out.ID)
	for _, o := range slices.Clone(q.open) {
		if o.Call != out.ID {
			continue
		}
		how := "the call that asked is over"
		if o.tool != nil {
			o.taken = out.Result != nil || out.Error.Type == api.ErrApprovalDenied
			how = ending(out)
		}
		q.close(o, how)
	}
}

// ending says how the call that was a question ended.
func ending(out api.CallOutcome) string {
	if out.Error != nil {
		return out.Error.Error()
	}
	return strings.Join(out.Result.Notes, "; ")
}

func (q *questions) close(o *question, how string) {
	o.over = true
	q.closed[o.ID] = how
	q.open = slices.DeleteFunc(q.open, func(other *question) bool { return other == o })
}

// finish waits, when the calls of a turn or a run are over, for the updates that were about them.
// It does so in a cancelled run as well: whoever waits for an update is told how it ended.
func (q *questions) finish(ctx workflow.Context) error {
	ctx, cancel := workflow.NewDisconnectedContext(ctx)
	defer cancel()
	return workflow.Await(ctx, func() bool { return workflow.AllHandlersFinished(ctx) })
}

// mayAsk refuses what no running call may ask, and one more where as many as possible ask already.
func (q *questions) mayAsk(_ workflow.Context, in api.Question) error {
	call := q.calls[in.Call]
	switch {
	case call == nil || call.tool.Kind == api.KindHuman:
		return refuse(api.ReplyError{Type: api.AskRefused,
			Message: fmt.Sprintf("no call %q runs that may ask", in.Call)})
	case strings.TrimSpace(in.Text) == "" || len(in.Text) > api.MaxQuestionText ||
		len(in.Schema) > api.MaxQuestionSchema:
		return refuse(api.ReplyError{Type: api.AskRefused,
			Message: "the question is empty, or too large"})
	case q.openQuestions >= maxOpenQuestions:
		return refuse(api.ReplyError{Type: api.ReplyBusy,
			Message: fmt.Sprintf("%d calls of the run ask already", q.openQuestions)})
	}
	return nil
}

// ask opens a question of a running call and waits for the reply, the call's end, or the time at
// which it is given up.
func (q *questions) ask(ctx workflow.Context, in api.Question) (api.Reply, error) {
	call := q.calls[in.Call]
	call.asked++
	o := &question{Question: in}
	o.ID, o.Tool, o.Asked = api.QuestionID(in.Call, call.asked), call.tool.Name, workflow.Now(ctx)
	q.open = append(q.open, o)
	q.openQuestions++
	defer func() { q.openQuestions-- }()
	left := max(in.Until.Sub(o.Asked), time.Millisecond)
	options := workflow.AwaitOptions{Timeout: left,
		TimerOptions: workflow.TimerOptions{Summary: "question " + o.ID}}
	_, err := workflow.AwaitWithOptions(ctx, options, func() bool { return o.over })
	switch {
	case o.reply != nil:
		return *o.reply, nil
	case o.over:
		return api.Reply{}, refuse(api.ReplyError{Type: api.ReplyClosed, Message: q.closed[o.ID]})
	case err != nil:
		q.close(o, "the run was cancelled")
		return api.Reply{}, refuse(api.ReplyError{Type: api.ReplyClosed, Message: q.closed[o.ID]})
	}
	q.close(o, "nobody answered in time")
	return api.Reply{}, refuse(api.ReplyError{Type: api.ReplyTimeout, Message: q.closed[o.ID]})
}

// mayReply refuses, without a trace in history, what no reply is and what is none to an open
// question.
func (q *questions) mayReply(ctx workflow.Context, r api.Reply) error {
	if e := r.Check(); e != nil {
		return refuse(*e)
	}
	o := q.find(r.Question)
	switch {
	case o == nil:
		return refuse(q.notOpen(r.Question))
	case !workflow.Now(ctx).After(o.Asked):
		// The server does not know of the call yet: it learns of it with the decision that opened
		// the question.
		return refuse(api.ReplyError{Type: api.ReplyUnknown,
			Message: fmt.Sprintf("question %q is only being asked", r.Question)})
	case o.checking != "":
		return refuse(api.ReplyError{Type: api.ReplyBusy,
			Message: fmt.Sprintf("a reply of %s to question %q is being checked", o.checking,
				r.Question)})
	}
	return nil
}

func (q *questions) find(id string) *question {
	i := slices.IndexFunc(q.open, func(o *question) bool { return o.ID == id })
	if i < 0 {
		return nil
	}
	return q.open[i]
}

// notOpen says why there is nothing to reply to, and to what there is.
func (q *questions) notOpen(id string) api.ReplyError {
	e := api.ReplyError{Type: api.ReplyUnknown, Message: fmt.Sprintf("the run has no question %q",
		id)}
	if how, ok := q.closed[id]; ok {
		e.Type, e.Message = api.ReplyClosed, fmt.Sprintf("question %q is closed: %s", id, how)
	}
	for _, o := range q.open {
		e.Open = append(e.Open, o.ID)
	}
	e.Message += meant(e.Open, "none is open", "open")
	return e
}

// maxNamed bounds the ids that a refusal names in its message.
const maxNamed = 10

// meant ends the message of a refusal with what could be meant: the first of the open ones, behind
// a word for how they stand, or none where there are none.
func meant(open []string, none, statusText string) string {
	if len(open) == 0 {
		return "; " + none
	}
	return "; " + statusText + ": " + strings.Join(open[:min(len(open), maxNamed)], ", ")
}

// reply has a reply checked. One that does not fit leaves the question open; one that fits ends it,
// and where the call itself is the question, the call.
func (q *questions) reply(ctx workflow.Context, r api.Reply) error {
	o := q.find(r.Question)
	o.checking = r.By
	defer func() { o.checking = "" }()
	request := api.ReplyRequest{Reply: r, Question: o.Question, Tool: o.tool, Origin: q.origin,
		Notes: o.notes, Hooks: o.hooks, Arguments: o.arguments, Parent: q.parent}
	decision, err := q.evaluate(ctx, request)
	switch {
	case err != nil:
		return err
	case len(decision.Problems) > 0:
		return refuse(api.ReplyError{Type: api.ReplyUnfit,
			Message:  fmt.Sprintf("the answer does not fit question %q", o.ID),
			Problems: decision.Problems})
	case o.over:
		return refuse(q.notOpen(o.ID))
	case o.tool == nil:
		o.reply = &r
		q.close(o, r.Note())
		return nil
	}
	return q.endCall(ctx, o, request)
}

// endCall makes a reply that fits the end of the call that asks. Ending the call is a deed outside
// of the run, so the run first lets the server write down, by a timer, that the reply was accepted:
// a step that only brings an update is kept nowhere until then, and is done again when it is lost.
func (q *questions) endCall(ctx workflow.Context, o *question, request api.ReplyRequest) error {
	if err := workflow.NewTimerWithOptions(ctx, time.Millisecond,
		workflow.TimerOptions{Summary: "reply to " + o.ID}).Get(ctx, nil); err != nil {
		return err
	}
	request.Complete = true
	if !o.over {
		decision, err := q.evaluate(ctx, request)
		if err != nil {
			return err
		}
		if decision.Early {
			return refuse(api.ReplyError{Type: api.ReplyEarly,
				Message: fmt.Sprintf(
					"call %s still waits for a worker of its lane and cannot be declined before one has taken it",
					o.Call)})
		}
	}
	// The reply is on its way as the call's end; that history has it is what counts.
	if err := workflow.Await(ctx, func() bool { return o.over }); err != nil {
		return err
	}
	if !o.taken {
		return refuse(q.notOpen(o.ID))
	}
	return nil
}

func (q *questions) evaluate(ctx workflow.Context, r api.ReplyRequest) (decision api.ReplyDecision,
	err error) {
	err = workflow.ExecuteLocalActivity(saying(withLocalOptions(ctx, r.Hooks...),
		"check of the reply to "+r.Question.ID), api.CheckReplyActivity, r).Get(ctx, &decision)
	return decision, err
}

// refuse is what an update fails with.
func refuse(e api.ReplyError) error {
	return temporal.NewApplicationErrorWithOptions(e.Message, string(e.Type),
		temporal.ApplicationErrorOptions{NonRetryable: true, Details: []any{e}})
}
