package runs

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/switchyard/switchyard/audit/history"

	"github.com/spf13/cobra"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit"
	"github.com/switchyard/switchyard/starter/cli"
	"github.com/switchyard/switchyard/starter/internal/terminal"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
)

func cancelCommand(a *cli.App) *cobra.Command {
	var ref cli.RunRef
	var reason string
	var noWait bool
	cmd := &cobra.Command{
		Use: "cancel RUN", GroupID: cli.GroupRuns, Short: "Cancel a run",
		Long: `Cancels a run: running calls are cancelled, nothing new starts, and the run ends as cancelled
with complete records. Before it ends, completed calls whose tools declare undo are undone, the
last call first, unless the agent or plan sets "undo: never". The command prints which calls
were undone. Cancelling again does not stop the undo.

Waits for the run's end. The exit code is 0 if the run is cancelled, also if it was cancelled
before; 1 if it ended otherwise; 3 if no worker serves the run. The run then ends as cancelled
when a worker starts.`,
		Example: `  starter cancel demo-1a2b3c4d --reason "wrong folder"
  starter cancel demo-1a2b3c4d --no-wait`,
		Args: cli.Arguments(0, "RUN"),
		RunE: a.OnRun(&ref, func(ctx context.Context, c client.Client, run *cli.RunRef) error {
			return cancelRun(ctx, a, c, run, reason, noWait)
		}),
	}
	ref.Add(cmd.Flags())
	cmd.Flags().StringVar(&reason, "reason", "",
		"`text` recorded as the reason and shown with the run")
	cmd.Flags().BoolVar(&noWait, "no-wait", false, "do not wait for the run's end")
	return cmd
}

func cancelRun(ctx context.Context, a *cli.App, c client.Client, run *cli.RunRef, reason string,
	noWait bool) error {
	summary, err := readSummary(ctx, c, run.WorkflowID, run.RunID)
	if err != nil {
		return a.LookupError(run.WorkflowID, run.RunID, err)
	}
	if summary.Status == history.RunCancelled {
		return tellStatus(a, run.WorkflowID, string(history.RunCancelled), "is already cancelled")
	}
	if !summary.Closed.IsZero() {
		return cli.Errorf(cli.ExitFailed, "the run %q has already ended: %s", run.WorkflowID,
			summary.Status)
	}
	run.UseLatest(summary)
	if err := a.Handle(c, run).Cancel(ctx, cli.UserHere(), reason); err != nil {
		return a.LookupError(run.WorkflowID, run.RunID, err)
	}
	if noWait {
		return tellStatus(a, run.WorkflowID, string(audit.StateCancelling), "is being cancelled")
	}
	return awaitCancelled(ctx, a, c, run)
}

// awaitCancelled waits until a cancelled run has ended.
func awaitCancelled(ctx context.Context, a *cli.App, c client.Client, run *cli.RunRef) error {
	// The run may continue as a new execution before it sees the request: wait for the end of the
	// chain.
	ended := make(chan error, 1)
	go func() { ended <- c.GetWorkflow(ctx, run.WorkflowID, run.RunID).Get(ctx, nil) }()
	look := time.NewTicker(terminal.PendingPace)
	defer look.Stop()
	for {
		select {
		case err := <-ended:
			return tellEnd(ctx, a, c, run, err)
		case <-look.C:
			running, err := audit.Pending(ctx, c, run.WorkflowID, run.RunID)
			if queue, waits := findUnserved(running, time.Now()); err == nil && waits {
				return cli.Errorf(cli.ExitCancelled, "%s", endsLater(a.Connection.Invocation(),
					queue))
			}
		}
	}
}

// tellEnd prints how a run ended after a cancellation request. err is the result of waiting for it.
func tellEnd(ctx context.Context, a *cli.App, c client.Client, run *cli.RunRef, err error) error {
	switch {
	case ctx.Err() != nil:
		return cli.Errorf(cli.ExitCancelled,
			"interrupted; cancellation of the run %q is requested, and it may still be running",
			run.WorkflowID)
	case endedCancelled(err):
		return tellCancelled(a, run.WorkflowID, err)
	case unreadableEnd(err):
		summary, described := audit.Outline(ctx, c, run.WorkflowID, run.RunID)
		if described == nil && summary.Status == history.RunCancelled {
			fmt.Fprintln(a.Err, "the undone calls cannot be read here: "+cli.UnreadReason(err))
			return tellStatus(a, run.WorkflowID, string(history.RunCancelled), "is cancelled")
		}
	case err != nil && cli.Unreachable(err):
		return a.LookupError(run.WorkflowID, run.RunID, err)
	}
	return cli.Errorf(cli.ExitFailed, "the run %q ended before it could be cancelled; see: %s",
		run.WorkflowID, a.Connection.Invocation().Command("show", run.WorkflowID))
}

// tellCancelled prints that a run is cancelled. Text output includes the compensation results from
// err.
func tellCancelled(a *cli.App, id string, err error) error {
	if err := tellStatus(a, id, string(history.RunCancelled), "is cancelled"); err != nil ||
		a.Format.JSON() {
		return err
	}
	var usage api.Usage
	var undone []api.Undone
	if cancelled, ok := errors.AsType[*temporal.CanceledError](err); ok && cancelled.Details(&usage,
		&undone) == nil {
		terminal.WriteUndone(a.Out, a.PaletteFor(a.Out), undone,
			a.Connection.Invocation().Command("audit", id))
	}
	return nil
}

// unreadableEnd reports whether a run has ended with an outcome that cannot be decoded.
func unreadableEnd(err error) bool {
	_, ok := errors.AsType[*serviceerror.FailedPrecondition](err)
	return ok
}

// endedCancelled reports whether a run's error means that it ended as cancelled.
func endedCancelled(err error) bool {
	_, ok := errors.AsType[*temporal.CanceledError](err)
	return ok
}
