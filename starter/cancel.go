package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit"
	"github.com/switchyard/switchyard/audit/history"
	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
)

func (a *app) cancelCommand() *cobra.Command {
	var ref runReference
	var reason string
	var noWait bool
	cmd := &cobra.Command{
		Use: "cancel RUN", Short: "Cancel a run",
		Long: `Cancels a run: its running calls are told to stop, nothing new starts, and it ends as cancelled with its records whole.
Before that, what the run did is undone where its tools say how, the last call first, unless its agent or plan says "undo: never";
what was undone and what was not is told at the end. Cancelling once more does not stop that.

Waits for the run's end. The exit code is 0 when the run is cancelled, also if it was so before; 1 when it had ended otherwise
or does so first; 3 when nobody serves the run, which then ends as cancelled as soon as a worker comes.`,
		Example: `  starter cancel demo-1a2b3c4d --reason "wrong folder"
  starter cancel demo-1a2b3c4d --no-wait`,
		Args: arguments(0, "RUN"),
		RunE: a.onRun(&ref, func(ctx context.Context, c client.Client, run *runReference) error {
			return a.cancelRun(ctx, c, run, reason, noWait)
		}),
	}
	ref.add(cmd.Flags())
	cmd.Flags().StringVar(&reason, "reason", "", "`text` that says why; it is shown with the run, with your name")
	cmd.Flags().BoolVar(&noWait, "no-wait", false, "do not wait for the run's end")
	return cmd
}

func (a *app) cancelRun(ctx context.Context, c client.Client, run *runReference, reason string, noWait bool) error {
	summary, err := stands(ctx, c, run.workflowID, run.runID)
	if err != nil {
		return a.lookupError(run.workflowID, run.runID, err)
	}
	if summary.Status == history.RunCancelled {
		return a.tellStatus(run.workflowID, string(history.RunCancelled), "is cancelled already")
	}
	if !summary.Closed.IsZero() {
		return failure(exitFailed, "the run %q has ended already: %s", run.workflowID, summary.Status)
	}
	run.goOnAs(summary)
	if err := a.requestCancel(ctx, c, run, reason); err != nil {
		return a.lookupError(run.workflowID, run.runID, err)
	}
	if noWait {
		return a.tellStatus(run.workflowID, string(audit.StateCancelling), "is asked to stop")
	}
	return a.awaitCancelled(ctx, c, run)
}

// awaitCancelled waits for the end of a run that was asked to stop.
func (a *app) awaitCancelled(ctx context.Context, c client.Client, run *runReference) error {
	// The run may go on as a new execution of its chain before it sees the request: wait for the end of the chain.
	ended := make(chan error, 1)
	go func() { ended <- c.GetWorkflow(ctx, run.workflowID, run.runID).Get(ctx, nil) }()
	look := time.NewTicker(pendingPace)
	defer look.Stop()
	for {
		select {
		case err := <-ended:
			return a.tellEnd(ctx, c, run, err)
		case <-look.C:
			running, err := audit.Pending(ctx, c, run.workflowID, run.runID)
			if queue, waits := unserved(running, time.Now()); err == nil && waits {
				return failure(exitCancelled, "%s", a.connection.reach().endsLater(queue))
			}
		}
	}
}

// tellEnd says how a run that was asked to stop ended; err is what waiting for it returned.
func (a *app) tellEnd(ctx context.Context, c client.Client, run *runReference, err error) error {
	switch {
	case ctx.Err() != nil:
		return failure(exitCancelled, "interrupted; the run %q is asked to stop and may still be running", run.workflowID)
	case endedCancelled(err):
		return a.tellCancelled(run.workflowID, err)
	case unreadableEnd(err):
		summary, described := audit.Outline(ctx, c, run.workflowID, run.runID)
		if described == nil && summary.Status == history.RunCancelled {
			fmt.Fprintln(a.Err, "what was undone cannot be read here: "+unreadReason(err))
			return a.tellStatus(run.workflowID, string(history.RunCancelled), "is cancelled")
		}
	case err != nil && unreachable(err):
		return a.lookupError(run.workflowID, run.runID, err)
	}
	return failure(exitFailed, "the run %q ended before it could be cancelled; see: %s", run.workflowID, a.connection.reach().command("show", run.workflowID))
}

// tellCancelled says that a run is cancelled, and to people what became of what it had done, which err has.
func (a *app) tellCancelled(id string, err error) error {
	if err := a.tellStatus(id, string(history.RunCancelled), "is cancelled"); err != nil || a.format.json() {
		return err
	}
	var usage api.Usage
	var undone []api.Undone
	if cancelled, ok := errors.AsType[*temporal.CanceledError](err); ok && cancelled.Details(&usage, &undone) == nil {
		writeUndone(a.Out, a.paletteFor(a.Out), undone, a.connection.reach().command("audit", id))
	}
	return nil
}

// unreadableEnd reports whether a run has ended and how cannot be decoded.
func unreadableEnd(err error) bool {
	_, ok := errors.AsType[*serviceerror.FailedPrecondition](err)
	return ok
}

// endedCancelled reports whether a run's error says that it ended as cancelled.
func endedCancelled(err error) bool {
	_, ok := errors.AsType[*temporal.CanceledError](err)
	return ok
}

// requestCancel asks a run to stop, with the reason in its history. Where the server holds it or a sub-agent's run below it, it
// lets go of them: a run that is held hears of nothing.
func (a *app) requestCancel(ctx context.Context, c client.Client, run *runReference, reason string) error {
	by := userHere()
	_, err := c.WorkflowService().RequestCancelWorkflowExecution(ctx, &workflowservice.RequestCancelWorkflowExecutionRequest{
		Namespace: a.connection.resolvedNamespace, WorkflowExecution: &commonpb.WorkflowExecution{WorkflowId: run.workflowID, RunId: run.runID},
		Identity: by, Reason: reason, RequestId: randomHex(16),
	})
	if err != nil {
		return err
	}
	_, err = a.resumeTree(ctx, c, run, api.Pause{By: by, Reason: "the run is cancelled"}, false)
	return err
}
