package inspect

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"github.com/switchyard/switchyard/starter/cli"
	"github.com/switchyard/switchyard/starter/internal/runlist"
	"go.temporal.io/sdk/client"
)

func listCommand(a *cli.App) *cobra.Command {
	var runs runlist.Selection
	cmd := &cobra.Command{
		Use: "list", GroupID: cli.GroupRuns, Short: "List runs, the newest first",
		Long: `Lists runs, the newest first. --query takes a Temporal visibility query. Switchyard's search
attributes are SwitchyardAgent, SwitchyardConversation, SwitchyardKind (agent, plan or direct),
SwitchyardCaller, SwitchyardOutcome, SwitchyardTools, SwitchyardWaiting, SwitchyardCalls,
SwitchyardTurns, SwitchyardTokens and SwitchyardCost.

Tools, calls, turns, tokens and cost are final for finished runs. For running runs they date
from the last time the run waited for a person or continued as new.

Runs of sub-agents are left out unless --all is set. Their caller is the agent that called them.

All runs of an agent's conversation share one ID. --conversation lists them with the ID of each
execution, which other commands take as --run-id; without it those commands use the latest
execution.`,
		Example: `  starter list
  starter list --agent librarian --status failed --limit 5
  starter list --tool refund --caller ada --since 24h
  starter list --waiting
  starter list --conversation support-42
  starter list --query 'SwitchyardKind="direct" AND SwitchyardCost > 0.5'
  starter list --all --agent researcher
  starter list --output json | jq -r .workflow_id`,
		Args: cli.Arguments(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := runs.Check(cmd); err != nil {
				return err
			}
			return a.WithClient(cmd, func(ctx context.Context, c client.Client) error {
				list, err := runlist.Select(ctx, a, c, &runs)
				if err != nil {
					return err
				}
				return cmp.Or(printRuns(a, list, runs.Conversation != "", time.Now()),
					tellUnsure(a, list))
			})
		},
	}
	runs.Add(cmd.Flags(), 20)
	cmd.Flags().BoolVar(&runs.All, "all", false, "include runs of sub-agents")
	return cmd
}

// tellUnsure returns an error if the state of some runs is unknown. JSON output contains this per
// run.
func tellUnsure(a *cli.App, list []runlist.Run) error {
	var missing cli.Unread
	for _, r := range list {
		if r.Unread != "" {
			missing = append(missing, cli.UnreadRun{WorkflowID: r.ID, RunID: r.RunID,
				Reason: r.Unread})
		}
	}
	if a.Format.JSON() {
		return missing.Exit(nil)
	}
	return missing.Err()
}

func printRuns(a *cli.App, runs []runlist.Run, executions bool, now time.Time) error {
	if a.Format.JSON() {
		return cli.WriteJSONLines(a.Out, runs)
	}
	if len(runs) == 0 {
		fmt.Fprintln(a.Err, "no runs")
		return nil
	}
	p := a.PaletteFor(a.Out)
	t := cli.Table{Header: []string{"run", "kind", "agent", "caller", "status", "started",
		"duration"}, Right: map[int]bool{6: true}}
	if executions {
		t.Header = append(t.Header, "run id")
	}
	for _, r := range runs {
		row := []string{r.ID, string(r.Kind), r.Agent, r.Caller, r.StatusText(p),
			a.Format.When(r.Started, now), cli.ShortDuration(r.Duration.Std())}
		if executions {
			row = append(row, r.RunID)
		}
		t.Add(row...)
	}
	return a.Print(t.Text(p))
}
