package switchyard

import (
	"context"
	"errors"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit"
	"github.com/switchyard/switchyard/audit/history"
	"github.com/switchyard/switchyard/internal/core/people"
	"github.com/switchyard/switchyard/internal/runstart"
	"github.com/switchyard/switchyard/internal/value/display"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
)

// Types of package api that runs are controlled with.
type (
	// Sent is a message to a running agent.
	Sent = api.Sent
	// RunEvaluation says whether a run that has ended did its task.
	RunEvaluation = api.RunEvaluation
)

// ReplyWithin bounds the wait for a worker to answer a message, a decision or an answer, a pause or
// a resume.
const ReplyWithin = 15 * time.Second

// update sends an update to the run and waits until the run has accepted it. reason reads why the
// run refused it. The server delivers updates with the same updateID once.
func (r *Run) update(ctx context.Context, updateID, name string, arg any,
	reason func(*temporal.ApplicationError) error) error {
	first, err := r.firstRun(ctx)
	if err != nil {
		return err
	}
	waiting, cancel := context.WithTimeout(ctx, ReplyWithin)
	defer cancel()
	handle, err := r.client.temporal.UpdateWorkflow(waiting, client.UpdateWorkflowOptions{
		WorkflowID: r.id, FirstExecutionRunID: first, UpdateID: updateID, UpdateName: name,
		Args: []any{arg}, WaitForStage: client.WorkflowUpdateStageCompleted})
	if err == nil {
		err = handle.Get(waiting, nil)
	}
	if err == nil || ctx.Err() != nil {
		return ctxOr(ctx, err)
	}
	if refusal := refused(r.id, err, reason); refusal != nil {
		return refusal
	}
	return r.ended(ctx, err)
}

