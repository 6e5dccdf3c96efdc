package runs

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit/history"
	"github.com/switchyard/switchyard/internal/core/people"
	"github.com/switchyard/switchyard/starter/cli"
	"go.temporal.io/sdk/client"
)

// actFlags name the person who pauses, resumes or changes a run, and the reason.
type actFlags struct {
	reason string
	by     cli.ByFlag
}

func (f *actFlags) add(cmd *cobra.Command) *cobra.Command {
	cmd.Flags().StringVar(&f.reason, "reason", "",
		"`text` recorded in the run's history as the reason")
	f.by.Add(cmd.Flags(), "requests it")
	return cmd
}

func pauseCommand(a *cli.App) *cobra.Command {
	var flags actFlags
	return flags.add(&cobra.Command{
		Use: "pause RUN", GroupID: cli.GroupRuns, Short: "Pause a run until it is resumed",
		Long: `Pauses a run and the sub-agents below it: running calls and the current model step finish, and
nothing new starts until 'starter resume'. A paused run accepts messages and answers and can be
cancelled. Its wall time continues.`,
		Example: `  starter pause demo-1a2b3c4d --reason "the API is down"`,
		Args:    cli.Arguments(1, "RUN"),
		RunE: a.OnRun(func(ctx context.Context, c client.Client, run *cli.RunRef) error {
			p := api.Pause{By: flags.by.Name(), Reason: flags.reason}
			err := a.Handle(c, run).Pause(ctx, p.By, p.Reason)
			what := "is " + people.PauseNote(p)
			if refused, ok := cli.ControlRefusal(err); ok && refused.Type == api.PauseAlready {
				err, what = nil, "stays as it was: "+refused.Message
			}
			if err != nil {
				return a.LookupError(run.WorkflowID, run.RunID, err)
			}
			return tellStatus(a, run.WorkflowID, string(history.RunPaused), what)
		}),
	})
}

func resumeCommand(a *cli.App) *cobra.Command {
	var flags actFlags
	return flags.add(&cobra.Command{
		Use: "resume RUN", GroupID: cli.GroupRuns, Short: "Resume a paused run",
		Long: `Resumes a paused run and the sub-agents below it.`,
		Example: `  starter resume demo-1a2b3c4d
  starter resume demo-1a2b3c4d --reason "the API is back"`,
		Args: cli.Arguments(1, "RUN"),
		RunE: a.OnRun(func(ctx context.Context, c client.Client, run *cli.RunRef) error {
			err := a.Handle(c, run).Resume(ctx, flags.by.Name(), flags.reason)
			what := "is resumed"
			if refused, ok := cli.ControlRefusal(err); ok && refused.Type == api.NotPaused {
				err, what = nil, "is not paused"
			}
			if err != nil {
				return a.LookupError(run.WorkflowID, run.RunID, err)
			}
			return tellStatus(a, run.WorkflowID, string(history.RunRunning), what)
		}),
	})
}

// tellStatus prints a run's status after a command.
func tellStatus(a *cli.App, id, status, what string) error {
	if a.Format.JSON() {
		return cli.WriteJSON(a.Out, map[string]string{"workflow_id": id, "status": status}, false)
	}
	return a.Println(fmt.Sprintf("run %s %s", id, what))
}
