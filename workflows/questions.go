package workflows

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/hookrules"
	"github.com/switchyard/switchyard/internal/core/people"
	"github.com/switchyard/switchyard/internal/value/jsonvalue"
	"github.com/switchyard/switchyard/workflows/budget"
	"github.com/switchyard/switchyard/workflows/smallmap"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"
)

// maxOpenQuestions bounds the updates of a run that wait for a reply at a time. A server allows a
// run ten updates in flight by default, and replies need some of them.
const maxOpenQuestions = 6

// maxAnswered bounds the answer of a query for open questions or approvals, in bytes.
const maxAnswered = 1 << 20

// questions are the questions that the run waits for people to answer: calls of human tools, and
// those that other calls ask while they run. They live in the run's memory; history holds the
// questions and replies.
type questions struct {
	Bystander
	// origin returns the origin of a call.
	origin func(callID string) api.Origin
	// hooks run after the run's calls; parent is the path of the call that the run works for.
	hooks  []api.Hook
	parent string
	// open are in the order in which they were asked.
	open []*question
	// closed maps the ID of a closed question to how it ended, in words.
	closed smallmap.Map[string]
	// calls are the running calls by ID.
	calls smallmap.Map[*questionCall]
	// openQuestions counts the updates that wait for a reply.
	openQuestions int
	sizes         *budget.Sizes
	// changed updates what the run shows about its state.
	changed func(workflow.Context)
}

// questionCall is a running call and how often it has asked.
type questionCall struct {
	tool  api.Tool
	asked int
}

type question struct {
	api.Question
	// tool and notes are set if the call itself is the question.
	tool  *api.Tool
	notes []string
	// hooks run after such a call, whose arguments these are.
	hooks     []api.Hook
	arguments json.RawMessage
	// waiting is set while the call that is the question is not scheduled.
	waiting bool
	// checking is the person whose reply is being checked.
	checking string
	// reply is set when there is one; over is set when the question is closed.
	reply *api.Reply
	over  bool
	// taken is set if the reply became the call's result.
	taken bool
}

// newQuestions registers the query and the update handlers of questions. Call it before anything
// that blocks, so that every update finds its handler.
func newQuestions(ctx workflow.Context, sizes *budget.Sizes) (*questions, error) {
	q := &questions{sizes: sizes, changed: unshown}
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
	return collectFitting(q.open, func(o *question) (api.Question, int) {
		return o.Question,
			len(o.Text) + len(o.Schema)
	}), nil
}

// of returns the first open question of a call; nil if there is none.
func (q *questions) of(callID string) *api.Question {
	for _, o := range q.open {
		if o.Call == callID {
			return &o.Question
		}
	}
	return nil
}

