package switchyard

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/people"
	"github.com/switchyard/switchyard/internal/runstart"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
)

// Types of package api that sessions are used with.
type (
	// SessionCall is a call to be made in a session.
	SessionCall = api.SessionCall
	// SessionCallStatus says what became of a call of a session.
	SessionCallStatus = api.SessionCallStatus
)

// SessionStart describes a session. It counts if the session is not open yet; an open one keeps its
// own. The zero value is valid.
type SessionStart struct {
	// Client is the program that has the session; it is shown in lists.
	Client string
	// IdleTimeout ends the session when no call has run for that long; default
	// api.DefaultSessionIdleTimeout.
	IdleTimeout time.Duration
	// Limits bound the whole session. Calls, Tokens, Cost and WallTime apply.
	Limits api.Limits
	// Caller is for whom the calls are made that name no caller of their own; default is the caller
	// of the Client. Its Type is not used. The run of the session shows who it is, without claims:
	// they belong to each call.
	Caller api.Caller
	// Conversation groups runs; default is the ID of the session.
	Conversation string
	// TaskQueue overrides that of the client.
	TaskQueue string
	// Variables are visible to tools and in policies.
	Variables map[string]any
	// Mode overrides how strictly arguments are validated, Priority is that of the calls.
	Mode     api.Mode
	Priority api.Priority
}

// Session is a handle of a session run: a run whose calls are submitted one by one. It is safe for
// concurrent use, also by several processes.
type Session struct {
	client *Client
	start  runstart.Request
	caller api.Caller
}

const (
	// minPoll and maxPoll are the waits between two queries for the status of calls.
	minPoll = 20 * time.Millisecond
	maxPoll = time.Second
	// queryWithin bounds the first attempt of a query; each later one may take twice as long.
	// ReplyWithin bounds all attempts.
	queryWithin = 4 * time.Second
)

// Session returns a handle of the session with that workflow ID. It does not ask the server: the
// session begins with its first call, and again with the first call after its end.
func (c *Client) Session(id string, s SessionStart) *Session {
	s.Caller.Type = api.CallerDirect
	s.Caller.ID = cmp.Or(s.Caller.ID, c.caller)
	return &Session{client: c, caller: s.Caller,
		start: runstart.Request{Kind: api.CallerSession, Workflow: api.SessionWorkflow, ID: id,
			Name: cmp.Or(s.Client, "session"), Queue: cmp.Or(s.TaskQueue, c.taskQueue),
			Input: api.RunInput{Caller: s.Caller.Bare(), Conversation: s.Conversation,
				Variables: s.Variables, Mode: s.Mode, Priority: s.Priority,
				Session: &api.Session{Client: s.Client,
					IdleTimeout: api.Duration(s.IdleTimeout), Limits: s.Limits}}}}
}

// Run returns the handle of the session's run, for approvals, questions, records and events.
func (s *Session) Run() *Run { return s.client.Open(s.start.ID) }

// Call makes a call and waits until it has ended, or awaits an approval or an answer, at most
// call.Wait. Wait waits for the end of a call that was approved or answered since. Call starts the
// session if it is not open. An empty ID gets a random one. A call that is repeated with the same
// ID, also by another process, is made once.
//
// Errors: *RequestError of the types invalid_request, for a call that no session takes;
// request_refused with a *ControlError, if the session has too many open calls; run_unreadable,
// run_unanswered, server_unreachable and server_refused; and those of ctx. The error of the tool is
// part of the outcome. After an error of ctx, run_unanswered or server_unreachable, the call may
// have been made: make it again with the ID of the status that comes with the error.
func (s *Session) Call(ctx context.Context, call SessionCall) (SessionCallStatus, error) {
	fresh := call.ID == "" || call.New
	call.ID = cmp.Or(call.ID, "c"+runstart.RandomHex(8))
	if call.Caller.ID == "" {
		call.Caller = s.caller
	}
	if e := people.CheckSessionCall(call); e != nil {
		return SessionCallStatus{ID: call.ID}, malformed(s.start.ID, e)
	}
	deadline := time.Now().Add(call.Wait.Std())
	flow, done := s.client.flow(s.start.ID)
	defer done()
	status, err := flow.submit(ctx, &submission{session: s, call: call, fresh: fresh})
	if err != nil {
		return SessionCallStatus{ID: call.ID}, err
	}
	if awaitsPerson(status) { // a repeated call gets the answer that its first submit got
		now, err := s.latest(ctx, status)
		if err != nil {
			return status, err
		}
		now.Attached = now.Attached || status.Attached
		status = now
	}
	return s.wait(ctx, flow, status, time.Until(deadline), awaitsPerson)
}

