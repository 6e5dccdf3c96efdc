package runs

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit"
	"github.com/switchyard/switchyard/audit/history"
	"github.com/switchyard/switchyard/internal/core/people"
	"github.com/switchyard/switchyard/starter/cli"
	"go.temporal.io/sdk/client"
)

// pauseFlags name the person who pauses or resumes a run, and the reason.
type pauseFlags struct {
	reason string
	by     cli.ByFlag
}

func (f *pauseFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.reason, "reason", "",
		"`text` recorded in the run's history as the reason")
	f.by.Add(cmd.Flags(), "requests it")
}

// pause builds and checks a Pause from the flags.
func (f *pauseFlags) pause(cmd *cobra.Command) (api.Pause, error) {
	p := api.Pause{By: f.by.Name(), Reason: f.reason}
	if e := people.CheckPause(p); e != nil {
		return p, cli.UsageError(cmd, "%v", e)
	}
	return p, nil
}

func pauseCommand(a *cli.App) *cobra.Command {
	var ref cli.RunRef
	var flags pauseFlags
	cmd := &cobra.Command{
		Use: "pause RUN", GroupID: cli.GroupRuns, Short: "Pause a run until it is resumed",
		Long: `Pauses a run and the sub-agents below it: running calls and the current model step finish, and
nothing new starts until 'starter resume'. A paused run accepts messages and answers and can be
cancelled. Its wall time continues.`,
		Example: `  starter pause demo-1a2b3c4d --reason "the API is down"`,
		Args:    cli.Arguments(0, "RUN"),
		RunE: onPause(a, &ref, &flags, func(ctx context.Context, c client.Client, run *cli.RunRef,
			p api.Pause) error {
			return pauseRun(ctx, a, c, run, p)
		}),
	}
	ref.Add(cmd.Flags())
	flags.add(cmd)
	return cmd
}

func resumeCommand(a *cli.App) *cobra.Command {
	var ref cli.RunRef
	var flags pauseFlags
	cmd := &cobra.Command{
		Use: "resume RUN", GroupID: cli.GroupRuns, Short: "Resume a paused run",
		Long: `Resumes a paused run and the sub-agents below it.`,
		Example: `  starter resume demo-1a2b3c4d
  starter resume demo-1a2b3c4d --reason "the API is back"`,
		Args: cli.Arguments(0, "RUN"),
		RunE: onPause(a, &ref, &flags, func(ctx context.Context, c client.Client, run *cli.RunRef,
			p api.Pause) error {
			return resumeRun(ctx, a, c, run, p)
		}),
	}
	ref.Add(cmd.Flags())
	flags.add(cmd)
	return cmd
}

// onPause is App.OnRun for a command with pauseFlags.
func onPause(a *cli.App, ref *cli.RunRef, flags *pauseFlags, f func(context.Context, client.Client,
	*cli.RunRef, api.Pause) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		p, err := flags.pause(cmd)
		if err != nil {
			return err
		}
		return a.OnRun(ref, func(ctx context.Context, c client.Client,
			run *cli.RunRef) error {
			return f(ctx, c, run, p)
		})(cmd, args)
	}
}

func pauseRun(ctx context.Context, a *cli.App, c client.Client, run *cli.RunRef,
	p api.Pause) error {
	summary, err := a.Open(ctx, c, run, readSummary)
	if err != nil {
		return err
	}
	// By is empty if the history cannot be read. Then the run says whether it is paused.
	if before := summary.Paused; before != nil && before.By != "" {
		return tellStatus(a, run.WorkflowID, string(history.RunPaused), "is already paused, "+
			people.PauseNote(*before))
	}
	if err := a.Handle(c, run).Pause(ctx, p.By, p.Reason); err != nil {
		return a.ControlError(run, err)
	}
	return tellStatus(a, run.WorkflowID, string(history.RunPaused), "is "+people.PauseNote(p))
}

// readSummary returns a run's summary. If its history cannot be read, it returns the server's
// description, which suffices to stop the run.
func readSummary(ctx context.Context, c client.Client, workflowID, runID string) (history.Summary,
	error) {
	summary, err := audit.Describe(ctx, c, workflowID, runID)
	if errors.Is(err, history.ErrUnreadable) {
		return audit.Outline(ctx, c, workflowID, runID)
	}
	return summary, err
}

func resumeRun(ctx context.Context, a *cli.App, c client.Client, run *cli.RunRef,
	p api.Pause) error {
	if _, err := a.Open(ctx, c, run, readSummary); err != nil {
		return err
	}
	err := a.Handle(c, run).Resume(ctx, p.By, p.Reason)
	if refused, ok := cli.ControlRefusal(err); ok && refused.Type == api.NotPaused {
		return tellStatus(a, run.WorkflowID, string(history.RunRunning), "is not paused")
	}
	if err != nil {
		return a.ControlError(run, err)
	}
	return tellStatus(a, run.WorkflowID, string(history.RunRunning), "is resumed")
}

// tellStatus prints a run's status after a command.
func tellStatus(a *cli.App, id, status, what string) error {
	if a.Format.JSON() {
		return cli.WriteJSON(a.Out, map[string]string{"workflow_id": id, "status": status}, false)
	}
	return a.Println(fmt.Sprintf("run %s %s", id, what))
}
