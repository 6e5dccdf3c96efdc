package cli

import (
	"context"
	"errors"

	"github.com/switchyard/switchyard/audit/history"

	"github.com/switchyard/switchyard"
	"github.com/switchyard/switchyard/api"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
)

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
			run.WorkflowID, switchyard.ReplyWithin, r.Command("show", run.WorkflowID))
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

// ControlRefusal returns why the run rejected an update.
func ControlRefusal(err error) (refused api.ControlError, ok bool) {
	e, ok := errors.AsType[*api.ControlError](err)
	if ok {
		refused = *e
	}
	return refused, ok
}
