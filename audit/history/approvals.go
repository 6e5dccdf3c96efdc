package history

import (
	"encoding/json"
	"slices"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit/internal/pb"
	"github.com/switchyard/switchyard/internal/core/people"
	historypb "go.temporal.io/api/history/v1"
	updatepb "go.temporal.io/api/update/v1"
)

// approvals are the calls that wait for approval. The summary lists the open ones.
type approvals struct {
	run *run
	// decided has the approvals of calls that are not over, by call ID.
	decided map[string]*api.Decided
	// decisions are those of updates that are not over, by update ID.
	decisions map[string]api.Decision
	// edits are the arguments before and after edits, by call ID.
	edits map[string]argumentsEdit
}

// argumentsEdit has the arguments of a call before and after an edit.
type argumentsEdit struct{ original, edited json.RawMessage }

func newApprovals(r *run) approvals {
	return approvals{
		run:       r,
		decided:   map[string]*api.Decided{},
		decisions: map[string]api.Decision{},
		edits:     map[string]argumentsEdit{},
	}
}

// readLimit reads what the run asks people at a limit.
func (ap *approvals) readLimit(e *historypb.HistoryEvent, need api.ApprovalNeed) {
	ap.request(e, &wantedCall{Call: api.Call{ID: api.LimitCall}}, need)
}

// request opens the approval that the admission decision on a call asks for.
func (ap *approvals) request(e *historypb.HistoryEvent, w *wantedCall, need api.ApprovalNeed) {
	asked := pb.Time(e.GetEventTime())
	approval := api.Approval{
		ApprovalNeed: need,
		Call:         w.ID,
		Tool:         w.Tool,
		Asked:        asked,
		Until:        asked.Add(need.Within.Std()),
	}
	ap.open(approval)
	event := api.Event{
		Type:     api.EventApprovalRequested,
		Turn:     ap.run.turn,
		CallID:   w.ID,
		Tool:     w.Tool,
		Approval: &approval,
	}
	if need.Limit == "" {
		event.Summary = ap.run.line(ap.run.admission.newUnscheduled(w))
	}
	ap.run.emit(e, event)
}

// open notes an approval that is open.
func (ap *approvals) open(a api.Approval) {
	ap.run.summary.Approvals = append(ap.run.summary.Approvals, a)
	ap.decided[a.Call] = &api.Decided{Asked: a.Asked, Why: a.Reason, Rule: a.Rule, Digest: a.Digest}
}

// limitOver closes the undecided approval of a run at a limit: the run continues or ends without
// it.
func (ap *approvals) limitOver(e *historypb.HistoryEvent, how api.DecisionKind) {
	ap.decide(e, api.LimitCall, api.Decided{Decision: how})
	delete(ap.decided, api.LimitCall)
}

// readDecision keeps a decision that the run checks.
func (ap *approvals) readDecision(_ *historypb.HistoryEvent, updateID string,
	decision api.Decision) {
	decision.Arguments = nil // the decision on the edited call has them
	ap.decisions[updateID] = decision
}

// readDecisionEnd reads the outcome of a decision.
func (ap *approvals) readDecisionEnd(e *historypb.HistoryEvent, updateID string,
	outcome *updatepb.Outcome) error {
	decision, failure := ap.decisions[updateID], pb.FailureMessage(outcome.GetFailure())
	delete(ap.decisions, updateID)
	decided := api.Decided{
		Decision: decision.Kind,
		By:       decision.By,
		Auth:     decision.Auth,
		Reason:   decision.Reason,
		Grant:    decision.Grant,
		As:       ap.findApprovers(decision),
	}
	if failure != "" {
		decided.At = pb.Time(e.GetEventTime())
		ap.run.emit(e, api.Event{
			Type:    api.EventApprovalRefused,
			Turn:    ap.run.turn,
			CallID:  decision.Call,
			Decided: &decided,
			Failure: failure,
		})
		return nil
	}
	if decision.Kind == api.DecisionEdit {
		edit := ap.edits[decision.Call]
		decided.Original, decided.Edited = edit.original, edit.edited
	}
	ap.run.addGrant(decided.Grant, pb.Time(e.GetEventTime()))
	if decision.Kind != api.DecisionDeny {
		decided.Cleared = ap.clears(decision.Call)
	}
	ap.decide(e, decision.Call, decided)
	return nil
}

// findApprovers returns the approvers that the one who decides about an open approval is.
func (ap *approvals) findApprovers(decision api.Decision) []api.Approver {
	open := ap.run.summary.Approvals
	i := slices.IndexFunc(open, func(a api.Approval) bool { return a.Call == decision.Call })
	if i < 0 {
		return nil
	}
	as, _ := people.Qualify(open[i].ApprovalNeed, decision)
	return as
}

// clears returns the labels that the open approval of a call clears.
func (ap *approvals) clears(callID string) []api.Clearing {
	for _, a := range ap.run.summary.Approvals {
		if a.Call == callID {
			return a.Clears
		}
	}
	return nil
}

// decide closes an approval if it is open.
func (ap *approvals) decide(e *historypb.HistoryEvent, callID string, decided api.Decided) {
	open := ap.run.summary.Approvals
	i := slices.IndexFunc(open, func(a api.Approval) bool { return a.Call == callID })
	if i < 0 {
		return
	}
	tool := open[i].Tool
	// Summaries that were returned keep their list.
	ap.run.summary.Approvals = slices.Delete(slices.Clone(open), i, i+1)
	asked := ap.decided[callID]
	decided.Asked, decided.At = asked.Asked, pb.Time(e.GetEventTime())
	decided.Why, decided.Rule, decided.Digest = asked.Why, asked.Rule, asked.Digest
	ap.decided[callID] = &decided
	ap.run.emit(e, api.Event{
		Type:    api.EventApprovalDecided,
		Turn:    ap.run.turn,
		CallID:  callID,
		Tool:    tool,
		Decided: &decided,
	})
}

// endCall returns the approval of a call that is over; nil if there was none. An open approval is
// closed: its time is over, or the run no longer makes the call.
func (ap *approvals) endCall(e *historypb.HistoryEvent, r api.Record) *api.Decided {
	if ap.decided[r.CallID] == nil {
		return nil
	}
	how := api.DecisionWithdrawn
	if r.Error != nil && r.Error.Type == api.ErrApprovalTimeout {
		how = api.DecisionTimeout
	}
	ap.decide(e, r.CallID, api.Decided{Decision: how})
	decided := ap.decided[r.CallID]
	delete(ap.decided, r.CallID)
	delete(ap.edits, r.CallID)
	return decided
}

// readEdit reads the admission decision on a call with the arguments of an edit. A refused edit
// leaves the call as it was.
func (ap *approvals) readEdit(e *historypb.HistoryEvent, v api.AdmissionDecision) {
	w := ap.run.admission.wanted[v.ID]
	if w == nil || v.Error != nil {
		return
	}
	ap.edits[v.ID] = argumentsEdit{
		original: ap.run.admission.newUnscheduled(w).Arguments,
		edited:   ap.run.shown(w.Tool, v.Arguments),
	}
	if v.Result != nil {
		ap.run.admission.override(e, ap.run.admission.wanted.take(v.ID), v)
		return
	}
	w.decision = &v
}