// ctxOr returns the error of ctx if err is set and ctx has ended, else err.
func ctxOr(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

// Send sends a message to the agent of the run, which reads it before its next model step. A
// message with the ID of an earlier one of the run has no effect; without an ID it gets a new one.
// A run that the server has paused reads it when it is resumed.
//
// Errors: *RequestError of the types invalid_request, request_refused with a *ControlError (no
// agent, too many unread messages, the run is ending), run_ended, run_not_found, run_unanswered,
// server_unreachable and server_refused, and that of ctx.
func (r *Run) Send(ctx context.Context, s Sent) error {
	if s.ID == "" {
		s.ID = runstart.RandomHex(16)
	}
	if e := people.CheckMessage(s); e != nil {
		return malformed(r.id, e)
	}
	err := r.update(ctx, s.ID, api.SendMessageUpdate, s, refusedControl)
	if _, paused := errors.AsType[*serviceerror.FailedPrecondition](err); !paused {
		return err
	}
	o, err := audit.Outline(ctx, r.client.temporal, r.id, r.runID)
	switch {
	case err != nil:
		return requestError(ctx, r.id, err)
	case o.Kind != history.RunAgent:
		e := &api.ControlError{Type: api.SendNoAgent,
			Message: "the run has no agent; only agents accept messages"}
		return &RequestError{Type: RequestRefused, WorkflowID: r.id, Message: e.Message, err: e}
	}
	return r.ended(ctx, r.client.temporal.SignalWorkflow(ctx, r.id, o.Parts[0].RunID,
		api.SendMessageSignal, s))
}

// malformed returns the error of a request that no run accepts.
func malformed(id string, err error) error {
	return &RequestError{Type: RequestInvalid, WorkflowID: id, Message: err.Error(), err: err}
}

// Pause pauses the run and the sub-agents below it until Resume: running calls and the current
// model step finish, and nothing new starts. by names who pauses it; reason may be empty. Errors
// are those of Send, and a *ControlError of the type paused_already for a run that is paused.
func (r *Run) Pause(ctx context.Context, by, reason string) error {
	return r.pause(ctx, api.Pause{By: by, Reason: reason})
}

// pause pauses the run and its sub-agents.
func (r *Run) pause(ctx context.Context, p api.Pause) error {
	if e := people.CheckPause(p); e != nil {
		return malformed(r.id, e)
	}
	err := r.update(ctx, runstart.RandomHex(16), api.PauseUpdate, p, refusedControl)
	if err != nil {
		return err
	}
	// The run starts no further sub-agents now.
	return r.eachChild(ctx, func(child *Run) error {
		err := child.pause(ctx, p)
		if refusedAs(err, api.PauseAlready) {
			return nil
		}
		return err
	})
}

// refusedAs reports whether a run refused an update for that reason.
func refusedAs(err error, t api.ControlErrorType) bool {
	e, ok := errors.AsType[*api.ControlError](err)
	return ok && e.Type == t
}

// eachChild calls f with the run of each sub-agent that currently works for the run. Runs that have
// ended meanwhile are skipped.
func (r *Run) eachChild(ctx context.Context, f func(*Run) error) error {
	running, err := audit.Pending(ctx, r.client.temporal, r.id, r.runID)
	if err != nil {
		return requestError(ctx, r.id, err)
	}
	for _, one := range running {
		if one.Child == nil || one.Child.RunID == "" {
			continue
		}
		err := f(r.client.OpenExecution(one.Child.WorkflowID, one.Child.RunID))
		if err != nil && !errors.Is(err, &RequestError{Type: RunEnded}) {
			return err
		}
	}
	return nil
}

// Resume ends the pause of the run and of the sub-agents below it. If nothing was paused, the
// error is request_refused with a *ControlError of type api.NotPaused. The other errors are those
// of Send.
func (r *Run) Resume(ctx context.Context, by, reason string) error {
	p := api.Pause{By: by, Reason: reason}
	if e := people.CheckPause(p); e != nil {
		return malformed(r.id, e)
	}
	resumed, err := r.resume(ctx, p)
	if err != nil || resumed {
		return err
	}
	e := &api.ControlError{Type: api.NotPaused, Message: controlText[api.NotPaused]}
	return &RequestError{Type: RequestRefused, WorkflowID: r.id, Message: e.Message, err: e}
}

// resume resumes the run and its sub-agents, and reports whether one of them was paused.
func (r *Run) resume(ctx context.Context, p api.Pause) (resumed bool, err error) {
	o, err := audit.Outline(ctx, r.client.temporal, r.id, r.runID)
	if err != nil {
		return false, requestError(ctx, r.id, err)
	}
	if !o.Closed.IsZero() {
		return false, r.endedAs(o.Status)
	}
	if o.Paused != nil {
		switch err := r.update(ctx, runstart.RandomHex(16), api.ResumeUpdate, p, refusedControl); {
		case err == nil:
			resumed = true
		case !refusedAs(err, api.NotPaused):
			return false, err
		}
	}
	return resumed, r.eachChild(ctx, func(child *Run) error {
		also, err := child.resume(ctx, p)
		resumed = resumed || also
		return err
	})
}

// CloseInstance closes an instance of a stateful tool or an MCP session of the run. Running calls
// on it may end first, and the next call gets a new instance. Errors are those of Send.
func (r *Run) CloseInstance(ctx context.Context, c api.CloseInstance) error {
	if e := people.CheckClose(c); e != nil {
		return malformed(r.id, e)
	}
	return r.update(ctx, runstart.RandomHex(16), api.CloseInstanceUpdate, c, refusedControl)
}

// Cancel asks the run to stop: running calls are cancelled, nothing new starts, and completed
// calls whose tools declare undo are undone. It does not wait; Result then returns a *RunError with
// the status cancelled. by names who cancels it; reason may be empty. To cancel again changes
// nothing. Errors are those of Send.
func (r *Run) Cancel(ctx context.Context, by, reason string) error {
	p := api.Pause{By: by, Reason: reason}
	if e := people.CheckPause(p); e != nil {
		return malformed(r.id, e)
	}
	first, err := r.firstRun(ctx)
	if err != nil {
		return err
	}
	_, err = r.client.temporal.WorkflowService().RequestCancelWorkflowExecution(ctx,
		&workflowservice.RequestCancelWorkflowExecutionRequest{
			Namespace:         r.client.namespace.Name,
			WorkflowExecution: &commonpb.WorkflowExecution{WorkflowId: r.id},
			Identity:          by, Reason: reason, RequestId: runstart.RandomHex(16),
			FirstExecutionRunId: first,
		})
	return r.ended(ctx, err)
}

// Evaluate marks a run that has ended as solved or failed, in place of an earlier evaluation. Time
// may be zero. It needs no worker. The execution of the returned handle is the one that is
// evaluated: the last of the run. Errors are those of Send; request_refused without a reason if the
// run is still open.
func (r *Run) Evaluate(ctx context.Context, v RunEvaluation) (evaluated *Run, err error) {
	if v.Time.IsZero() {
		v.Time = time.Now().UTC()
	}
	if err := people.CheckEvaluation(v); err != nil {
		return nil, malformed(r.id, err)
	}
	last, err := audit.Last(ctx, r.client.temporal, r.id, r.runID)
	if err != nil {
		return nil, requestError(ctx, r.id, err)
	}
	if !last.Over {
		return nil, &RequestError{Type: RequestRefused, WorkflowID: r.id,
			Message: "the run \"" + r.id + "\" is still running and cannot be evaluated"}
	}
	what := string(audit.SolvedNo)
	if v.Solved {
		what = string(audit.SolvedYes)
	}
	_, err = r.client.temporal.ExecuteWorkflow(ctx, client.StartWorkflowOptions{
		ID: api.EvaluationWorkflowID(last.RunID), TaskQueue: last.TaskQueue,
		Memo:                     map[string]any{api.EvaluationMemo: v},
		StaticSummary:            display.Shorten(what+" by "+v.By+": "+r.id, 200),
		WorkflowIDReusePolicy:    enumspb.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE,
		WorkflowIDConflictPolicy: enumspb.WORKFLOW_ID_CONFLICT_POLICY_TERMINATE_EXISTING,
	}, api.EvaluationWorkflow)
	if err != nil {
		return nil, requestError(ctx, r.id, err)
	}
	return r.client.OpenExecution(r.id, last.RunID), nil
}
