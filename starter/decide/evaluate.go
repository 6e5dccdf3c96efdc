package decide

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"
	"github.com/switchyard/switchyard"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit"
	"github.com/switchyard/switchyard/internal/core/people"
	"github.com/switchyard/switchyard/starter/cli"
	"go.temporal.io/sdk/client"
)

func evaluateCommand(a *cli.App) *cobra.Command {
	var ref cli.RunRef
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
  starter evaluate support-42 solved --run-id 0198c3c1-0d5b-7c5e-8a3c-5a0e1f6f7a10 --by ada`,
		Args: cli.Arguments(1, "RUN", "solved|failed"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 && ref.WorkflowID == "" {
				ref.WorkflowID, args = args[0], args[1:]
			}
			word := audit.Solved(args[0])
			if len(args) != 1 || word != audit.SolvedYes && word != audit.SolvedNo {
				return cli.UsageError(cmd, "%q is not an evaluation: use %s or %s", args[0],
					audit.SolvedYes, audit.SolvedNo)
			}
			v := api.RunEvaluation{Solved: word == audit.SolvedYes, By: by.Name(), Reason: reason,
				Time: time.Now().UTC()}
			if err := people.CheckEvaluation(v); err != nil {
				return cli.UsageError(cmd, "%v", err)
			}
			return a.OnRun(&ref, func(ctx context.Context, c client.Client, run *cli.RunRef) error {
				return evaluateRun(ctx, a, c, run, v)
			})(cmd, nil)
		},
	}
	ref.Add(cmd.Flags())
	cmd.Flags().StringVar(&reason, "reason", "", "`text` recorded as the reason")
	by.Add(cmd.Flags(), "evaluates the run")
	return cmd
}

// evaluateRun stores an evaluation of a finished run.
func evaluateRun(ctx context.Context, a *cli.App, c client.Client, run *cli.RunRef,
	v api.RunEvaluation) error {
	evaluated, err := a.Handle(c, run).Evaluate(ctx, v)
	switch {
	case errors.Is(err, &switchyard.RequestError{Type: switchyard.RequestRefused}):
		return cli.Errorf(cli.ExitFailed, "%w\nWait for its end: %s", err,
			a.Connection.Invocation().Command("watch", run.WorkflowID))
	case err != nil:
		return a.LookupError(run.WorkflowID, run.RunID, err)
	}
	what := string(audit.SolvedNo)
	if v.Solved {
		what = string(audit.SolvedYes)
	}
	if a.Format.JSON() {
		return cli.WriteJSON(a.Out, evaluationOf{run.WorkflowID, evaluated.RunID(), v}, false)
	}
	return a.Println("run " + run.WorkflowID + " is marked as " + what + " by " + cli.PlainText(v.By))
}

// evaluationOf is the command's JSON output.
type evaluationOf struct {
	WorkflowID string `json:"workflow_id"`
	RunID      string `json:"run_id"`
	api.RunEvaluation
}
