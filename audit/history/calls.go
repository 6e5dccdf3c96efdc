package history

import (
	"slices"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit/internal/pb"
	"github.com/switchyard/switchyard/internal/core/failures"
	commonpb "go.temporal.io/api/common/v1"
	failurepb "go.temporal.io/api/failure/v1"
	historypb "go.temporal.io/api/history/v1"
)

// calls are the tool calls of a run.
type calls struct {
	run *run
	// batching has the records of the other calls of a batch by the ID of its first call.
	batching map[string][]api.Record
	// waiting are the calls that the run did not end with their last attempt, by ID: it schedules
	// them again or finds out what became of them.
	waiting map[string]*activity
}

// readScheduled reads the start of a call. A call that the run schedules again keeps its record.
func (c *calls) readScheduled(e *historypb.HistoryEvent, call *activity) (*activity, error) {
	call.id = api.CallOfActivity(call.id)
	if a := c.waiting[call.id]; a != nil {
		delete(c.waiting, call.id)
		return a, nil
	}
	a := e.GetActivityTaskScheduledEventAttributes()
	var execution api.Execution
	if err := c.run.decodeEvent(e, "input", a.GetInput(), &execution); err != nil {
		return nil, err
	}
	r := c.run.admission.record(call.id, a.GetActivityType().GetName(), execution.Arguments)
	timing, question := call.record.Timing, ""
	w := c.run.admission.wanted.take(call.id)
	r = c.run.admission.ofRun(r, w.Call)
	if v := w.decision; v != nil {
		r = c.run.admission.addDecision(r, *v, execution.Arguments)
		question, call.route = v.Question, v.Route
		timing.Lane = c.run.findLane(r.Tool, v.Route, timing.Lane)
	}
	r.Status, r.Phase, r.Timing = api.CallRunning, api.PhasePreExecution, timing
	r.Digest, r.Notes = execution.Digest, execution.Notes
	r.Priority = c.run.priorityAt(a.GetPriority())
	if len(execution.Parts) > 0 {
		r = c.ofBatch(r, w)
	}
	call.record = r
	c.tellStarted(e, r)
	c.beginOthers(e, r, execution.Parts)
	c.run.questions.askPerson(e, r, question)
	return call, nil
}

func (c *calls) readCompleted(e *historypb.HistoryEvent, a *activity,
	result *commonpb.Payloads) error {
	var r api.Result
	if err := c.run.decodeEvent(e, "result", result, &r); err != nil {
		return err
	}
	c.end(e, withResult(a.record, r))
	return nil
}

func (c *calls) readFailed(e *historypb.HistoryEvent, a *activity, f failures.ActivityFailure) {
	switch entry, recorded := c.run.journal.take(a.id); {
	case !recorded:
		c.fail(e, a.record, failures.CallError(f, c.run.tools[a.record.Tool], a.route))
	case entry.Next == "":
		c.fail(e, a.record, &entry.Error)
	default:
		c.goOn(a, entry)
	}
}

// fail ends a call that failed with fault.
func (c *calls) fail(e *historypb.HistoryEvent, r api.Record, fault *api.Error) {
	r.Error = fault
	r.Notes = slices.Concat(r.Notes, fault.Notes)
	countAsWait(&r)
	r.Status = failedStatus(r.Error)
	r = moveWait(r, r.Error.WaitedMicros)
	c.end(e, r)
}

// countAsWait counts the whole time of a call that never started as queue wait.
func countAsWait(r *api.Record) {
	if r.Error.Requeue || r.Error.Phase == api.PhasePreExecution {
		r.QueueWait += r.Duration
		r.Duration = 0
	}
}

// withResult completes the record of a call that has a result.
func withResult(r api.Record, result api.Result) api.Record {
	r.Status, r.Phase, r.Result = api.CallCompleted, api.PhasePostExecution, &result
	r.Notes, r.ResultTokens = result.Notes, result.Tokens
	r.ActualTokens = r.ArgumentTokens() + result.Tokens
	r.Hooks = slices.Concat(r.Hooks, result.Hooks)
	r = moveWait(r, result.WaitedMicros)
	for phase, micros := range map[api.Phase]int64{
		api.PhaseExecution: result.ExecutionMicros, api.PhasePostExecution: result.PostMicros} {
		if micros > 0 {
			if r.Phases == nil {
				r.Phases = map[api.Phase]api.Duration{}
			}
			r.Phases[phase] = api.Duration(time.Duration(micros) * time.Microsecond)
		}
	}
	return r
}

