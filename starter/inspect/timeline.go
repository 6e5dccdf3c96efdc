package inspect

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/switchyard/switchyard/audit/html"
	"github.com/switchyard/switchyard/starter/cli"
	"go.temporal.io/sdk/client"
)

func timelineCommand(a *cli.App) *cobra.Command {
	var file string
	var tree bool
	cmd := &cobra.Command{
		Use: "timeline RUN", GroupID: cli.GroupRuns,
		Short: "Write the timeline of a run as an HTML page",
		Long: `Writes a self-contained HTML page that needs no network. It shows when each call waited, for what,
and when it ran, with attempts, failures and rejections, questions and their answers, and model
steps with their tokens. Click a bar for details. The page can be searched and printed.

A running run is shown up to now. With --tree the page includes the calls of the sub-agents
below the run.`,
		Example: `  starter timeline demo-1a2b3c4d
  starter timeline demo-1a2b3c4d --tree --file run.html
  starter timeline demo-1a2b3c4d --file - | ssh desk 'cat > run.html'`,
		Args: cli.Arguments(1, "RUN"),
		PreRunE: func(cmd *cobra.Command, _ []string) error {
			return cli.CheckPage(cmd, "--file",
				file)
		},
		RunE: a.OnRun(func(ctx context.Context, c client.Client,
			run *cli.RunRef) error {
			t, err := html.ReadTimeline(ctx, c, run.WorkflowID, run.RunID, tree)
			if err != nil {
				return a.LookupError(run.WorkflowID, run.RunID, err)
			}
			if t.Person, err = readEvaluation(ctx, a, c, t.Run()); err != nil {
				return err
			}
			if t.Incomplete {
				fmt.Fprintln(a.Err,
					"the server no longer has the first histories; the rest is shown")
			}
			if file == "" {
				file = pageName(run.WorkflowID)
			}
			return cli.WritePage(a, "--file", file, t.Write, nil)
		}),
	}
	cmd.Flags().StringVar(&file, "file", "",
		"`file` to write; - is standard output (default: the run's ID with .html)")
	cmd.Flags().BoolVar(&tree, "tree", false, "include the calls of sub-agents below the run")
	return cmd
}

// pageName returns a file name in the current folder that is safe for any run ID.
func pageName(workflowID string) string {
	safe := strings.Map(func(r rune) rune {
		if strings.ContainsRune(`/\:*?"<>|`, r) || r < ' ' {
			return '_'
		}
		return r
	}, workflowID)
	return cmp.Or(strings.TrimLeft(safe, ".-"), "run") + ".html"
}
