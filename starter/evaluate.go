package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit"
	"github.com/switchyard/switchyard/audit/history"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"
)

func (a *app) evaluateCommand() *cobra.Command {
	var ref runReference
	var by byFlag
	var reason string
	cmd := &cobra.Command{
		Use: "evaluate RUN solved|failed", Short: "Say of a run that is over whether it did what it was for",
		Long: `Says of a run that is over, however long, whether it solved its task. 'starter report' counts it so, whatever the run's end and
its agent's checker say. The latest verdict on a run is the one that counts; earlier ones stay to be seen in the Web UI.

The server keeps a verdict as a small workflow beside the run, as long as other workflows that have ended. It counts at once,
also where no worker is there.`,
		Example: `  starter evaluate demo-1a2b3c4d solved
  starter evaluate demo-1a2b3c4d failed --reason "it named the wrong document"
  starter evaluate support-42 solved --run-id 0198c3c1-0d5b-7c5e-8a3c-5a0e1f6f7a10 --by ada`,
		Args: arguments(1, "RUN", "solved|failed"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 && ref.workflowID == "" {
				ref.workflowID, args = args[0], args[1:]
			}
			word := audit.Solved(args[0])
			if len(args) != 1 || word != audit.SolvedYes && word != audit.SolvedNo {
				return usageError(cmd, "%q is no verdict: write %s or %s", args[0], audit.SolvedYes, audit.SolvedNo)
			}
			v := api.RunEvaluation{Solved: word == audit.SolvedYes, By: by.name(), Reason: reason, Time: time.Now().UTC()}
			if err := v.Check(); err != nil {
				return usageError(cmd, "%v", err)
			}
			return a.onRun(&ref, func(ctx context.Context, c client.Client, run *runReference) error {
				return a.evaluateRun(ctx, c, run, v)
			})(cmd, nil)
		},
	}
	ref.add(cmd.Flags())
	cmd.Flags().StringVar(&reason, "reason", "", "`text` that is kept as the reason")
	by.add(cmd.Flags(), "says so")
	return cmd
}

// giveVerdict keeps a verdict on a run that is over.
func (a *app) evaluateRun(ctx context.Context, c client.Client, run *runReference, v api.RunEvaluation) error {
	last, err := audit.Last(ctx, c, run.workflowID, run.runID)
	if err != nil {
		return a.lookupError(run.workflowID, run.runID, err)
	}
	if !last.Over {
		return failure(exitFailed, "the run %q is not over, so there is no verdict on it yet\nWait for its end: %s", run.workflowID, a.connection.reach().command("watch", run.workflowID))
	}
	what := string(audit.SolvedNo)
	if v.Solved {
		what = string(audit.SolvedYes)
	}
	_, err = c.ExecuteWorkflow(ctx, client.StartWorkflowOptions{
		ID: api.EvaluationWorkflowID(last.RunID), TaskQueue: last.TaskQueue,
		Memo:                     map[string]any{api.EvaluationMemo: v},
		StaticSummary:            api.Shorten(what+", says "+v.By+": "+run.workflowID, 200),
		WorkflowIDReusePolicy:    enumspb.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE,
		WorkflowIDConflictPolicy: enumspb.WORKFLOW_ID_CONFLICT_POLICY_TERMINATE_EXISTING,
	}, api.EvaluationWorkflow)
	if err != nil {
		return err
	}
	if a.format.json() {
		return writeJSON(a.Out, evaluationOf{run.workflowID, last.RunID, v}, false)
	}
	return a.println("run " + run.workflowID + " is " + what + ", says " + plainText(v.By))
}

// verdictOf is what the command prints as JSON.
type evaluationOf struct {
	WorkflowID string `json:"workflow_id"`
	RunID      string `json:"run_id"`
	api.RunEvaluation
}

// judged fills in what people said of runs.
func (a *app) evaluated(ctx context.Context, c client.Client, list []listedRun) error {
	ids := make([]string, len(list))
	for i, run := range list {
		ids[i] = run.RunID
	}
	decisions, err := audit.Evaluations(ctx, c, a.connection.resolvedNamespace, ids)
	if err != nil {
		return err
	}
	for i, run := range list {
		if v, ok := decisions[run.RunID]; ok {
			list[i].decision = &v
		}
	}
	return nil
}

// judge fills in the verdict on a run.
func (a *app) evaluate(ctx context.Context, c client.Client, s *shownRun) error {
	if n := len(s.Parts); n > 0 && !s.Closed.IsZero() {
		list := []listedRun{{RunID: s.Parts[n-1].RunID}}
		if err := a.evaluated(ctx, c, list); err != nil {
			return err
		}
		s.Person = list[0].decision
	}
	s.Evaluation, s.EvaluatedBy = audit.Evaluate(s.Summary, s.Person)
	return nil
}

// verdictText tells of the verdict on a run in a line.
func evaluationText(s history.Summary, person *api.RunEvaluation) string {
	return oneLine(audit.EvaluationText(audit.Evaluation(s, person)))
}
