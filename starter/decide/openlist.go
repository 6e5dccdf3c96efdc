package decide

import (
	"cmp"
	"context"

	"github.com/spf13/cobra"
	"github.com/switchyard/switchyard"
	"github.com/switchyard/switchyard/starter/cli"
	"go.temporal.io/sdk/client"
)

// openList lists what waits for a person: approvals or questions.
type openList[T any] struct {
	// read returns those of a run and its sub-agents.
	read func(ctx context.Context, c client.Client, workflowID, runID string) ([]T, error)
	// all returns those of all runs, oldest first.
	all   func(*switchyard.Client, context.Context) ([]T, error)
	print func(*cli.App, []T) error
}

// run returns the RunE of a command with the argument [RUN]: the list of one run, or of all running
// runs with the oldest first.
func (l openList[T]) run(a *cli.App, ref *cli.RunRef) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 && ref.WorkflowID == "" {
			return a.WithClient(cmd, func(ctx context.Context, c client.Client) error {
				return l.ofAll(ctx, a, c)
			})
		}
		return a.OnRun(ref, func(ctx context.Context, c client.Client, run *cli.RunRef) error {
			open, err := l.read(ctx, c, run.WorkflowID, run.RunID)
			if err != nil {
				return a.LookupError(run.WorkflowID, run.RunID, err)
			}
			return l.print(a, open)
		})(cmd, args)
	}
}

func (l openList[T]) ofAll(ctx context.Context, a *cli.App, c client.Client) error {
	open, err := l.all(a.Client(c), ctx)
	missing, err := cli.UnreadFromError(err)
	if err != nil {
		return err
	}
	return cmp.Or(missing.Or(len(open), func() error { return l.print(a, open) }), missing.Err())
}
