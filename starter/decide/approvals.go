package decide

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"github.com/switchyard/switchyard/audit"
	"github.com/switchyard/switchyard/starter/internal/cli"
	"github.com/switchyard/switchyard/starter/internal/runlist"
	"github.com/switchyard/switchyard/starter/internal/terminal"
	"go.temporal.io/sdk/client"
)

func approvalsCommand(a *cli.App) *cobra.Command {
	var ref cli.RunRef
	cmd := &cobra.Command{
		Use: "approvals [RUN]", GroupID: cli.GroupRuns, Short: "List calls that wait for approval",
		Long: `Lists the calls that wait for a person's approval, of a run and the sub-agents below it, or of
all running runs: the oldest first, each with the commands that decide it. A waiting call does
not run; other calls continue, and no client needs to stay connected. The digest identifies
exactly this call, and a decision is bound to it.`,
		Example: `  starter approvals
  starter approvals demo-1a2b3c4d
  starter approvals --output json | jq -r '[.workflow_id, .call_id, .digest] | @tsv'`,
		Args: cli.Arguments(0, "RUN"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 && ref.WorkflowID == "" {
				return a.WithClient(cmd, func(ctx context.Context, c client.Client) error {
					open, missing, err := runlist.CollectOpen(ctx, a, c, audit.Approvals)
					if err != nil {
						return err
					}
					slices.SortStableFunc(open,
						func(x, y audit.RunApproval) int { return x.Asked.Compare(y.Asked) })
					return cmp.Or(missing.Or(len(open),
						func() error { return printApprovals(a, open) }), missing.Err())
				})
			}
			return a.OnRun(&ref, func(ctx context.Context, c client.Client, run *cli.RunRef) error {
				open, err := audit.Approvals(ctx, c, run.WorkflowID, run.RunID)
				if err != nil {
					return a.LookupError(run.WorkflowID, run.RunID, err)
				}
				return printApprovals(a, open)
			})(cmd, args)
		},
	}
	ref.Add(cmd.Flags())
	return cmd
}

func printApprovals(a *cli.App, open []audit.RunApproval) error {
	return cli.PrintBlocks(a, terminal.ApprovalsToList(a.Connection.Invocation(), open),
		"no call waits for approval", func(l terminal.ListedApproval) {
			terminal.WriteApproval(&a.Format, a.Out, a.PaletteFor(a.Out), l, time.Now())
		})
}
