package history

import (
	"slices"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit/internal/pb"
	"github.com/switchyard/switchyard/internal/value/display"
	historypb "go.temporal.io/api/history/v1"
	updatepb "go.temporal.io/api/update/v1"
)

// questions are what a run asks people.
type questions struct {
	run *run
	// list are the open questions in the order in which they were asked.
	list []api.Question
	// times counts the questions that a running call asked, by the ID of the call.
	times map[string]int
	// asks are the questions, and replies the replies, of updates that are not over, by the ID of
	// the update.
	asks    map[string]string
	replies map[string]api.Reply
}

func newQuestions(r *run) questions {
	return questions{
		run:     r,
		times:   map[string]int{},
		asks:    map[string]string{},
		replies: map[string]api.Reply{},
	}
}

// readQuestion reads a question of a running call.
func (qs *questions) readQuestion(e *historypb.HistoryEvent, id string, q api.Question) {
	qs.times[q.Call]++
	q.ID, q.Asked = api.QuestionID(q.Call, qs.times[q.Call]), pb.Time(e.GetEventTime())
	qs.asks[id] = q.ID
	qs.open(e, q, qs.run.turn)
}

// readQuestionEnd closes a question of a running call. Without a reply the call gave it up or
// withdrew it.
func (qs *questions) readQuestionEnd(e *historypb.HistoryEvent, id string,
	outcome *updatepb.Outcome) error {
	question := qs.asks[id]
	delete(qs.asks, id)
	if outcome.GetSuccess() == nil {
		qs.close(e, question, nil)
		return nil
	}
	var r api.Reply
	if err := qs.run.decodeEvent(e, "reply", outcome.GetSuccess(), &r); err != nil {
		return err
	}
	r.Value = nil
	qs.close(e, question, &r)
	return nil
}

// readReply reads a reply that the run checks.
func (qs *questions) readReply(_ *historypb.HistoryEvent, id string, r api.Reply) {
	r.Value = nil // may be large; the result of the call has it
	qs.replies[id] = r
}

// readReplyEnd closes the question of a reply that the run accepted.
func (qs *questions) readReplyEnd(e *historypb.HistoryEvent, id string,
	outcome *updatepb.Outcome) error {
	r := qs.replies[id]
	delete(qs.replies, id)
	if outcome.GetFailure() == nil {
		qs.close(e, r.Question, &r)
	}
	return nil
}

// open opens a question.
func (qs *questions) open(e *historypb.HistoryEvent, q api.Question, turn int) {
	qs.list = append(qs.list, q)
	qs.run.emit(e, api.Event{
		Type:     api.EventQuestionAsked,
		Turn:     turn,
		CallID:   q.Call,
		Tool:     q.Tool,
		Question: &q,
	})
}

// askPerson opens the question of a call of a human tool. text is the question of the admission
// decision.
func (qs *questions) askPerson(e *historypb.HistoryEvent, r api.Record, text string) {
	t := qs.run.tools[r.Tool]
	if t.Dispatch != api.DispatchQuestion {
		return
	}
	qs.open(e, api.Question{
		ID:     r.CallID,
		Call:   r.CallID,
		Tool:   r.Tool,
		Text:   text,
		Schema: t.OutputSchema,
		Asked:  r.Scheduled,
		Until:  r.Scheduled.Add(t.AnswerWithin.Std()),
	}, r.Turn)
}

func (qs *questions) close(e *historypb.HistoryEvent, id string, r *api.Reply) {
	i := slices.IndexFunc(qs.list, func(q api.Question) bool { return q.ID == id })
	if i < 0 {
		return
	}
	q := qs.list[i]
	qs.list = slices.Delete(qs.list, i, i+1)
	q.Schema = nil
	qs.run.emit(e, api.Event{
		Type:     api.EventQuestionClosed,
		Turn:     qs.run.turn,
		CallID:   q.Call,
		Tool:     q.Tool,
		Question: &q,
		Reply:    r,
	})
}

// endCall closes the questions of a call that is over. A call of a human tool ends before the
// update that brought the reply.
func (qs *questions) endCall(e *historypb.HistoryEvent, r api.Record) {
	delete(qs.times, r.CallID)
	if len(qs.list) == 0 {
		return
	}
	for _, q := range slices.Clone(qs.list) {
		if q.Call != r.CallID {
			continue
		}
		var reply *api.Reply
		if q.ID == q.Call && (r.Error == nil || r.Error.Type == api.ErrApprovalDenied) {
			reply = qs.replyTo(q.ID)
		}
		qs.close(e, q.ID, reply)
	}
}

// replyTo returns the reply of an update that is not over; nil if there is none. The run checks one
// reply to a question at a time.
func (qs *questions) replyTo(question string) *api.Reply {
	for _, r := range qs.replies {
		if r.Question == question {
			return &r
		}
	}
	return nil
}

// waitsFor returns notes on the questions that a call waits for.
func (qs *questions) waitsFor(call string) []string {
	var notes []string
	for _, q := range qs.list {
		if q.Call == call {
			notes = append(notes,
				"waits for a person to answer "+q.ID+": "+display.Shorten(q.Text, 200))
		}
	}
	return notes
}
