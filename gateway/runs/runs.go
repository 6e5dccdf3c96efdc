// Package runs makes the calls of a gateway's clients in session runs on a Temporal server.
package runs

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/switchyard/switchyard"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/gateway"
	"github.com/switchyard/switchyard/internal/runstart"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
)

const (
	// busyFor is how long a call is offered to a session that takes none for the moment, because it
	// is about to end or to continue in a new history.
	busyFor   = 5 * time.Second
	firstWait = 50 * time.Millisecond
	lastWait  = time.Second
)

// Sessions makes calls in session runs. It implements gateway.Sessions.
type Sessions struct {
	// Client is required, as is Namespace, which starts the sessions' runs.
	Client    *switchyard.Client
	Namespace *runstart.Namespace
	// TaskQueue is that of the workers; Session has the settings of the sessions.
	TaskQueue string
	Session   api.Session
}

// Submit submits a call, and starts the session's run if it does not run. The call's ID is that of
// the update, so that a request that is sent again makes no second call.
func (s *Sessions) Submit(ctx context.Context, of gateway.Session, call api.SessionCall) (
	api.SessionCallStatus, error) {
	deadline := time.Now().Add(busyFor)
	for wait := firstWait; ; wait = min(2*wait, lastWait) {
		status, err := s.submit(ctx, of, call)
		if err == nil || !busy(err) || time.Now().After(deadline) || !pause(ctx, wait) {
			return status, err
		}
	}
}

func (s *Sessions) submit(ctx context.Context, of gateway.Session, call api.SessionCall) (
	api.SessionCallStatus, error) {
	var status api.SessionCallStatus
	session := s.Session
	session.Client = of.Client
	r := &runstart.Request{Kind: api.CallerSession, Workflow: api.SessionWorkflow,
		Name: of.Client, ID: of.RunID(), Queue: s.TaskQueue,
		Input: api.RunInput{Session: &session, Caller: of.Caller}}
	options, err := s.Namespace.SessionOptions(ctx, r)
	if err != nil {
		return status, err
	}
	t := s.Client.Temporal()
	h, err := t.UpdateWithStartWorkflow(ctx, client.UpdateWithStartWorkflowOptions{
		StartWorkflowOperation: t.NewWithStartWorkflowOperation(options, r.Workflow,
			r.Arguments()...),
		UpdateOptions: client.UpdateWorkflowOptions{WorkflowID: r.ID, UpdateID: call.ID,
			UpdateName: api.SubmitCallUpdate, Args: []any{call},
			WaitForStage: client.WorkflowUpdateStageCompleted}})
	if err == nil {
		err = h.Get(ctx, &status)
	}
	return status, refusal(err)
}

// Status asks the newest execution of the session, and then the one that made the call.
func (s *Sessions) Status(ctx context.Context, of gateway.Session, call, execution string) (
	api.SessionCallStatus, error) {
	status, err := s.status(ctx, of, "", call)
	execution = cmp.Or(status.RunID, execution)
	complete := status.State != api.SessionCallUnknown &&
		(status.State != api.SessionCallEnded || status.Outcome != nil)
	if err == nil && !complete && execution != "" {
		status, err = s.status(ctx, of, execution, call)
	}
	return status, err
}

func (s *Sessions) status(ctx context.Context, of gateway.Session, execution, call string) (
	api.SessionCallStatus, error) {
	status := api.SessionCallStatus{ID: call, State: api.SessionCallUnknown}
	value, err := s.query(ctx, of.RunID(), execution, call)
	if _, missing := errors.AsType[*serviceerror.NotFound](err); missing {
		return status, nil
	}
	if err == nil {
		err = value.Get(&status)
	}
	return status, err
}

func (s *Sessions) query(ctx context.Context, run, execution, call string) (
	converter.EncodedValue, error) {
	return s.Client.Temporal().QueryWorkflow(ctx, run, execution, api.CallStatusQuery, call)
}

// Cancel cancels a call.
func (s *Sessions) Cancel(ctx context.Context, of gateway.Session, c api.CancelCall) error {
	return s.update(ctx, of, api.CancelCallUpdate, c)
}

// End ends a session. One that does not run has ended.
func (s *Sessions) End(ctx context.Context, of gateway.Session, e api.EndSession) error {
	err := s.update(ctx, of, api.EndSessionUpdate, e)
	if _, missing := errors.AsType[*serviceerror.NotFound](err); missing {
		return nil
	}
	return err
}

func (s *Sessions) update(ctx context.Context, of gateway.Session, name string, arg any) error {
	h, err := s.Client.Temporal().UpdateWorkflow(ctx, client.UpdateWorkflowOptions{
		WorkflowID: of.RunID(), UpdateName: name, Args: []any{arg},
		WaitForStage: client.WorkflowUpdateStageCompleted})
	if err == nil {
		err = h.Get(ctx, nil)
	}
	return refusal(err)
}

// Approvals returns the calls of all runs that wait for approval.
func (s *Sessions) Approvals(ctx context.Context) ([]gateway.OpenApproval, error) {
	all, err := s.Client.Approvals(ctx)
	if _, some := errors.AsType[*switchyard.UnreadError](err); err != nil && !some {
		return nil, err
	}
	open := make([]gateway.OpenApproval, len(all))
	for i, a := range all {
		open[i] = gateway.OpenApproval{Approval: a.Approval, Run: a.WorkflowID,
			Caller: gateway.CallerOf(a.WorkflowID)}
	}
	return open, nil
}

// Decide decides about a call of a run.
func (s *Sessions) Decide(ctx context.Context, run string, d api.Decision) error {
	return s.Client.Open(run).Decide(ctx, d)
}

// Answer answers a question of a run.
func (s *Sessions) Answer(ctx context.Context, run string, r api.Reply) error {
	return s.Client.Open(run).Answer(ctx, r)
}

// refusal returns why a session refused an update, as an *api.ControlError; other errors as they
// are.
func refusal(err error) error {
	app, ok := errors.AsType[*temporal.ApplicationError](err)
	if !ok {
		return err
	}
	e := &api.ControlError{}
	if app.Details(e) != nil { // the details cannot be decoded
		e = &api.ControlError{Type: api.ControlErrorType(app.Type()),
			Message: cmp.Or(app.Message(), app.Type())}
	}
	return e
}

// busy reports whether a session takes the call soon.
func busy(err error) bool {
	e, ok := errors.AsType[*api.ControlError](err)
	return ok && (e.Type == api.SessionBusy || e.Type == api.RunEnding)
}

// pause waits and reports whether ctx has not ended.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