// awaitsPerson reports whether a call awaits an approval or an answer.
func awaitsPerson(status SessionCallStatus) bool {
	return status.State == api.SessionCallAwaitsApproval ||
		status.State == api.SessionCallAwaitsAnswer
}

// update submits calls to the session, which it starts if it is not open. It returns the statuses
// of the first ones, at least of one. An update that may start the session costs the server half a
// millisecond more than one of an open session.
func (s *Session) update(ctx context.Context, calls []*submission) ([]SessionCallStatus, error) {
	statuses, err := s.send(ctx, calls, s.client.temporal.UpdateWorkflow)
	closed := isA[*serviceerror.NotFound](err)
	if closed {
		if err := s.askLastExecution(ctx, calls); err != nil {
			return nil, err
		}
	}
	for _, c := range calls {
		c.fresh = c.fresh && err == nil // else a later attempt may repeat it
	}
	if !closed {
		return statuses, err
	}
	return s.send(ctx, calls, func(ctx context.Context,
		u client.UpdateWorkflowOptions) (client.WorkflowUpdateHandle, error) {
		return s.client.namespace.UpdateOrStart(ctx, s.start, u)
	})
}

// send sends an update with the calls, from the first one on that an ended session does not know.
// If that knows the first ones, it returns their statuses and sends nothing.
func (s *Session) send(ctx context.Context, calls []*submission,
	send func(context.Context, client.UpdateWorkflowOptions) (client.WorkflowUpdateHandle,
		error)) (statuses []SessionCallStatus, err error) {
	for _, c := range calls {
		if c.found == nil {
			break
		}
		statuses = append(statuses, *c.found)
	}
	if len(statuses) > 0 {
		return statuses, nil
	}
	n := slices.IndexFunc(calls, func(c *submission) bool { return c.found != nil })
	if n < 0 {
		n = len(calls)
	}
	handle, err := send(ctx, client.UpdateWorkflowOptions{WorkflowID: s.start.ID,
		UpdateID: "calls/" + runstart.RandomHex(16), UpdateName: api.SubmitCallsUpdate,
		Args: []any{callsIn(calls[:n])}, WaitForStage: client.WorkflowUpdateStageCompleted})
	if err == nil {
		err = handle.Get(ctx, &statuses)
	}
	return statuses, err
}

// askLastExecution asks the last execution of a session that is not open for calls: a call is not
// made again because the session ended before its client learned of its end. An execution that no
// worker can replay any more knows none, and one that was terminated does not know how its calls
// ended.
func (s *Session) askLastExecution(ctx context.Context, calls []*submission) error {
	asked := slices.DeleteFunc(slices.Clone(calls), func(c *submission) bool {
		return c.fresh || c.found != nil
	})
	if len(asked) == 0 {
		return nil
	}
	ids := make([]string, len(asked))
	for i, c := range asked {
		ids[i] = c.call.ID
	}
	statuses, err := s.query(ctx, ids, "")
	if isA[*serviceerror.NotFound](err) || isA[*serviceerror.QueryFailed](err) {
		return nil
	}
	for i, status := range statuses {
		asked[i].find(status)
	}
	if isA[*serviceerror.DeadlineExceeded](err) || errors.Is(err, context.DeadlineExceeded) {
		return serviceerror.NewWorkflowNotReady("no worker answers about the session that ended")
	}
	return err
}

// find takes what an ended session knows of the call. It does not know another caller's call.
func (c *submission) find(status SessionCallStatus) {
	if who := status.Caller; status.State == api.SessionCallEnded && who != nil &&
		who.Is(c.call.Caller) {
		c.found = &status
	}
}