// collectFitting returns a query's answer from the open items: as many as fit, at least one. of
// returns
// an item's answer and its size.
func collectFitting[T, Told any](open []T, of func(T) (Told, int)) []Told {
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

// begin registers a call that may ask.
func (q *questions) Begin(call *Call) {
	if call.tool.AnswerWithin > 0 {
		q.calls.Set(call.call.ID, &questionCall{tool: *call.tool})
	}
}

// openQuestion opens the question of a call of a human tool that is being scheduled. A reply before
// that could not end the call.
func (q *questions) openQuestion(ctx workflow.Context, call *Call) {
	c, t, now := call.call, *call.tool, workflow.Now(ctx)
	if t.Dispatch != api.DispatchQuestion || t.AnswerWithin <= 0 {
		return
	}
	o := q.find(c.ID)
	if o == nil {
		o = &question{tool: &t, notes: call.decision.Notes, hooks: hookrules.For(q.hooks, t.Name),
			arguments: call.Arguments(), Question: api.Question{ID: c.ID, Call: c.ID, Tool: t.Name,
				Text: call.decision.Question, Schema: t.OutputSchema}}
		q.open = append(q.open, o)
	}
	o.waiting, o.Asked, o.Until = false, now, now.Add(t.AnswerWithin.Std())
}

// requeue notes that a call is to be scheduled again.
func (q *questions) Requeue(call *Call) {
	if o := q.find(call.call.ID); o != nil {
		o.waiting = true
	}
}

// end closes the questions of a call that has ended.
func (q *questions) End(_ workflow.Context, _ *Call, out api.CallOutcome) {
	if q.calls.Get(out.ID) == nil {
		return
	}
	q.calls.Delete(out.ID)
	for _, o := range slices.Clone(q.open) {
		if o.Call != out.ID {
			continue
		}
		how := "the call that asked is over"
		if o.tool != nil {
			o.taken = out.Result != nil || out.Error.Type == api.ErrApprovalDenied
			how = describeOutcome(out)
		}
		q.close(o, how)
	}
}

// describeOutcome says how the call that was a question ended.
func describeOutcome(out api.CallOutcome) string {
	if out.Error != nil {
		return out.Error.Error()
	}
	return strings.Join(out.Result.Notes, "; ")
}

func (q *questions) close(o *question, how string) {
	o.over = true
	q.closed.Set(o.ID, how)
	q.open = slices.DeleteFunc(q.open, func(other *question) bool { return other == o })
}

// finish waits, after the calls of a turn or run have ended, for the updates about them. It waits
// in a cancelled run as well, so that every update gets its result.
func (q *questions) Finish(ctx workflow.Context) error {
	ctx, cancel := workflow.NewDisconnectedContext(ctx)
	defer cancel()
	return workflow.Await(ctx, func() bool { return workflow.AllHandlersFinished(ctx) })
}

// mayAsk rejects malformed questions, those of calls that do not run, and those beyond
// maxOpenQuestions.
func (q *questions) mayAsk(ctx workflow.Context, in api.Question) error {
	call := q.calls.Get(in.Call)
	switch {
	case call == nil || call.tool.Dispatch == api.DispatchQuestion:
		return refuse(api.ReplyError{Type: api.AskRefused,
			Message: fmt.Sprintf("no call %q runs that may ask", in.Call)})
	case strings.TrimSpace(in.Text) == "" || len(in.Text) > api.MaxQuestionText ||
		len(in.Schema) > api.MaxQuestionSchema:
		return refuse(api.ReplyError{Type: api.AskRefused,
			Message: "the question is empty, or too large"})
	case !q.sizes.Task.Accepts(ctx, in.Size()):
		return refuse(api.ReplyError{Type: api.ReplyBusy, Message: busy})
	case q.openQuestions >= maxOpenQuestions:
		return refuse(api.ReplyError{Type: api.ReplyBusy,
			Message: fmt.Sprintf("%d calls of the run ask already", q.openQuestions)})
	}
	return nil
}

// ask opens a question of a running call. It waits for the reply, the end of the call, or the
// question's timeout.
func (q *questions) ask(ctx workflow.Context, in api.Question) (api.Reply, error) {
	q.sizes.Updates++
	q.sizes.Task.Add(ctx, in.Size())
	call := q.calls.Get(in.Call)
	call.asked++
	o := &question{Question: in}
	o.ID, o.Tool, o.Asked = api.QuestionID(in.Call, call.asked), call.tool.Name, workflow.Now(ctx)
	q.open = append(q.open, o)
	q.openQuestions++
	q.changed(ctx)
	defer func() {
		q.openQuestions--
		q.changed(ctx)
	}()
	left := max(in.Until.Sub(o.Asked), time.Millisecond)
	options := workflow.AwaitOptions{Timeout: left,
		TimerOptions: workflow.TimerOptions{Summary: "question " + o.ID}}
	_, err := workflow.AwaitWithOptions(ctx, options, func() bool { return o.over })
	switch {
	case o.reply != nil:
		q.sizes.Task.Add(ctx, jsonvalue.PayloadSize(o.reply.Value)) // the result of the update
		return *o.reply, nil
	case o.over:
		return api.Reply{}, refuse(api.ReplyError{Type: api.ReplyClosed,
			Message: q.closed.Get(o.ID)})
	case err != nil:
		q.close(o, "the run was cancelled")
		return api.Reply{}, refuse(api.ReplyError{Type: api.ReplyClosed,
			Message: q.closed.Get(o.ID)})
	}
	q.close(o, "no answer came in time")
	return api.Reply{}, refuse(api.ReplyError{Type: api.ReplyTimeout,
		Message: q.closed.Get(o.ID)})
}

// mayReply rejects, without an event in history, malformed replies and those without an open
// question.
func (q *questions) mayReply(ctx workflow.Context, r api.Reply) error {
	if e := people.CheckReply(r); e != nil {
		return refuse(*e)
	}
	o := q.find(r.Question)
	switch {
	case o == nil:
		return refuse(q.notOpen(r.Question))
	case !q.sizes.Task.Accepts(ctx, jsonvalue.PayloadSize(r.Value)):
		return refuse(api.ReplyError{Type: api.ReplyBusy, Message: busy})
	case o.waiting || !workflow.Now(ctx).After(o.Asked):
		// The server does not know the call yet: it is scheduled when the workflow task that opened
		// the question completes.
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

// notOpen returns the error for a reply without an open question and lists the open ones.
func (q *questions) notOpen(id string) api.ReplyError {
	e := api.ReplyError{Type: api.ReplyUnknown, Message: fmt.Sprintf("the run has no question %q",
		id)}
	if how, ok := q.closed.Find(id); ok {
		e.Type, e.Message = api.ReplyClosed, fmt.Sprintf("question %q is closed: %s", id, how)
	}
	for _, o := range q.open {
		e.Open = append(e.Open, o.ID)
	}
	e.Message += meant(e.Open, "none is open", "open")
	return e
}

// maxNamed bounds the IDs in the message of a rejection.
const maxNamed = 10

// meant ends a rejection with the first open items after a word for their status, or with none if
// there are no open items.
func meant(open []string, none, statusText string) string {
	if len(open) == 0 {
		return "; " + none
	}
	return "; " + statusText + ": " + strings.Join(open[:min(len(open), maxNamed)], ", ")
}

// reply checks a reply. An invalid one leaves the question open. A valid one closes it and, if the
// call itself is the question, ends the call.
func (q *questions) reply(ctx workflow.Context, r api.Reply) error {
	q.sizes.Updates++
	q.sizes.Task.Add(ctx, jsonvalue.PayloadSize(r.Value))
	o := q.find(r.Question)
	o.checking = r.By
	defer func() { o.checking = "" }()
	request := api.ReplyRequest{Reply: r, Question: o.Question, Tool: o.tool,
		Origin: q.origin(o.Call),
		Notes:  o.notes, Hooks: o.hooks, Arguments: o.arguments, Parent: q.parent}
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
		q.close(o, people.ReplyNote(r))
		return nil
	}
	return q.endCall(ctx, o, request)
}

// endCall makes a valid reply the end of the call that is the question. Ending the call is a side
// effect outside the run, so the run first starts a timer to have the server record that the update
// was accepted. A workflow task with only an update is not recorded before that and repeats if it
// is lost.
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
			return refuse(early(o))
		}
	}
	// The reply is delivered as the call's end; only that end in history counts.
	if err := workflow.Await(ctx, func() bool { return o.over || o.waiting }); err != nil {
		return err
	}
	if !o.over {
		return refuse(early(o))
	}
	if !o.taken {
		return refuse(q.notOpen(o.ID))
	}
	return nil
}

