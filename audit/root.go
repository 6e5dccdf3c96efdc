package audit

import (
	"context"
	"errors"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit/history"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"
)

// Root returns the first execution of the run at the top of the tree that a run belongs to. It is
// the run's own if no run started it. If the server has deleted a run in between, that run counts
// as the top. Errors: ErrUnreadable, those of ctx and of the server.
func Root(ctx context.Context, c client.Client, s history.Summary) (run string, err error) {
	run = s.Run
	for parent := s.Parent; parent != nil; {
		run = parent.Run
		if parent.Depth == 1 {
			break
		}
		if parent, err = readParent(ctx, c, *parent); err != nil {
			break
		}
	}
	if errors.Is(err, ErrNotFound) {
		err = nil
	}
	return run, err
}

// readParent reads the parent of a run from the start of its history.
func readParent(ctx context.Context, c client.Client, of api.Parent) (*api.Parent, error) {
	s, err := readStart(ctx, c, of.WorkflowID, of.Run)
	return s.Parent, err
}

// readStart reads what the first event of an execution says of its run.
func readStart(ctx context.Context, c client.Client, workflowID, runID string) (history.Summary,
	error) {
	pages := c.GetWorkflowHistory(ctx, workflowID, runID, false,
		enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	event, err := pages.Next()
	if err != nil {
		return history.Summary{}, ReadError(ctx, err, workflowID, runID)
	}
	d := history.NewDeriver(workflowID, runID)
	_, err = d.Add(event)
	return d.Summary(), err
}
