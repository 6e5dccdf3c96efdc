// Package runs makes the calls of a gateway's clients in session runs on a Temporal server.
package runs

import (
	"context"
	"errors"
	"time"

	"github.com/switchyard/switchyard"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/gateway"
)

// Sessions makes calls in session runs. It implements gateway.Sessions.
type Sessions struct {
	// Client is required. IdleTimeout is that of the sessions it starts; default
	// api.DefaultSessionIdleTimeout.
	Client      *switchyard.Client
	IdleTimeout time.Duration
	// Running returns the progress of the calls that run in the run with that id, by call; nil
	// tells of none.
	Running func(ctx context.Context, run string) (map[string]*api.Progress, error)
}

// handle returns a handle of a session for one request, whose caller makes its calls.
func (s *Sessions) handle(of gateway.Session) *switchyard.Session {
	return s.Client.Session(of.RunID(), switchyard.SessionStart{Client: of.Client,
		IdleTimeout: s.IdleTimeout, Caller: of.Caller})
}

// Submit submits a call, and starts the session's run if it does not run.
func (s *Sessions) Submit(ctx context.Context, of gateway.Session, call api.SessionCall) (
	api.SessionCallStatus, error) {
	return s.handle(of).Call(ctx, call)
}

// Status asks the newest execution of the session, and then the one that made the call.
func (s *Sessions) Status(ctx context.Context, of gateway.Session, call, execution string) (
	api.SessionCallStatus, error) {
	h := s.handle(of)
	status, err := h.Status(ctx, call, "")
	if lost := unknown(status, err); lost && execution != "" {
		status, err = h.Status(ctx, call, execution)
	}
	if unknown(status, err) {
		return api.SessionCallStatus{ID: call, State: api.SessionCallUnknown}, nil
	}
	return status, err
}

// Progress returns the last progress of a call that runs.
func (s *Sessions) Progress(ctx context.Context, of gateway.Session, call string) (*api.Progress,
	error) {
	if s.Running == nil {
		return nil, nil
	}
	all, err := s.Running(ctx, of.RunID())
	return all[call], err
}

// unknown reports whether the execution that was asked does not exist, or does not know the call.
func unknown(status api.SessionCallStatus, err error) bool {
	return errors.Is(err, &switchyard.RequestError{Type: switchyard.RunNotFound}) ||
		err == nil && status.State == api.SessionCallUnknown
}

// Cancel cancels a call.
func (s *Sessions) Cancel(ctx context.Context, of gateway.Session, c api.CancelCall) error {
	return s.handle(of).Cancel(ctx, c)
}

// Leave keeps the result of a call for the next equal call.
func (s *Sessions) Leave(ctx context.Context, of gateway.Session, l api.LeaveCall) error {
	return s.handle(of).Leave(ctx, l)
}

// End ends a session. One that does not run has ended.
func (s *Sessions) End(ctx context.Context, of gateway.Session, e api.EndSession) error {
	err := s.handle(of).End(ctx, e)
	if errors.Is(err, &switchyard.RequestError{Type: switchyard.RunNotFound}) ||
		errors.Is(err, &switchyard.RequestError{Type: switchyard.RunEnded}) {
		return nil
	}
	return err
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
			Caller: gateway.CallerFromRunID(a.WorkflowID)}
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
