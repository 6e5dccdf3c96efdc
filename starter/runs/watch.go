package runs

import (
	"context"

	"github.com/spf13/cobra"
	"github.com/switchyard/switchyard/audit"
	"github.com/switchyard/switchyard/starter/cli"
	"github.com/switchyard/switchyard/starter/internal/terminal"
	"go.temporal.io/sdk/client"
)

func watchCommand(a *cli.App) *cobra.Command {
	tree := false
	cmd := &cobra.Command{
		Use: "watch RUN", GroupID: cli.GroupRuns, Short: "Follow a run until it ends",
		Long: `Follows a run from its first event to its last, whether it is running or finished. On a terminal
the open turn is redrawn with its calls and the model's text. Elsewhere each event is one line,
and so is each line of an answer in progress. The exit code is that of the run: 0 done, 1
failed, 3 cancelled.

With --tree the events of sub-agents' runs are included, one line for each event. All events are
numbered in one order, by their times, which is the same whenever the tree is watched.

Ctrl-C stops watching. The run continues.`,
		Example: `  starter watch demo-1a2b3c4d
  starter watch demo-1a2b3c4d --tree
  starter watch demo-1a2b3c4d --output json | jq -c 'select(.type == "tool_failed")'`,
		Args: cli.Arguments(1, "RUN"),
		RunE: a.OnRun(func(ctx context.Context, c client.Client, run *cli.RunRef) error {
			summary, err := audit.Describe(ctx, c, run.WorkflowID, run.RunID)
			if err != nil {
				return a.LookupError(run.WorkflowID, run.RunID, err)
			}
			f := newFollower(a, c, run.WorkflowID, run.RunID, summary.TaskQueue)
			f.tree, f.view = tree, terminal.NewView(a, a.Out)
			if tree && !a.Format.JSON() {
				f.view = &terminal.PlainView{Out: a.Out,
					SubAgentNotes: terminal.NewSubAgentNotes(a)}
			}
			return followToReport(ctx, a, f)
		}),
	}
	cmd.Flags().BoolVar(&tree, "tree", false, "include the events of sub-agents below the run")
	return cmd
}
