package history

import (
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit/internal/pb"
	historypb "go.temporal.io/api/history/v1"
)

// SubAgent is a call that a sub-agent executes or has executed.
type SubAgent struct {
	api.ChildRun
	CallID string         `json:"call_id"`
	Tool   string         `json:"tool"`
	Status api.CallStatus `json:"status"`
}

// children are the calls that sub-agents execute.
type children struct{ run *run }

// readInitiated reads the start of a call of an agent tool.
func (c *children) readInitiated(e *historypb.HistoryEvent) error {
	a := e.GetStartChildWorkflowExecutionInitiatedEventAttributes()
	id, ours := api.ChildCallID(c.run.workflowID, a.GetWorkflowId())
	if !ours {
		return nil
	}
	r := c.run.admission.newUnscheduled(c.run.admission.wanted.take(id))
	r.Phase, r.Scheduled = api.PhasePreExecution, pb.Time(e.GetEventTime())
	r.Child = &api.ChildRun{WorkflowID: a.GetWorkflowId()}
	c.run.summary.SubAgents = append(c.run.summary.SubAgents,
		SubAgent{ChildRun: *r.Child, CallID: id, Tool: r.Tool, Status: api.CallRunning})
	c.run.activities.open[e.GetEventId()] = &activity{
		id:     id,
		order:  e.GetEventId(),
		kind:   &c.run.calls,
		record: r,
	}
	c.run.calls.tellStarted(e, r)
	return nil
}

// readStarted reads that the run of the sub-agent has started.
func (c *children) readStarted(e *historypb.HistoryEvent) error {
	a := e.GetChildWorkflowExecutionStartedEventAttributes()
	open := c.run.activities.open[a.GetInitiatedEventId()]
	if open == nil {
		return nil
	}
	r := &open.record
	r.Child = &api.ChildRun{
		WorkflowID: a.GetWorkflowExecution().GetWorkflowId(),
		RunID:      a.GetWorkflowExecution().GetRunId(),
	}
	r.Phase, r.Attempts, r.Started = api.PhaseExecution, 1, pb.Time(e.GetEventTime())
	r.QueueWait = pb.Between(r.Scheduled, r.Started)
	c.subAgent(open.id).ChildRun = *r.Child
	return nil
}

// subAgent returns the entry of a call in the summary. For an unknown call it returns a new entry
// that is not in the summary.
func (c *children) subAgent(callID string) *SubAgent {
	for i := len(c.run.summary.SubAgents) - 1; i >= 0; i-- {
		if s := &c.run.summary.SubAgents[i]; s.CallID == callID {
			return s
		}
	}
	return &SubAgent{}
}

// readFinalized ends a call of an agent tool, or a call whose outcome the run has verified.
func (c *calls) readFinalized(e *historypb.HistoryEvent, s api.FinalizedResult) {
	r, started := c.takeFinalized(s.ID, e)
	if !started {
		r = c.run.admission.newUnscheduled(c.run.admission.wanted.take(s.ID))
		c.run.summary.Usage.Calls++
	}
	r.Usage = s.Usage
	c.run.summary.Usage.Add(s.Usage)
	if s.Result != nil {
		r = withResult(r, *s.Result)
	} else {
		r.Status, r.Error = failedStatus(s.Error), s.Error
		if !started && r.Status == api.CallFailed {
			r.Status = api.CallRefused
		}
	}
	c.end(e, r)
}

// takeFinalized removes and returns the record of an open call that a sub-agent executed or whose
// outcome the run has verified.
func (c *calls) takeFinalized(callID string, e *historypb.HistoryEvent) (r api.Record, ok bool) {
	if a := c.waiting[callID]; a != nil {
		delete(c.waiting, callID)
		return a.record, true
	}
	return c.run.activities.takeChild(callID, e)
}
