package cli

import (
	"context"
	"errors"
	"time"

	"github.com/switchyard/switchyard/audit/history"

	"github.com/switchyard/switchyard/api"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
)

// Control sends an update and waits until the run has accepted it.
func Control(ctx context.Context, c client.Client, run *RunRef, id, update string, arg any) error {
	ctx, cancel := context.WithTimeout(ctx, ReplyWithin)
	defer cancel()
	handle, err := c.UpdateWorkflow(ctx, client.UpdateWorkflowOptions{WorkflowID: run.WorkflowID,
		RunID: run.RunID, UpdateID: id,
		UpdateName: update, Args: []any{arg}, WaitForStage: client.WorkflowUpdateStageCompleted})
	if err != nil {
		return err
	}
	return handle.Get(ctx, nil)
}

// Open returns the summary, read with describe, of a run that has not ended. It sets the reference
// to the run's latest execution.
func (a *App) Open(ctx context.Context, c client.Client, run *RunRef, describe func(context.Context,
	client.Client, string, string) (history.Summary, error)) (history.Summary, error) {
	summary, err := describe(ctx, c, run.WorkflowID, run.RunID)
	switch {
	case err != nil:
		return summary, a.LookupError(run.WorkflowID, run.RunID, err)
	case !summary.Closed.IsZero():
		return summary, Errorf(ExitFailed, "the run %q has already ended: %s", run.WorkflowID,
			summary.Status)
	}
	run.UseLatest(summary)
	return summary, nil
}

// ControlError explains why a run rejected an update.
func (a *App) ControlError(run *RunRef, err error) error {
	r := a.Connection.Invocation()
	if _, late := errors.AsType[*client.WorkflowUpdateServiceTimeoutOrCanceledError](err); late {
		return Errorf(ExitFailed,
			"no worker of the run %q answered within %s; the run may still accept the request when a worker starts\nCheck its status: %s",
			run.WorkflowID, ReplyWithin, r.Command("show", run.WorkflowID))
	}
	if IsNotFound(err) {
		return Errorf(ExitFailed, "the run %q has ended\nSee its outcome: %s", run.WorkflowID,
			r.Command("show", run.WorkflowID))
	}
	if _, ok := errors.AsType[*serviceerror.Unimplemented](err); ok {
		return Errorf(ExitFailed, "this server cannot pause workflows; leave out --on-server")
	}
	if _, ok := errors.AsType[*serviceerror.FailedPrecondition](err); ok {
		return Errorf(ExitFailed,
			"the run %q cannot do this in its current state: %w\nCheck its status: %s",
			run.WorkflowID, err, r.Command("show", run.WorkflowID))
	}
	refused, ok := ControlRefusal(err)
	if !ok {
		return a.LookupError(run.WorkflowID, "", err)
	}
	return Errorf(ExitFailed, "run %s: %s", run.WorkflowID, refused.Message)
}

// ReplyWithin bounds the wait for the run's workers to accept a reply.
const ReplyWithin = 15 * time.Second

// ControlRefusal returns why the run rejected an update. The error's type is readable even if the
// rest is encrypted.
func ControlRefusal(err error) (refused api.ControlError, ok bool) {
	app, ok := errors.AsType[*temporal.ApplicationError](err)
	if !ok || app.Details(&refused) == nil {
		return refused, ok
	}
	kind := api.ControlErrorType(app.Type())
	text, known := refusals[kind]
	return api.ControlError{Type: kind, Message: text}, known
}

// refusals maps the error types of runs with unreadable payloads to messages.
var refusals = map[api.ControlErrorType]string{api.PauseAlready: "the run is already paused",
	api.NotPaused:   "the run is not paused",
	api.RunEnding:   "the run is ending",
	api.NoInstance:  "the run has no open instance of that name",
	api.ControlFull: "the run has received too many messages, pauses and resumptions"}
