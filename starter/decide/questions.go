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

func questionsCommand(a *cli.App) *cobra.Command {
	var ref cli.RunRef
	cmd := &cobra.Command{
		Use: "questions [RUN]", GroupID: cli.GroupRuns, Short: "List open questions of runs",
		Long: `Lists the open questions of a run and the sub-agents below it, or of all running runs: the
oldest first, each with the command that answers it. A run asks when it calls a tool of kind
human, or when a tool asks during a call. It waits as long as the toolspec allows, and no client
needs to stay connected.`,
		Example: `  starter questions
  starter questions demo-1a2b3c4d
  starter questions --output json | jq -r .command`,
		Args: cli.Arguments(0, "RUN"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 && ref.WorkflowID == "" {
				return a.WithClient(cmd, func(ctx context.Context, c client.Client) error {
					open, missing, err := runlist.CollectOpen(ctx, a, c, audit.Questions)
					if err != nil {
						return err
					}
					slices.SortStableFunc(open,
						func(x, y audit.RunQuestion) int { return x.Asked.Compare(y.Asked) })
					return cmp.Or(missing.Or(len(open),
						func() error { return printQuestions(a, open) }), missing.Err())
				})
			}
			return a.OnRun(&ref, func(ctx context.Context, c client.Client, run *cli.RunRef) error {
				open, err := audit.Questions(ctx, c, run.WorkflowID, run.RunID)
				if err != nil {
					return a.LookupError(run.WorkflowID, run.RunID, err)
				}
				return printQuestions(a, open)
			})(cmd, args)
		},
	}
	ref.Add(cmd.Flags())
	return cmd
}

func printQuestions(a *cli.App, open []audit.RunQuestion) error {
	return cli.PrintBlocks(a, terminal.QuestionsToList(a.Connection.Invocation(), open),
		"no open questions", func(l terminal.ListedQuestion) {
			terminal.WriteQuestion(&a.Format, a.Out, a.PaletteFor(a.Out), l, time.Now())
		})
}
