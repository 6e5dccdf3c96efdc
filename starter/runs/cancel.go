package runs

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"
	"github.com/switchyard/switchyard"
	"github.com/switchyard/switchyard/audit"
	"github.com/switchyard/switchyard/audit/history"
	"github.com/switchyard/switchyard/starter/cli"
	"github.com/switchyard/switchyard/starter/internal/terminal"
	"go.temporal.io/sdk/client"
)

func cancelCommand(a *cli.App) *cobra.Command {
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
		Args: cli.Arguments(1, "RUN"),
		RunE: a.OnRun(func(ctx context.Context, c client.Client, run *cli.RunRef) error {
			return cancelRun(ctx, a, c, run, reason, noWait)
		}),
	}
	cmd.Flags().StringVar(&reason, "reason", "",
		"`text` recorded as the reason and shown with the run")
	cmd.Flags().BoolVar(&noWait, "no-wait", false, "do not wait for the run's end")
	return cmd
}

func cancelRun(ctx context.Context, a *cli.App, c client.Client, run *cli.RunRef, reason string,
	noWait bool) error {
	summary, err := audit.Outline(ctx, c, run.WorkflowID, run.RunID)
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
	ended := make(chan error, 1)
	go func() {
		_, err := a.Handle(c, run).Result(ctx)
		ended <- err
	}()
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
	if ctx.Err() != nil {
		return cli.Errorf(cli.ExitCancelled,
			"interrupted; cancellation of the run %q is requested, and it may still be running",
			run.WorkflowID)
	}
	if cli.Unreachable(err) {
		return a.LookupError(run.WorkflowID, run.RunID, err)
	}
	end, known := errors.AsType[*switchyard.RunError](err)
	if !known { // it was completed, or its outcome is unreadable with these keys
		end = &switchyard.RunError{}
		if summary, err := audit.Outline(ctx, c, run.WorkflowID, run.RunID); err == nil {
			end.Status = summary.Status
		}
	}
	if end.Status != history.RunCancelled {
		return cli.Errorf(cli.ExitFailed, "the run %q ended before it could be cancelled; see: %s",
			run.WorkflowID, a.Connection.Invocation().Command("show", run.WorkflowID))
	}
	if err := tellStatus(a, run.WorkflowID, string(end.Status), "is cancelled"); err != nil ||
		a.Format.JSON() {
		return err
	}
	terminal.WriteUndone(a.Out, a.PaletteFor(a.Out), end.Result.Undone,
		a.Connection.Invocation().Command("audit", run.WorkflowID))
	return nil
}
