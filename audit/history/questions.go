package history

import (
	"slices"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit/internal/pb"
	commonpb "go.temporal.io/api/common/v1"
	historypb "go.temporal.io/api/history/v1"
	updatepb "go.temporal.io/api/update/v1"
)

// asked is what a run asks people, as far as the history says.
type asked struct {
	// open are in the order in which they were asked.
	open []api.Question
	// times counts what a running call asked in its middle, by the call's id.
	times map[string]int
	// asks are the questions, and replies the replies, that updates brought which are not over, by the update's id.
	asks    map[string]string
	replies map[string]api.Reply
	// admitted are updates whose acceptance does not repeat what they brought: those of a run that was reset.
	admitted map[string]*updatepb.Request
	// approvals are the calls that people are to approve.
	approvals approvals
}

func newAsked() asked {
	return asked{times: map[string]int{}, asks: map[string]string{}, replies: map[string]api.Reply{}, admitted: map[string]*updatepb.Request{},
		approvals: newApprovals()}
}

// ask opens a question.
func (d *Deriver) ask(e *historypb.HistoryEvent, q api.Question, turn int) {
	d.asked.open = append(d.asked.open, q)
	d.emit(e, api.Event{Type: api.EventQuestionAsked, Turn: turn, CallID: q.Call, Tool: q.Tool, Question: &q})
}

// askPerson opens the question that a call of a human tool is; text is what its verdict says.
func (d *Deriver) askPerson(e *historypb.HistoryEvent, r api.Record, text string) {
	t := d.tools[r.Tool]
	if t.Kind != api.KindHuman {
		return
	}
	d.ask(e, api.Question{ID: r.CallID, Call: r.CallID, Tool: r.Tool, Text: text, Schema: t.OutputSchema, Asked: r.Scheduled,
		Until: r.Scheduled.Add(t.AnswerWithin.Std())}, r.Turn)
}

func (d *Deriver) updateAdmitted(e *historypb.HistoryEvent) error {
	request := e.GetWorkflowExecutionUpdateAdmittedEventAttributes().GetRequest()
	d.asked.admitted[request.GetMeta().GetUpdateId()] = request
	return nil
}

// updateAccepted reads a question of a running call, a reply, a decision, or what has the run pause, go on or read a message.
func (d *Deriver) updateAccepted(e *historypb.HistoryEvent) error {
	a := e.GetWorkflowExecutionUpdateAcceptedEventAttributes()
	id, request := a.GetProtocolInstanceId(), a.GetAcceptedRequest()
	if request == nil {
		request = d.asked.admitted[id]
	}
	delete(d.asked.admitted, id)
	switch request.GetInput().GetName() {
	case api.AskQuestionUpdate:
		var q api.Question
		if err := d.decodeEvent(e, "question", request.GetInput().GetArgs(), &q); err != nil {
			return err
		}
		d.asked.times[q.Call]++
		q.ID, q.Asked = api.QuestionID(q.Call, d.asked.times[q.Call]), pb.TimeOf(e.GetEventTime())
		d.asked.asks[id] = q.ID
		d.ask(e, q, d.turn)
	case api.AnswerQuestionUpdate:
		var r api.Reply
		if err := d.decodeEvent(e, "reply", request.GetInput().GetArgs(), &r); err != nil {
			return err
		}
		r.Value = nil // it may be large, and stands where it was given for
		d.asked.replies[id] = r
	case api.DecideApprovalUpdate:
		var decision api.Decision
		if err := d.decodeEvent(e, "decision", request.GetInput().GetArgs(), &decision); err != nil {
			return err
		}
		d.decisionCame(id, decision)
	default:
		return d.controlled(e, id, request.GetInput())
	}
	return nil
}

// updateCompleted reads what became of a question of a running call, of a reply, or of a decision.
func (d *Deriver) updateCompleted(e *historypb.HistoryEvent) error {
	a := e.GetWorkflowExecutionUpdateCompletedEventAttributes()
	id, success := a.GetMeta().GetUpdateId(), a.GetOutcome().GetSuccess()
	if r, ok := d.asked.replies[id]; ok {
		delete(d.asked.replies, id)
		if a.GetOutcome().GetFailure() == nil {
			d.closeQuestion(e, r.Question, &r)
		}
		return nil
	}
	if _, ok := d.asked.approvals.decisions[id]; ok {
		d.decisionTaken(e, id, pb.FailureMessage(a.GetOutcome().GetFailure()))
		return nil
	}
	question, ok := d.asked.asks[id]
	if !ok {
		return nil
	}
	delete(d.asked.asks, id)
	return d.closeAsked(e, question, success)
}

// closeAsked closes a question of a running call; without a reply it was given up or withdrawn.
func (d *Deriver) closeAsked(e *historypb.HistoryEvent, id string, success *commonpb.Payloads) error {
	if success == nil {
		d.closeQuestion(e, id, nil)
		return nil
	}
	var r api.Reply
	if err := d.decodeEvent(e, "reply", success, &r); err != nil {
		return err
	}
	r.Value = nil
	d.closeQuestion(e, id, &r)
	return nil
}

func (d *Deriver) closeQuestion(e *historypb.HistoryEvent, id string, r *api.Reply) {
	i := slices.IndexFunc(d.asked.open, func(q api.Question) bool { return q.ID == id })
	if i < 0 {
		return
	}
	q := d.asked.open[i]
	d.asked.open = slices.Delete(d.asked.open, i, i+1)
	q.Schema = nil
	d.emit(e, api.Event{Type: api.EventQuestionClosed, Turn: d.turn, CallID: q.Call, Tool: q.Tool, Question: &q, Reply: r})
}

// closeQuestions closes what a call asked that is over. The end of a call of a human tool comes before that of the update
// that brought the reply.
func (d *Deriver) closeQuestions(e *historypb.HistoryEvent, r api.Record) {
	delete(d.asked.times, r.CallID)
	if len(d.asked.open) == 0 {
		return
	}
	for _, q := range slices.Clone(d.asked.open) {
		if q.Call != r.CallID {
			continue
		}
		var reply *api.Reply
		if q.ID == q.Call && (r.Error == nil || r.Error.Type == api.ErrApprovalDenied) {
			reply = d.replyTo(q.ID)
		}
		d.closeQuestion(e, q.ID, reply)
	}
}

// replyTo returns the reply to a question that an update brought which is not over: one is checked at a time.
func (d *Deriver) replyTo(question string) *api.Reply {
	for _, r := range d.asked.replies {
		if r.Question == question {
			return &r
		}
	}
	return nil
}

// cancelRequested ends a call of a human tool whose run does not wait for it any more: no worker has it that could say
// that it has stopped.
func (d *Deriver) cancelRequested(e *historypb.HistoryEvent) error {
	scheduled := e.GetActivityTaskCancelRequestedEventAttributes().GetScheduledEventId()
	if a := d.open[scheduled]; a != nil && d.tools[a.record.Tool].Kind == api.KindHuman {
		d.endFailed(e, scheduled, api.ActivityFailure{Cancelled: true})
	}
	return nil
}

// waitsFor returns the questions that a call waits for, in words.
func (d *Deriver) waitsFor(call string) []string {
	var notes []string
	for _, q := range d.asked.open {
		if q.Call == call {
			notes = append(notes, "waits for a person to answer "+q.ID+": "+api.Shorten(q.Text, 200))
		}
	}
	return notes
}
