package history

import (
	"slices"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/failures"
	"github.com/switchyard/switchyard/internal/core/people"
	historypb "go.temporal.io/api/history/v1"
	updatepb "go.temporal.io/api/update/v1"
)

// submitted are the calls that a session was submitted.
type submitted struct {
	run *run
	// known are the IDs of the calls so far, also of executions before the first one that is read.
	known map[string]bool
	// updates has the new calls of an update by its ID, until that is answered. Those that the
	// session knew are empty.
	updates map[string][]string
	// requests are the calls by ID, without what their records have from elsewhere.
	requests map[string]api.SessionCall
}

// resume takes the calls of the executions before the first one that is read.
func (s *submitted) resume(state *api.SessionState) {
	if state == nil {
		return
	}
	for _, c := range state.Calls {
		s.known[c.ID] = true
		if c.Waiting != nil {
			s.goOn(*c.Waiting)
		}
	}
}

// goOn takes a call that waited for approval in an execution before.
func (s *submitted) goOn(w api.WaitingCall) {
	id := w.Call.ID
	s.add(w.Call)
	s.run.admission.wanted[id].decision = &w.Decision
	s.run.approvals.open(api.Approval{ApprovalNeed: *w.Decision.Approval, Call: id,
		Tool: w.Call.Tool, Asked: w.Asked, Until: w.Until})
}

// add takes a call that the session makes.
func (s *submitted) add(call api.SessionCall) {
	call.Caller.Type = api.CallerSession
	s.requests[call.ID] = api.SessionCall{Caller: call.Caller, Trace: call.Trace, MCP: call.MCP}
	s.run.admission.wanted[call.ID] = &wantedCall{order: len(s.known), Call: api.Call{
		ID: call.ID, Tool: call.Tool, Arguments: call.Arguments}}
}

// readCalls reads that the session gets calls. The same call may come several times.
func (s *submitted) readCalls(_ *historypb.HistoryEvent, id string, calls []api.SessionCall) {
	fresh := make([]string, len(calls))
	for i, call := range calls {
		if !s.known[call.ID] {
			fresh[i], s.known[call.ID] = call.ID, true
			s.add(call)
		}
	}
	s.updates[id] = fresh
}

// requester returns who asked for a call of the run.
func (s *submitted) requester(callID string) api.Caller {
	if call, asked := s.requests[callID]; asked {
		return call.Caller
	}
	return s.run.caller
}

// readAnswer reads the answer to submitted calls. A call that repeats another one has no record,
// and one that the session did not take is submitted again.
func (s *submitted) readAnswer(e *historypb.HistoryEvent, id string,
	outcome *updatepb.Outcome) error {
	fresh := s.updates[id]
	delete(s.updates, id)
	var statuses []api.SessionCallStatus
	success := outcome.GetSuccess()
	if success == nil || len(fresh) == 0 {
		return nil
	}
	if err := s.run.decodeEvent(e, "statuses of calls", success, &statuses); err != nil {
		return err
	}
	for i, call := range fresh {
		taken := i < len(statuses)
		if !taken {
			delete(s.known, call)
		}
		if !taken || statuses[i].Attached {
			delete(s.run.admission.wanted, call)
		}
	}
	return nil
}

// readCancel reads that a client or a person cancels a call. A call that is not scheduled at that
// time never is.
func (s *submitted) readCancel(e *historypb.HistoryEvent, _ string, c api.CancelCall) {
	note := "the call was " + people.CancelNote(c)
	for _, a := range s.run.activities.open {
		if a.id == c.ID {
			a.record.Notes = append(slices.Clone(a.record.Notes), note)
		}
	}
	if s.run.admission.wanted[c.ID] == nil {
		return
	}
	w := s.run.admission.wanted.take(c.ID)
	r := s.run.admission.newUnscheduled(w)
	r.Status, r.Error = api.CallCancelled, failures.CancelledBeforeStart()
	r.Error.Phase, r.Notes = r.Phase, append(slices.Clone(r.Notes), note)
	s.run.summary.Usage.Calls++
	s.run.calls.end(e, r)
}
