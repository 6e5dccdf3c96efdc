package replay

import (
	"context"

	"github.com/switchyard/switchyard/audit/history"
	"github.com/switchyard/switchyard/internal/value/display"
	"github.com/switchyard/switchyard/starter/cli"
	"go.temporal.io/sdk/client"
)

// Run replays the executions of a run, the first one first, with workflows by their types. Nothing
// is executed, and the run is not affected. An execution that has decided nothing yet is left out.
func Run(ctx context.Context, a *cli.App, c client.Client, s history.Summary,
	workflows map[string]any) error {
	for _, part := range s.Parts {
		r, err := fetch(ctx, c, s.WorkflowID, part.RunID)
		if err == nil {
			err = r.err
		}
		if err != nil {
			return a.LookupError(s.WorkflowID, s.Run, err)
		}
		if !hasDecisions(r.history) {
			continue
		}
		kind := findStart(r.history).GetWorkflowType().GetName()
		if err := r.replayWith(kind, workflows[kind]); err != nil {
			return cli.Errorf(cli.ExitFailed, "the run %s does not replay with this build: %s\nUse "+
				"the starter of the build that executed it", s.WorkflowID,
				cli.OneLine(display.Shorten(err.Error(), maxReason)))
		}
	}
	return nil
}
