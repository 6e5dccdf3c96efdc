package history

import (
	"github.com/switchyard/switchyard/api"
	historypb "go.temporal.io/api/history/v1"
	updatepb "go.temporal.io/api/update/v1"
)

// updateKind reads the updates of one name.
type updateKind struct {
	accepted func(e *historypb.HistoryEvent, id string, input *updatepb.Input) error
	// completed is nil where the run acts on an update as soon as it has accepted it.
	completed func(e *historypb.HistoryEvent, id string, outcome *updatepb.Outcome) error
}

// updates are the updates of a run.
type updates struct {
	run *run
	// kinds are by the name of the update. Other updates are ignored.
	kinds map[string]updateKind
	// requests are updates whose acceptance does not repeat the input: those of a run that was
	// reset.
	requests map[string]*updatepb.Request
	// pending are the kinds of updates that are accepted and not over, by the ID of the update.
	pending map[string]updateKind
}

func newUpdates(r *run) updates {
	return updates{
		run: r, requests: map[string]*updatepb.Request{}, pending: map[string]updateKind{},
		kinds: map[string]updateKind{
			api.AskQuestionUpdate: {decodeInput(r, "question", r.questions.readQuestion),
				r.questions.readQuestionEnd},
			api.AnswerQuestionUpdate: {decodeInput(r, "reply", r.questions.readReply),
				r.questions.readReplyEnd},
			api.DecideApprovalUpdate: {decodeInput(r, "decision", r.approvals.readDecision),
				r.approvals.readDecisionEnd},
			api.SendMessageUpdate: {accepted: decodeInput(r, "message", r.control.readMessage)},
			api.PauseUpdate:       {accepted: decodeInput(r, "pause", r.control.readPause)},
			api.ResumeUpdate:      {accepted: decodeInput(r, "pause", r.control.readResume)},
			api.CloseInstanceUpdate: {accepted: decodeInput(r, "request to close an instance",
				r.control.readInstanceClose)},
			api.SubmitCallsUpdate: {decodeInput(r, "submitted calls", r.submitted.readCalls),
				r.submitted.readAnswer},
			api.CancelCallUpdate: {accepted: decodeInput(r, "request to cancel a call",
				r.submitted.readCancel)},
		},
	}
}

// decodeInput returns a reader of updates with an input of type T.
func decodeInput[T any](r *run, what string, read func(*historypb.HistoryEvent, string, T)) func(
	*historypb.HistoryEvent, string, *updatepb.Input) error {
	return func(e *historypb.HistoryEvent, id string, input *updatepb.Input) error {
		var value T
		err := r.decodeEvent(e, what, input.GetArgs(), &value)
		if err == nil {
			read(e, id, value)
		}
		return err
	}
}

func (u *updates) readAdmitted(e *historypb.HistoryEvent) error {
	request := e.GetWorkflowExecutionUpdateAdmittedEventAttributes().GetRequest()
	u.requests[request.GetMeta().GetUpdateId()] = request
	return nil
}

func (u *updates) readAccepted(e *historypb.HistoryEvent) error {
	a := e.GetWorkflowExecutionUpdateAcceptedEventAttributes()
	id, request := a.GetProtocolInstanceId(), a.GetAcceptedRequest()
	if request == nil {
		request = u.requests[id]
	}
	delete(u.requests, id)
	kind, ok := u.kinds[request.GetInput().GetName()]
	if !ok {
		return nil
	}
	if err := kind.accepted(e, id, request.GetInput()); err != nil {
		return err
	}
	if kind.completed != nil {
		u.pending[id] = kind
	}
	return nil
}

func (u *updates) readCompleted(e *historypb.HistoryEvent) error {
	a := e.GetWorkflowExecutionUpdateCompletedEventAttributes()
	id := a.GetMeta().GetUpdateId()
	kind, ok := u.pending[id]
	if !ok {
		return nil
	}
	delete(u.pending, id)
	return kind.completed(e, id, a.GetOutcome())
}
