package history

import (
	"encoding/json"
	"slices"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit/internal/pb"
	historypb "go.temporal.io/api/history/v1"
)

// approvals are what is known of calls that wait until a person has approved them; the summary has those that are open.
type approvals struct {
	// decided has, by the call's id, what is known of the approvals of calls that are not over.
	decided map[string]*api.Decided
	// decisions are those that updates brought which are not over, by the update's id.
	decisions map[string]api.Decision
	// edited are the arguments that edits made, by the call's id.
	edited map[string]json.RawMessage
	// timers are the calls whose approvals timers bound, by the timers' ids; late are those whose time was over while an edit was
	// being checked.
	timers map[string]string
	late   map[string]bool
}

func newApprovals() approvals {
	return approvals{decided: map[string]*api.Decided{}, decisions: map[string]api.Decision{},
		edited: map[string]json.RawMessage{}, timers: map[string]string{}, late: map[string]bool{}}
}

// approvalStep reads what the run recorded about an approval: the verdict on an edit, or what is asked at a limit.
func (d *Deriver) approvalStep(e *historypb.HistoryEvent, l local) error {
	if l.kind == api.DescribeLimitActivity {
		var need api.ApprovalNeed
		if err := d.decodeEvent(e, "approval at a limit", l.result, &need); err != nil {
			return err
		}
		d.approvalRequested(e, &wantedCall{Call: api.Call{ID: api.LimitCall}}, need)
		return nil
	}
	var v api.AdmissionDecision
	if err := d.decodeEvent(e, "verdict on an edit", l.result, &v); err != nil {
		return err
	}
	d.changed(e, v)
	return nil
}

// approvalRequested opens the approval that the verdict of a call asks for.
func (d *Deriver) approvalRequested(e *historypb.HistoryEvent, w *wantedCall, need api.ApprovalNeed) {
	asked := pb.TimeOf(e.GetEventTime())
	approval := api.Approval{ApprovalNeed: need, Call: w.ID, Tool: w.Tool, Asked: asked, Until: asked.Add(need.Within.Std())}
	d.summary.Approvals = append(d.summary.Approvals, approval)
	d.asked.approvals.decided[w.ID] = &api.Decided{Asked: asked, Why: need.Reason, Rule: need.Rule, Digest: need.Digest}
	event := api.Event{Type: api.EventApprovalRequested, Turn: d.turn, CallID: w.ID, Tool: w.Tool, Approval: &approval}
	if need.Limit == "" {
		event.Summary = d.line(d.unscheduled(w))
	}
	d.emit(e, event)
}

// limitOver closes the approval of a run at a limit that nobody has decided, because the run goes on or ends without it.
func (d *Deriver) limitOver(e *historypb.HistoryEvent, how api.DecisionKind) {
	d.approvalDecided(e, api.LimitCall, api.Decided{Decision: how})
	delete(d.asked.approvals.decided, api.LimitCall)
}

// decisionCame reads a decision that the run looks at.
func (d *Deriver) decisionCame(updateID string, decision api.Decision) {
	decision.Arguments = nil // they stand in the verdict on the changed call
	d.asked.approvals.decisions[updateID] = decision
}

// decisionTaken reads what became of a decision; failure is why it was refused, empty where it was not.
func (d *Deriver) decisionTaken(e *historypb.HistoryEvent, updateID, failure string) {
	decision := d.asked.approvals.decisions[updateID]
	delete(d.asked.approvals.decisions, updateID)
	decided := api.Decided{Decision: decision.Kind, By: decision.By, Reason: decision.Reason, Grant: decision.Grant}
	if failure != "" {
		decided.At = pb.TimeOf(e.GetEventTime())
		d.emit(e, api.Event{Type: api.EventApprovalRefused, Turn: d.turn, CallID: decision.Call, Decided: &decided, Failure: failure})
		if d.asked.approvals.late[decision.Call] {
			d.escalated(e, decision.Call)
		}
		return
	}
	if decision.Kind == api.DecisionEdit {
		decided.Edited = d.asked.approvals.edited[decision.Call]
	}
	d.approvalDecided(e, decision.Call, decided)
}

// approvalDecided closes an approval, if it is open.
func (d *Deriver) approvalDecided(e *historypb.HistoryEvent, callID string, decided api.Decided) {
	open := d.summary.Approvals
	i := slices.IndexFunc(open, func(a api.Approval) bool { return a.Call == callID })
	if i < 0 {
		return
	}
	tool := open[i].Tool
	d.summary.Approvals = slices.Delete(slices.Clone(open), i, i+1) // a summary that was given out keeps its own
	asked := d.asked.approvals.decided[callID]
	delete(d.asked.approvals.late, callID)
	decided.Escalated = asked.Escalated
	decided.Asked, decided.Why, decided.Rule, decided.Digest, decided.At = asked.Asked, asked.Why, asked.Rule, asked.Digest, pb.TimeOf(e.GetEventTime())
	d.asked.approvals.decided[callID] = &decided
	d.emit(e, api.Event{Type: api.EventApprovalDecided, Turn: d.turn, CallID: callID, Tool: tool, Decided: &decided})
}

// endApproval returns what became of the approval of a call that is over; nil where there was none. One that is still open is
// closed: nobody decided in time, or the call is not made any more.
func (d *Deriver) endApproval(e *historypb.HistoryEvent, r api.Record) *api.Decided {
	if d.asked.approvals.decided[r.CallID] == nil {
		return nil
	}
	how := api.DecisionWithdrawn
	if r.Error != nil && r.Error.Type == api.ErrApprovalTimeout {
		how = api.DecisionTimeout
	}
	d.approvalDecided(e, r.CallID, api.Decided{Decision: how})
	decided := d.asked.approvals.decided[r.CallID]
	delete(d.asked.approvals.decided, r.CallID)
	delete(d.asked.approvals.edited, r.CallID)
	return decided
}

// changed reads the verdict on a call that was admitted anew with the arguments of an edit. One that was refused leaves the
// call as it was.
func (d *Deriver) changed(e *historypb.HistoryEvent, v api.AdmissionDecision) {
	w := d.wanted[v.ID]
	if w == nil || v.Error != nil {
		return
	}
	d.asked.approvals.edited[v.ID] = d.shown(w.Tool, v.Arguments)
	if v.Result != nil {
		d.overridden(e, d.wanted.take(v.ID), v)
		return
	}
	w.decision = &v
}