// moveWait moves the wait with the worker that serves the lane from the duration of a call to its
// queue wait.
func moveWait(r api.Record, micros int64) api.Record {
	wait := api.Duration(time.Duration(micros) * time.Microsecond)
	r.QueueWait, r.Duration = r.QueueWait+wait, max(r.Duration-wait, 0)
	return r
}

// failedStatus returns the status of a call that ran and has no result.
func failedStatus(e *api.Error) api.CallStatus {
	if e.Type == api.ErrCancelled {
		return api.CallCancelled
	}
	return api.CallFailed
}

// end ends a call and the calls that are batched with it.
func (c *calls) end(e *historypb.HistoryEvent, r api.Record) {
	others := c.batching[r.CallID]
	if len(others) == 0 {
		c.endOne(e, r)
		return
	}
	delete(c.batching, r.CallID)
	c.endOne(e, apart(r, r))
	for _, own := range others {
		c.endOne(e, apart(own, r))
	}
}

func (c *calls) endOne(e *historypb.HistoryEvent, r api.Record) {
	kind := api.EventToolCompleted
	if r.Error != nil {
		kind = api.EventToolFailed
		if r.Status == api.CallRefused && r.Error.Type == api.ErrValidation {
			kind = api.EventValidationError
		}
		if r.Error.Phase != "" && r.Status != api.CallCancelled {
			r.Phase = r.Error.Phase
		}
		c.run.summary.Usage.Failed++
	}
	r.Closed = pb.Time(e.GetEventTime())
	r.Result = c.run.hidden.result(r.CallID, c.run.tools[r.Tool].OutputMask, r.Result)
	c.run.questions.endCall(e, r)
	r.Approval = c.run.approvals.endCall(e, r)
	if r.Child != nil {
		c.run.children.subAgent(r.CallID).Status = r.Status
	}
	c.run.emit(e, api.Event{
		Type:    kind,
		Turn:    r.Turn,
		CallID:  r.CallID,
		Tool:    r.Tool,
		Summary: c.run.line(r),
		Record:  &r,
	})
}

// inline reads a call that ran within a workflow task. History has no event of its start.
func (c *calls) inline(l local) error {
	a := c.run.activities.takeInline(l.id)
	if a == nil {
		a = c.beginInline(l)
	}
	c.run.markers.setAttempts(a, l)
	if l.failure != nil && l.again {
		c.run.activities.retry(a, l)
		return nil
	}
	r := a.record
	var result api.Result
	if l.failure != nil {
		r.Error = failures.CallError(activityFailure(l.failure), c.run.tools[r.Tool],
			api.Route{})
		r.Status = failedStatus(r.Error)
		result = spent(l.failure)
	} else {
		if err := c.run.decodeEvent(l.event, "result", l.result, &result); err != nil {
			return err
		}
		r = withResult(r, result)
	}
	r.Closed = pb.Time(l.event.GetEventTime())
	took := time.Duration(result.ExecutionMicros+result.PostMicros) * time.Microsecond
	if took > 0 {
		r.Started = r.Closed.Add(-took)
	}
	if r.Attempts == 1 {
		r.Scheduled = r.Started
	}
	r.Duration = pb.Between(r.Started, r.Closed)
	c.end(l.event, r)
	return nil
}

// beginInline emits the start of a call that ran inline.
func (c *calls) beginInline(l local) *activity {
	w := c.run.admission.wanted.take(l.id)
	if w.Tool == "" {
		w.Tool = l.kind
	}
	r := c.run.admission.newUnscheduled(w)
	r.Lane, r.Scheduled = api.LaneInline, c.run.markers.clock
	c.tellStarted(l.event, r)
	r.Started, r.Phase = c.run.markers.clock, api.PhaseExecution
	return &activity{id: l.id, order: l.event.GetEventId(), kind: c, record: r}
}

// spent returns the result of a failed inline call, which has its execution times. It is zero where
// the failure has none.
func spent(f *failurepb.Failure) (r api.Result) {
	details := pb.FindCause(f, pb.IsApplication).GetApplicationFailureInfo().GetDetails().
		GetPayloads()
	if len(details) < 2 || pb.DataConverter.FromPayload(details[1], &r) != nil {
		return api.Result{}
	}
	return r
}