// again reports whether a call that was not taken can be submitted again: the session is ending or
// continues in another history, has too many updates in flight, or its workers are overloaded.
func again(err error) bool {
	if app, ok := errors.AsType[*temporal.ApplicationError](err); ok {
		t := api.ControlErrorType(app.Type())
		return t == api.SessionBusy || t == api.RunEnding
	}
	return isA[*serviceerror.ResourceExhausted](err) || isA[*serviceerror.NotFound](err) ||
		isA[*serviceerror.Aborted](err) || isA[*serviceerror.FailedPrecondition](err) ||
		isA[*serviceerror.WorkflowNotReady](err)
}

// refusal maps an error of an update of the session; nil gives nil.
func (s *Session) refusal(ctx context.Context, err error) error {
	if err == nil || ctx.Err() != nil {
		return ctxOr(ctx, err)
	}
	if refusal := refused(s.start.ID, err, refusedControl); refusal != nil {
		return refusal
	}
	return requestError(ctx, s.start.ID, err)
}

// wait waits for d. Its error is that of ctx.
func wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Status returns the status of a call, with its outcome if it has ended. runID is the RunID of an
// earlier status of the call, and empty asks the newest execution of the session. A call that is
// not known there has the state unknown. The outcome of a call is available for as long as the
// server keeps the history of its execution.
//
// Errors: *RequestError of the types run_not_found, run_unanswered, server_unreachable and
// server_refused, and those of ctx.
func (s *Session) Status(ctx context.Context, callID, runID string) (SessionCallStatus, error) {
	status, err := s.queryOne(ctx, callID, runID)
	lacks := status.State == api.SessionCallEnded && status.Outcome == nil
	if err == nil && lacks && status.RunID != runID {
		attached := status.Attached
		status, err = s.queryOne(ctx, status.ID, status.RunID)
		status.Attached = attached
	}
	return status, err
}

func (s *Session) queryOne(ctx context.Context, callID, runID string) (SessionCallStatus, error) {
	statuses, err := s.query(ctx, []string{callID}, runID)
	if err != nil {
		return SessionCallStatus{}, err
	}
	return statuses[0], nil
}

// query asks an execution for calls, again while no worker answers: a query can get lost when the
// session continues as new. Attempts become longer and rarer, because the worker still executes
// abandoned queries, and too many of them keep it from answering in time.
func (s *Session) query(ctx context.Context, callIDs []string, runID string) (
	[]SessionCallStatus, error) {
	waiting, cancel := context.WithTimeout(ctx, ReplyWithin)
	defer cancel()
	within, pause := queryWithin, minPoll
	for {
		statuses, err := s.queryOnce(waiting, within, callIDs, runID)
		if err == nil || isA[*serviceerror.NotFound](err) || isA[*serviceerror.QueryFailed](err) ||
			wait(waiting, pause) != nil {
			return statuses, requestError(ctx, s.start.ID, err)
		}
		within, pause = 2*within, min(2*pause, maxPoll)
	}
}

func (s *Session) queryOnce(ctx context.Context, within time.Duration, callIDs []string,
	runID string) (statuses []SessionCallStatus, err error) {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	value, err := s.client.temporal.QueryWorkflow(ctx, s.start.ID, runID, api.CallStatusQuery,
		callIDs)
	if err == nil {
		err = value.Get(&statuses)
	}
	if err == nil && len(statuses) != len(callIDs) {
		err = fmt.Errorf("the session answered about %d of %d calls", len(statuses), len(callIDs))
	}
	return statuses, err
}

// Wait waits for the end of a call, at most for d, and returns its status with the outcome if it
// has ended. It repeats queries that get no answer, until d has passed. It needs a status of the
// call that Call or Status returned. Errors are those of Status.
func (s *Session) Wait(ctx context.Context, status SessionCallStatus,
	d time.Duration) (SessionCallStatus, error) {
	flow, done := s.client.flow(s.start.ID)
	defer done()
	return s.wait(ctx, flow, status, d, func(SessionCallStatus) bool { return false })
}

