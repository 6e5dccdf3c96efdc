package inspect

import (
	"context"

	"github.com/switchyard/switchyard/audit/history"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit"
	"github.com/switchyard/switchyard/starter/cli"
	"github.com/switchyard/switchyard/starter/internal/runlist"
	"go.temporal.io/sdk/client"
)

// evaluateShown adds the run's evaluation.
func evaluateShown(ctx context.Context, a *cli.App, c client.Client, s *shownRun) error {
	if n := len(s.Parts); n > 0 && !s.Closed.IsZero() {
		list := []runlist.Run{{RunID: s.Parts[n-1].RunID}}
		if err := runlist.AddEvaluations(ctx, a, c, list); err != nil {
			return err
		}
		s.Person = list[0].Decision
	}
	s.Evaluation, s.EvaluatedBy = audit.Evaluate(s.Summary, s.Person)
	return nil
}

// evaluationText describes the run's evaluation in one line.
func evaluationText(s history.Summary, person *api.RunEvaluation) string {
	return cli.OneLine(audit.EvaluationText(audit.Evaluation(s, person)))
}
