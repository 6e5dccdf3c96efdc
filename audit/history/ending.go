package history

import (
	"cmp"
	"slices"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit/internal/pb"
	commonpb "go.temporal.io/api/common/v1"
	failurepb "go.temporal.io/api/failure/v1"
	historypb "go.temporal.io/api/history/v1"
)

// ending is how a run ended.
type ending struct {
	status RunStatus
	event  api.Event
}

// close ends the run, and before it every call that is not over: none is missing from the records.
func (d *Deriver) close(e *historypb.HistoryEvent, end ending) {
	d.limitOver(e, api.DecisionWithdrawn)
	d.endOpen(e)
	d.abandon(e, "the run ended before this call ran")
	end.event.Result, end.event.StepFailures = d.output(end.event.Result), d.takeStepFailures()
	s := &d.summary
	end.event.Continues = s.Continues
	s.Status, s.Closed, s.Paused, s.PausedOnServer = end.status, pb.TimeOf(e.GetEventTime()), nil, nil
	s.Result, s.Failure, s.FailureType, s.Problems = end.event.Result, end.event.Failure, end.event.FailureType, end.event.Problems
	if r := end.event.Result; r != nil {
		s.Usage = r.Usage
	}
	d.begun = false
	d.emit(e, end.event)
}

// endOpen ends calls that were scheduled when the server stopped the run. Whether they took effect is not in history.
func (d *Deriver) endOpen(e *historypb.HistoryEvent) {
	for _, a := range d.openInOrder() {
		r := a.record
		r.Status = api.CallCancelled
		r.Error = api.Errorf(api.ErrCancelled, "the run was ended while this call waited or ran; it may have taken effect")
		if d.tools[r.Tool].Kind == api.KindHuman {
			r.Error = api.Errorf(api.ErrCancelled, "the run was ended before a person answered")
		}
		d.end(e, r)
	}
	clear(d.open)
}

// openInOrder returns the scheduled calls in the order in which they were first scheduled.
func (d *Deriver) openInOrder() []*activity {
	return slices.DeleteFunc(inOrder(d.open), func(a *activity) bool { return a.step || a.hook != nil })
}

// Running returns the records of the calls that are not over, in the order in which they were made. History does not
// say whether a scheduled call has been started: see Pending.
func (d *Deriver) Running() []api.Record {
	var records []api.Record
	for _, a := range d.openInOrder() {
		a.record.Notes = slices.Concat(a.record.Notes, d.waitsFor(a.id))
		records = append(append(records, a.record), d.batching[a.id]...)
	}
	for _, a := range inOrder(d.requeued) {
		records = append(append(records, a.record), d.batching[a.id]...)
	}
	for _, w := range d.wanted.inOrder() {
		records = append(records, d.unscheduled(w))
	}
	for i, r := range records {
		records[i] = d.hidden.record(r)
	}
	return records
}

func (d *Deriver) runCompleted(e *historypb.HistoryEvent) error {
	var result api.RunResult
	if err := d.decodeEvent(e, "result", e.GetWorkflowExecutionCompletedEventAttributes().GetResult(), &result); err != nil {
		return err
	}
	d.close(e, ending{RunCompleted, api.Event{Type: api.EventRunCompleted, Result: &result}})
	return nil
}

func (d *Deriver) runFailed(e *historypb.HistoryEvent) error {
	f := e.GetWorkflowExecutionFailedEventAttributes().GetFailure()
	event := api.Event{Type: api.EventRunFailed, Failure: pb.FailureMessage(f)}
	if app := pb.FindCause(f, pb.IsApplication); app != nil {
		event.FailureType = api.RunErrorType(app.GetApplicationFailureInfo().GetType())
		if err := d.failureDetails(e, app, &event); err != nil {
			return err
		}
	}
	d.endUnrun(e, event)
	d.close(e, ending{RunFailed, event})
	return nil
}