// wait waits for the end of a call, or until its status is enough.
func (s *Session) wait(ctx context.Context, flow *sessionFlow, status SessionCallStatus,
	d time.Duration, enough func(SessionCallStatus) bool) (SessionCallStatus, error) {
	deadline := time.Now().Add(d)
	for status.Outcome == nil && !enough(status) {
		if status.State != api.SessionCallEnded && time.Until(deadline) <= 0 {
			break
		}
		now, err := s.answered(ctx, flow, status, deadline)
		if err != nil {
			return status, err
		}
		if status = now; status.State == api.SessionCallUnknown {
			break
		}
	}
	return status, nil
}

// answered is latest, which it repeats until the deadline while the error is that of a missing
// answer: such an error says nothing about the call.
func (s *Session) answered(ctx context.Context, flow *sessionFlow, status SessionCallStatus,
	deadline time.Time) (SessionCallStatus, error) {
	var last error
	for pause := minPoll; ; pause = min(2*pause, maxPoll) {
		now, answered, err := s.changed(ctx, flow, status, deadline)
		now.Attached = now.Attached || status.Attached
		if err == nil && !answered {
			err = last
		}
		if !unanswered(err) || !time.Now().Before(deadline) || wait(ctx, pause) != nil {
			return now, ctxOr(ctx, err)
		}
		last = err
	}
}

// unanswered reports whether an error is that of a missing answer, which a later attempt may get.
func unanswered(err error) bool {
	return errors.Is(err, &RequestError{Type: RunUnanswered}) ||
		errors.Is(err, &RequestError{Type: ServerUnreachable})
}

// changed returns the status of a call when it has changed, or at the deadline, and whether the
// session answered until then.
func (s *Session) changed(ctx context.Context, flow *sessionFlow, status SessionCallStatus,
	deadline time.Time) (now SessionCallStatus, answered bool, err error) {
	now, answered = status, true
	if status.State != api.SessionCallEnded {
		now, answered, err = flow.watch(ctx, s, status, deadline)
	}
	if err == nil && (now.Outcome == nil && now.State == api.SessionCallEnded ||
		now.State == api.SessionCallUnknown) {
		now, err = s.latest(ctx, status)
	}
	return now, answered, err
}

// latest asks the newest execution for a call, which is in the memory of a worker and has recent
// outcomes. If that belongs to a later session, it asks the execution of the call.
func (s *Session) latest(ctx context.Context, status SessionCallStatus) (SessionCallStatus,
	error) {
	now, err := s.Status(ctx, status.ID, "")
	if err == nil && now.State == api.SessionCallUnknown {
		return s.Status(ctx, status.ID, status.RunID)
	}
	return now, err
}

// Cancel cancels a call of the session. It returns when the request is recorded; the call ends when
// its tool has stopped. Cancelling a call that has ended has no effect. Errors are those of
// Run.Pause.
func (s *Session) Cancel(ctx context.Context, r api.CancelCall) error {
	r.By = cmp.Or(r.By, s.start.Input.Caller.ID)
	if e := people.CheckCancel(r); e != nil {
		return malformed(s.start.ID, e)
	}
	return s.Run().update(ctx, runstart.RandomHex(16), api.CancelCallUpdate, r, refusedControl)
}

// Leave tells the session that the client of a call is gone without its result. The call goes on.
// If its tool has effect once, the next equal call of the session gets its result instead of being
// made, also after the end of the call. r.ID is the ID with which the client submitted the call:
// Call returns another one if that repeats an earlier call. Errors are those of Run.Pause.
func (s *Session) Leave(ctx context.Context, r api.LeaveCall) error {
	return s.Run().update(ctx, runstart.RandomHex(16), api.LeaveCallUpdate, r, refusedControl)
}

// End ends the session. Its calls are cancelled, after r.Grace. A session that is ending already
// stays so. Errors are those of Run.Pause.
func (s *Session) End(ctx context.Context, r api.EndSession) error {
	r.By = cmp.Or(r.By, s.start.Input.Caller.ID)
	if e := people.CheckEnd(r); e != nil {
		return malformed(s.start.ID, e)
	}
	err := s.Run().update(ctx, runstart.RandomHex(16), api.EndSessionUpdate, r, refusedControl)
	if refusedAs(err, api.RunEnding) {
		return nil
	}
	return err
}
