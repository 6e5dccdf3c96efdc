package decide

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"github.com/switchyard/switchyard"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit"
	"github.com/switchyard/switchyard/starter/cli"
	"go.temporal.io/sdk/client"
)

func evaluateCommand(a *cli.App) *cobra.Command {
	var by cli.ByFlag
	var reason string
	cmd := &cobra.Command{
		Use: "evaluate RUN solved|failed", GroupID: cli.GroupRuns,
		Short: "Mark a finished run as solved or failed",
		Long: `Marks a finished run as solved or failed, at any time after its end. 'starter report' uses this
evaluation before the result of the agent's checker and before the run's own outcome. The latest
evaluation counts; earlier ones stay visible in the Web UI.

The server stores the evaluation as a small workflow beside the run, for the namespace's
retention period. It takes effect at once and needs no worker.`,
		Example: `  starter evaluate demo-1a2b3c4d solved
  starter evaluate demo-1a2b3c4d failed --reason "it named the wrong document"
  starter evaluate support-42:0198c3c1-0d5b-7c5e-8a3c-5a0e1f6f7a10 solved --by ada`,
		Args: cli.Arguments(2, "RUN", "solved|failed"),
		RunE: func(cmd *cobra.Command, args []string) error {
			word := audit.Solved(args[1])
			if word != audit.SolvedYes && word != audit.SolvedNo {
				return cli.UsageError(cmd, "%q is not an evaluation: use %s or %s", args[1],
					audit.SolvedYes, audit.SolvedNo)
			}
			v := api.RunEvaluation{Solved: word == audit.SolvedYes, By: by.Name(), Reason: reason,
				Time: time.Now().UTC()}
			return a.OnRun(func(ctx context.Context, c client.Client, run *cli.RunRef) error {
				return evaluateRun(ctx, a, c, run, word, v)
			})(cmd, args)
		},
	}
	cmd.Flags().StringVar(&reason, "reason", "", "`text` recorded as the reason")
	by.Add(cmd.Flags(), "evaluates the run")
	return cmd
}

// evaluateRun stores an evaluation of a finished run.
func evaluateRun(ctx context.Context, a *cli.App, c client.Client, run *cli.RunRef,
	word audit.Solved, v api.RunEvaluation) error {
	evaluated, err := a.Handle(c, run).Evaluate(ctx, v)
	switch {
	case errors.Is(err, &switchyard.RequestError{Type: switchyard.RequestRefused}):
		return cli.Errorf(cli.ExitFailed, "%w\nWait for its end: %s", err,
			a.Connection.Invocation().Command("watch", run.WorkflowID))
	case err != nil:
		return a.LookupError(run.WorkflowID, run.RunID, err)
	}
	if a.Format.JSON() {
		return cli.WriteJSON(a.Out, struct {
			WorkflowID string `json:"workflow_id"`
			RunID      string `json:"run_id"`
			api.RunEvaluation
		}{run.WorkflowID, evaluated.RunID(), v}, false)
	}
	return a.Println(fmt.Sprintf("run %s is marked as %s by %s", run.WorkflowID, word,
		cli.PlainText(v.By)))
}
