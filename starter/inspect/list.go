package inspect

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"github.com/switchyard/switchyard"
	"github.com/switchyard/switchyard/audit/history"
	"github.com/switchyard/switchyard/starter/cli"
	"github.com/switchyard/switchyard/starter/internal/runlist"
	"go.temporal.io/sdk/client"
)

func listCommand(a *cli.App) *cobra.Command {
	var runs runlist.Selection
	cmd := &cobra.Command{
		Use: "list", GroupID: cli.GroupRuns, Short: "List runs, the newest first",
		Long: `Lists runs: open ones first, each the newest first. --query takes a Temporal visibility query.
Switchyard's search attributes are SwitchyardAgent, SwitchyardConversation, SwitchyardKind (agent,
plan, direct or session), SwitchyardCaller, SwitchyardOutcome, SwitchyardTools, SwitchyardWaiting,
SwitchyardCalls, SwitchyardTurns, SwitchyardTokens and SwitchyardCost.

Tools, calls, turns, tokens and cost are final for finished runs. For running runs they date
from the last time the run waited for a person or continued as new.

Runs of sub-agents are left out unless --all is set. Their caller is the agent that called them.

All runs of an agent's conversation share one ID. --conversation lists them with the ID of each
execution; commands take RUN:RUN_ID for one of them, and the latest for RUN.`,
		Example: `  starter list
  starter list --agent librarian --status failed --limit 5
  starter list --tool refund --caller ada --since 24h
  starter list --conversation support-42
  starter list --query 'SwitchyardOutcome="limit_reached" AND SwitchyardCost > 0.5'
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
				return printRuns(a, list, runs.Conversation != "", time.Now())
			})
		},
	}
	runs.Add(cmd.Flags(), 20)
	cmd.Flags().BoolVar(&runs.All, "all", false, "include runs of sub-agents")
	return cmd
}

func printRuns(a *cli.App, runs []switchyard.ListedRun, executions bool, now time.Time) error {
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
		end := r.Closed
		if end.IsZero() {
			end = now
		}
		status := runlist.RunStatusText(p, r.Status)
		if r.Waits && r.Status == history.RunRunning {
			status = p.Warn("waits for a person")
		}
		row := []string{r.WorkflowID, string(r.Kind), r.Agent, r.Caller, status,
			a.Format.When(r.Started, now), cli.ShortDuration(end.Sub(r.Started))}
		if executions {
			row = append(row, r.RunID)
		}
		t.Add(row...)
	}
	return a.Print(t.Text(p))
}
