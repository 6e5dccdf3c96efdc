package decide

import (
	"time"

	"github.com/spf13/cobra"
	"github.com/switchyard/switchyard"
	"github.com/switchyard/switchyard/audit"
	"github.com/switchyard/switchyard/starter/cli"
	"github.com/switchyard/switchyard/starter/internal/terminal"
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
		RunE: openList[audit.RunApproval]{read: audit.Approvals, print: printApprovals,
			all: (*switchyard.Client).Approvals}.run(a, &ref),
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
