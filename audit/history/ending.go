package history

import (
	"cmp"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit/internal/pb"
	"github.com/switchyard/switchyard/internal/core/failures"
	commonpb "go.temporal.io/api/common/v1"
	failurepb "go.temporal.io/api/failure/v1"
	historypb "go.temporal.io/api/history/v1"
)

// ending reads how a run ended.
type ending struct {
	run *run
	// cancelRequest has who asked the run to stop, and why; empty while there was no request.
	cancelRequest string
}

// close ends all open calls and then the run.
func (x *ending) close(e *historypb.HistoryEvent, status RunStatus, event api.Event) {
	x.run.approvals.limitOver(e, api.DecisionWithdrawn)
	x.run.calls.endOpen(e)
	x.run.admission.abandon(e, "the run ended before this call ran")
	event.Result, event.StepFailures = x.run.output(event.Result), x.run.steps.takeFailures()
	s := &x.run.summary
	event.Continues = s.Continues
	s.Status, s.Closed, s.Paused = status, pb.Time(e.GetEventTime()), nil
	s.Result, s.Failure = event.Result, event.Failure
	s.FailureType, s.Problems = event.FailureType, event.Problems
	if r := event.Result; r != nil {
		s.Usage = r.Usage
	}
	x.run.open = false
	x.run.emit(e, event)
}

// endOpen ends the calls that were open when the server stopped the run. History does not say
// whether they took effect.
func (c *calls) endOpen(e *historypb.HistoryEvent) {
	for _, a := range c.run.activities.openInOrder() {
		r := a.record
		r.Error = api.Errorf(api.ErrCancelled,
			"the run was ended while this call waited or ran; the call may have taken effect")
		if tool := c.run.tools[r.Tool]; tool.Dispatch == api.DispatchQuestion {
			r.Error = api.Errorf(api.ErrCancelled, "the run ended before a person answered")
		} else {
			failures.SetUnclear(r.Error, tool.Effect)
		}
		r.Status = failedStatus(r.Error)
		c.end(e, r)
	}
	clear(c.run.activities.open)
}

func (x *ending) readCompleted(e *historypb.HistoryEvent) error {
	var result api.RunResult
	if err := x.run.decodeEvent(e, "result",
		e.GetWorkflowExecutionCompletedEventAttributes().GetResult(), &result); err != nil {
		return err
	}
	x.close(e, RunCompleted, api.Event{Type: api.EventRunCompleted, Result: &result})
	return nil
}

func (x *ending) readFailed(e *historypb.HistoryEvent) error {
	f := e.GetWorkflowExecutionFailedEventAttributes().GetFailure()
	event := api.Event{Type: api.EventRunFailed, Failure: pb.FailureMessage(f)}
	if app := pb.FindCause(f, pb.IsApplication); app != nil {
		event.FailureType = api.RunErrorType(app.GetApplicationFailureInfo().GetType())
		if err := x.failureDetails(e, app, &event); err != nil {
			return err
		}
	}
	x.endNotRun(e, event)
	x.close(e, RunFailed, event)
	return nil
}

// failureDetails reads the details of a run's failure. A failure without details has a message
// only.
func (x *ending) failureDetails(e *historypb.HistoryEvent, app *failurepb.Failure,
	event *api.Event) error {
	details := app.GetApplicationFailureInfo().GetDetails()
	if len(details.GetPayloads()) == 0 {
		return nil
	}
	switch event.FailureType {
	case api.RunInvalid:
		return x.run.decodeEvent(e, "problems", details, &event.Problems)
	case api.RunCallsFailed, api.RunRefused, api.RunBlocked:
		event.Result = &api.RunResult{}
		return x.run.decodeEvent(e, "result", details, event.Result)
	case api.RunModelFailed:
		return x.usage(e, details, event)
	}
	return nil
}

// usage reads the usage and the undone calls of a run whose failure has no other details.
func (x *ending) usage(e *historypb.HistoryEvent, details *commonpb.Payloads,
	event *api.Event) error {
	event.Result = &api.RunResult{}
	if err := x.run.decodeEvent(e, "usage", details, &event.Result.Usage); err != nil ||
		len(details.GetPayloads()) < 2 {
		return err
	}
	undone := &commonpb.Payloads{Payloads: details.GetPayloads()[1:]}
	return x.run.decodeEvent(e, "undone calls", undone, &event.Result.Undone)
}

// endNotRun ends the calls of a failed run that were never admitted: those that depend on a failed
// call, and all calls of a plan that was refused.
func (x *ending) endNotRun(e *historypb.HistoryEvent, event api.Event) {
	if event.Result != nil {
		for _, o := range event.Result.Failures {
			if x.run.admission.wanted[o.ID] != nil && o.Error != nil {
				x.run.admission.refuse(e, x.run.admission.wanted.take(o.ID),
					api.AdmissionDecision{Error: o.Error})
			}
		}
	}
	if event.FailureType != api.RunInvalid {
		return
	}
	for _, w := range x.run.admission.wanted.inOrder() {
		err := api.Errorf(api.ErrPreconditionFailed,
			"the plan was not run because another of its calls was refused")
		err.Phase = api.PhasePreExecution
		x.run.admission.refuse(e, x.run.admission.wanted.take(w.ID),
			api.AdmissionDecision{Error: err})
	}
}

func (x *ending) readTimedOut(e *historypb.HistoryEvent) error {
	x.close(e, RunTimedOut, api.Event{Type: api.EventRunFailed,
		Failure: "the run exceeded its timeout"})
	return nil
}

// readCancelRequested keeps who asked the run to stop, and why. Later requests change nothing.
func (x *ending) readCancelRequested(e *historypb.HistoryEvent) error {
	a := e.GetWorkflowExecutionCancelRequestedEventAttributes()
	who := a.GetIdentity()
	if run := a.GetExternalWorkflowExecution().GetWorkflowId(); run != "" {
		who = "the run " + run // the identity is that of the server
	}
	if x.cancelRequest == "" {
		x.cancelRequest = appendCause("the run was cancelled", who, a.GetCause())
	}
	return nil
}

// appendCause appends who stopped a run and why, as far as both are known.
func appendCause(words, who, why string) string {
	if who != "" {
		words += " by " + who
	}
	if why != "" {
		words += ": " + why
	}
	return words
}

func (x *ending) readCancelled(e *historypb.HistoryEvent) error {
	event := api.Event{
		Type:    api.EventRunCancelled,
		Failure: cmp.Or(x.cancelRequest, "the run was cancelled"),
	}
	details := e.GetWorkflowExecutionCanceledEventAttributes().GetDetails()
	if len(details.GetPayloads()) > 0 {
		if err := x.usage(e, details, &event); err != nil {
			return err
		}
	}
	x.close(e, RunCancelled, event)
	return nil
}

func (x *ending) readTerminated(e *historypb.HistoryEvent) error {
	a := e.GetWorkflowExecutionTerminatedEventAttributes()
	words := appendCause("the run was terminated", a.GetIdentity(), a.GetReason())
	x.close(e, RunTerminated, api.Event{Type: api.EventRunCancelled, Failure: words})
	return nil
}
