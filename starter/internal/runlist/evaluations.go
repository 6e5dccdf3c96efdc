package runlist

import (
	"context"

	"github.com/switchyard/switchyard/audit"
	"github.com/switchyard/switchyard/starter/cli"
	"go.temporal.io/sdk/client"
)

// AddEvaluations adds people's evaluations to runs.
func AddEvaluations(ctx context.Context, a *cli.App, c client.Client, list []Run) error {
	ids := make([]string, len(list))
	for i, run := range list {
		ids[i] = run.RunID
	}
	decisions, err := audit.Evaluations(ctx, c, a.Connection.ResolvedNamespace, ids)
	if err != nil {
		return err
	}
	for i, run := range list {
		if v, ok := decisions[run.RunID]; ok {
			list[i].Decision = &v
		}
	}
	return nil
}