// early returns the error for a reply to a question whose call no worker has taken.
func early(o *question) api.ReplyError {
	return api.ReplyError{Type: api.ReplyEarly, Message: fmt.Sprintf(
		"call %s still waits for a worker of its lane; send the reply again when one has taken it",
		o.Call)}
}

// replyDecisionSize is about how many bytes the problems of a reply are recorded with.
const replyDecisionSize = 16 << 10

func (q *questions) evaluate(ctx workflow.Context, r api.ReplyRequest) (decision api.ReplyDecision,
	err error) {
	cancelled := q.sizes.Task.Record(ctx, replyDecisionSize, func() int {
		err = workflow.ExecuteLocalActivity(withSummary(withLocalOptions(ctx, r.Hooks...),
			"check of the reply to "+r.Question.ID), api.CheckReplyActivity, r).Get(ctx, &decision)
		return measureJSON(decision)
	})
	return decision, cmp.Or(cancelled, err)
}

// refuse returns the error of a rejected update.
func refuse(e api.ReplyError) error {
	return temporal.NewApplicationErrorWithOptions(e.Message, string(e.Type),
		temporal.ApplicationErrorOptions{NonRetryable: true, Details: []any{e}})
}

// busy is the message to a sender whose update does not fit into the current workflow task.
const busy = "the run takes large updates from others at the moment; send this one again"
