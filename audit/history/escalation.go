package history

import (
	"slices"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit/internal/pb"
	historypb "go.temporal.io/api/history/v1"
)

// timerStarted keeps a timer that bounds an approval. The summary of the timer names the call;
// timers with another summary are ignored.
func (ap *approvals) timerStarted(e *historypb.HistoryEvent) error {
	var summary string
	if payload := e.GetUserMetadata().GetSummary(); payload == nil ||
		pb.DataConverter.FromPayload(payload, &summary) != nil {
		return nil
	}
	if call := api.TimedApproval(summary); call != "" {
		ap.timers[e.GetTimerStartedEventAttributes().GetTimerId()] = call
	}
	return nil
}

func (ap *approvals) timerCancelled(e *historypb.HistoryEvent) error {
	delete(ap.timers, e.GetTimerCanceledEventAttributes().GetTimerId())
	return nil
}

// timerFired escalates an approval, unless the run still checks an edit that came in time.
func (ap *approvals) timerFired(e *historypb.HistoryEvent) error {
	id := e.GetTimerFiredEventAttributes().GetTimerId()
	call := ap.timers[id]
	delete(ap.timers, id)
	for _, decision := range ap.decisions {
		if decision.Call == call && decision.Kind == api.DecisionEdit {
			ap.late[call] = true
			return nil
		}
	}
	ap.escalate(e, call)
	return nil
}

// escalate extends the approval of a call once by the same time, if its tool says so.
func (ap *approvals) escalate(e *historypb.HistoryEvent, callID string) {
	delete(ap.late, callID)
	i := slices.IndexFunc(
		ap.run.summary.Approvals,
		func(a api.Approval) bool { return a.Call == callID },
	)
	if i < 0 || ap.run.summary.Approvals[i].Escalated ||
		ap.run.summary.Approvals[i].OnTimeout != api.ApprovalEscalates {
		return
	}
	open := slices.Clone(ap.run.summary.Approvals) // summaries that were returned keep theirs
	now := pb.TimeOf(e.GetEventTime())
	open[i].Escalated, open[i].Until = true, now.Add(open[i].Within.Std())
	ap.run.summary.Approvals = open
	ap.decided[callID].Escalated = now
	approval := open[i]
	ap.run.emit(
		e,
		api.Event{
			Type:     api.EventApprovalEscalated,
			Turn:     ap.run.turn,
			CallID:   callID,
			Tool:     approval.Tool,
			Approval: &approval,
		},
	)
}
