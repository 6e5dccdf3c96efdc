package decide

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"github.com/switchyard/switchyard"
	"github.com/switchyard/switchyard/starter/cli"
	"github.com/switchyard/switchyard/starter/internal/terminal"
	"go.temporal.io/sdk/client"
)

func approvalsCommand(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use: "approvals [RUN]", GroupID: cli.GroupRuns,
		Short: "List calls that wait for approval, and open questions",
		Long: `Lists what waits for a person, of a run and the sub-agents below it, or of all open runs: the
calls that wait for approval, then the open questions, each with the commands that decide or answer
it, the oldest first. A waiting call does not run; other calls continue, and no client needs to stay
connected. The digest identifies exactly this call, and a decision is bound to it.`,
		Example: `  starter approvals
  starter approvals demo-1a2b3c4d
  starter approvals --output json | jq -r 'select(.digest) | [.workflow_id, .call_id, .digest] | @tsv'`,
		Args: cli.Arguments(0, "RUN"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.WithClient(cmd, func(ctx context.Context, c client.Client) error {
				if len(args) == 0 {
					return listAll(ctx, a, c)
				}
				run := cli.ParseRun(args[0])
				w, err := readWaits(ctx, a.Handle(c, run))
				if err != nil {
					return a.LookupError(run.WorkflowID, run.RunID, err)
				}
				return w.print(a)
			})
		},
	}
}

// waits is what runs wait for.
type waits struct {
	approvals []switchyard.Approval
	questions []switchyard.Question
}

// readWaits returns what a run and the sub-agents below it wait for.
func readWaits(ctx context.Context, run *switchyard.Run) (w waits, err error) {
	if w.approvals, err = run.Approvals(ctx); err != nil {
		return w, err
	}
	w.questions, err = run.Questions(ctx)
	return w, err
}

// listAll lists what all open runs wait for.
func listAll(ctx context.Context, a *cli.App, c client.Client) error {
	approvals, questions, err := a.Client(c).Waiting(ctx)
	missing, err := cli.UnreadFromError(err)
	if err != nil {
		return err
	}
	w := waits{approvals, questions}
	return cmp.Or(missing.Or(len(approvals)+len(questions), func() error { return w.print(a) }),
		missing.Err())
}

func (w waits) print(a *cli.App) error {
	if a.Format.JSON() {
		return cmp.Or(cli.WriteJSONLines(a.Out, w.approvals),
			cli.WriteJSONLines(a.Out, w.questions))
	}
	if len(w.approvals)+len(w.questions) == 0 {
		fmt.Fprintln(a.Err, "nothing waits for approval or an answer")
	}
	terminal.NewAsked(a, a.Out).WriteAll(w.approvals, w.questions, time.Now())
	return nil
}
