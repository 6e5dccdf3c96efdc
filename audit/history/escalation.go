package history

import (
	"slices"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit/internal/pb"
	historypb "go.temporal.io/api/history/v1"
)

// timerStarted notes a timer that bounds an approval; its summary says which. Of a summary that cannot be read nothing is known.
func (d *Deriver) timerStarted(e *historypb.HistoryEvent) error {
	var summary string
	if payload := e.GetUserMetadata().GetSummary(); payload == nil || pb.DataConverter.FromPayload(payload, &summary) != nil {
		return nil
	}
	if call := api.TimedApproval(summary); call != "" {
		d.asked.approvals.timers[e.GetTimerStartedEventAttributes().GetTimerId()] = call
	}
	return nil
}

func (d *Deriver) timerCancelled(e *historypb.HistoryEvent) error {
	delete(d.asked.approvals.timers, e.GetTimerCanceledEventAttributes().GetTimerId())
	return nil
}

// timerFired tells of an approval that stays open when its time is over. An edit that came in time counts, so that whether it does
// is known when the edit is over.
func (d *Deriver) timerFired(e *historypb.HistoryEvent) error {
	id := e.GetTimerFiredEventAttributes().GetTimerId()
	call := d.asked.approvals.timers[id]
	delete(d.asked.approvals.timers, id)
	for _, decision := range d.asked.approvals.decisions {
		if decision.Call == call && decision.Kind == api.DecisionEdit {
			d.asked.approvals.late[call] = true
			return nil
		}
	}
	d.escalated(e, call)
	return nil
}

// escalated opens the approval of a call for as long again, where its tool says so and that has not been done.
func (d *Deriver) escalated(e *historypb.HistoryEvent, callID string) {
	delete(d.asked.approvals.late, callID)
	i := slices.IndexFunc(d.summary.Approvals, func(a api.Approval) bool { return a.Call == callID })
	if i < 0 || d.summary.Approvals[i].Escalated || d.summary.Approvals[i].OnTimeout != api.ApprovalEscalates {
		return
	}
	open := slices.Clone(d.summary.Approvals) // a summary that was given out keeps its own
	now := pb.TimeOf(e.GetEventTime())
	open[i].Escalated, open[i].Until = true, now.Add(open[i].Within.Std())
	d.summary.Approvals = open
	d.asked.approvals.decided[callID].Escalated = now
	approval := open[i]
	d.emit(e, api.Event{Type: api.EventApprovalEscalated, Turn: d.turn, CallID: callID, Tool: approval.Tool, Approval: &approval})
}
