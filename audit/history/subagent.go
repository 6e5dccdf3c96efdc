package history

import (
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit/internal/pb"
	commonpb "go.temporal.io/api/common/v1"
	historypb "go.temporal.io/api/history/v1"
)

// SubAgent is a call of a run that a sub-agent executed, or executes.
type SubAgent struct {
	api.ChildRun
	CallID string         `json:"call_id"`
	Tool   string         `json:"tool"`
	Status api.CallStatus `json:"status"`
}

// childInitiated reads the start of a call of an agent tool.
func (d *Deriver) childInitiated(e *historypb.HistoryEvent) error {
	a := e.GetStartChildWorkflowExecutionInitiatedEventAttributes()
	id, ours := api.ChildCallID(d.workflowID, a.GetWorkflowId())
	if !ours {
		return nil
	}
	r := d.unscheduled(d.wanted.take(id))
	r.Phase, r.Scheduled, r.Child = api.PhasePreExecution, pb.TimeOf(e.GetEventTime()), &api.ChildRun{WorkflowID: a.GetWorkflowId()}
	d.summary.Usage.Calls++
	d.summary.SubAgents = append(d.summary.SubAgents, SubAgent{ChildRun: *r.Child, CallID: id, Tool: r.Tool, Status: api.CallRunning})
	d.open[e.GetEventId()] = &activity{id: id, order: e.GetEventId(), record: r}
	timing := r.Timing
	d.emit(e, api.Event{Type: api.EventToolStarted, Turn: r.Turn, CallID: id, Tool: r.Tool, Summary: d.line(r), Timing: &timing, Child: r.Child})
	return nil
}

// childStarted reads that the sub-agent's run has begun.
func (d *Deriver) childStarted(e *historypb.HistoryEvent) error {
	a := e.GetChildWorkflowExecutionStartedEventAttributes()
	open := d.open[a.GetInitiatedEventId()]
	if open == nil {
		return nil
	}
	r := &open.record
	r.Child = &api.ChildRun{WorkflowID: a.GetWorkflowExecution().GetWorkflowId(), RunID: a.GetWorkflowExecution().GetRunId()}
	r.Phase, r.Attempts, r.Started = api.PhaseExecution, 1, pb.TimeOf(e.GetEventTime())
	r.QueueWait = pb.Between(r.Scheduled, r.Started)
	d.subAgent(open.id).ChildRun = *r.Child
	return nil
}

// subAgent returns the entry of a call in the summary; one that is not there is a new one that nobody sees.
func (d *Deriver) subAgent(callID string) *SubAgent {
	for i := len(d.summary.SubAgents) - 1; i >= 0; i-- {
		if s := &d.summary.SubAgents[i]; s.CallID == callID {
			return s
		}
	}
	return &SubAgent{}
}

// settled ends a call of an agent tool: whatever became of the sub-agent's run, this says what it means for the call.
func (d *Deriver) finalized(e *historypb.HistoryEvent, result *commonpb.Payloads) error {
	var s api.FinalizedResult
	if err := d.decodeEvent(e, "end of a call", result, &s); err != nil {
		return err
	}
	r, started := d.takeFinalized(s.ID, e)
	if !started {
		r = d.unscheduled(d.wanted.take(s.ID))
		d.summary.Usage.Calls++
	}
	r.Usage = s.Usage
	d.summary.Usage.Add(s.Usage)
	if s.Result != nil {
		r = withResult(r, *s.Result)
	} else {
		r.Status, r.Error = failedStatus(s.Error), s.Error
		if !started && r.Status == api.CallFailed {
			r.Status = api.CallRefused
		}
	}
	d.end(e, r)
	return nil
}

// takeSettled removes and returns the record of the open call of that id, which a sub-agent executed, or of which the run has
// found out what became of it.
func (d *Deriver) takeFinalized(callID string, e *historypb.HistoryEvent) (r api.Record, ok bool) {
	if a := d.requeued[callID]; a != nil {
		delete(d.requeued, callID)
		return a.record, true
	}
	return d.takeChild(callID, e)
}

// takeChild removes and returns the record of the open call of that id.
func (d *Deriver) takeChild(callID string, e *historypb.HistoryEvent) (r api.Record, ok bool) {
	for event, a := range d.open {
		if a.id == callID && a.record.Child != nil {
			return d.take(event, pb.TimeOf(e.GetEventTime())).record, true
		}
	}
	return r, false
}