// failureDetails reads what the types of a run's failure carry. A failure without details says all it has in words.
func (d *Deriver) failureDetails(e *historypb.HistoryEvent, app *failurepb.Failure, event *api.Event) error {
	details := app.GetApplicationFailureInfo().GetDetails()
	if len(details.GetPayloads()) == 0 {
		return nil
	}
	switch event.FailureType {
	case api.RunInvalid:
		return d.decodeEvent(e, "problems", details, &event.Problems)
	case api.RunCallsFailed, api.RunRefused, api.RunBlocked:
		event.Result = &api.RunResult{}
		return d.decodeEvent(e, "result", details, event.Result)
	case api.RunModelFailed:
		return d.usedAndUndone(e, details, event)
	}
	return nil
}

// usedAndUndone reads what a run used and undid where it has no other result.
func (d *Deriver) usedAndUndone(e *historypb.HistoryEvent, details *commonpb.Payloads, event *api.Event) error {
	event.Result = &api.RunResult{}
	if err := d.decodeEvent(e, "usage", details, &event.Result.Usage); err != nil || len(details.GetPayloads()) < 2 {
		return err
	}
	undone := &commonpb.Payloads{Payloads: details.GetPayloads()[1:]}
	return d.decodeEvent(e, "undone calls", undone, &event.Result.Undone)
}

// endUnrun ends the calls of a failed run that were never admitted: those that needed a failed one, and all of a plan
// that was refused as a whole.
func (d *Deriver) endUnrun(e *historypb.HistoryEvent, event api.Event) {
	if event.Result != nil {
		for _, o := range event.Result.Failures {
			if d.wanted[o.ID] != nil && o.Error != nil {
				d.refuse(e, d.wanted.take(o.ID), api.AdmissionDecision{Error: o.Error})
			}
		}
	}
	if event.FailureType != api.RunInvalid {
		return
	}
	for _, w := range d.wanted.inOrder() {
		err := api.Errorf(api.ErrPreconditionFailed, "nothing of the plan was run, because another call of it was refused")
		err.Phase = api.PhasePreExecution
		d.refuse(e, d.wanted.take(w.ID), api.AdmissionDecision{Error: err})
	}
}

func (d *Deriver) runTimedOut(e *historypb.HistoryEvent) error {
	d.close(e, ending{RunTimedOut, api.Event{Type: api.EventRunFailed,
		Failure: "the run did not end within the timeout that it was started with"}})
	return nil
}

// runCancelRequested keeps who asked the run to stop, and why. The first request counts: another changes nothing.
func (d *Deriver) runCancelRequested(e *historypb.HistoryEvent) error {
	a := e.GetWorkflowExecutionCancelRequestedEventAttributes()
	who := a.GetIdentity()
	if run := a.GetExternalWorkflowExecution().GetWorkflowId(); run != "" {
		who = "the run " + run // the identity is the server's
	}
	if d.cancelRequest == "" {
		d.cancelRequest = stopped("the run was cancelled", who, a.GetCause())
	}
	return nil
}

// stopped says who stopped a run and why, as far as it is known.
func stopped(words, who, why string) string {
	if who != "" {
		words += " by " + who
	}
	if why != "" {
		words += ": " + why
	}
	return words
}

func (d *Deriver) runCancelled(e *historypb.HistoryEvent) error {
	event := api.Event{Type: api.EventRunCancelled, Failure: cmp.Or(d.cancelRequest, "the run was cancelled")}
	if details := e.GetWorkflowExecutionCanceledEventAttributes().GetDetails(); len(details.GetPayloads()) > 0 {
		if err := d.usedAndUndone(e, details, &event); err != nil {
			return err
		}
	}
	d.close(e, ending{RunCancelled, event})
	return nil
}

func (d *Deriver) runTerminated(e *historypb.HistoryEvent) error {
	a := e.GetWorkflowExecutionTerminatedEventAttributes()
	words := stopped("the run was terminated", a.GetIdentity(), a.GetReason())
	d.close(e, ending{RunTerminated, api.Event{Type: api.EventRunCancelled, Failure: words}})
	return nil
}
