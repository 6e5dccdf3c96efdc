package audit

import (
	"context"
	"errors"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit/history"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"
)

// Root returns the first execution of the run at the top of the tree that a run belongs to: its own where it works for no other.
// Where the server keeps one of the runs between them no longer, that one stands for the top. Errors are ErrUnreadable, ctx's or
// the server's.
func Root(ctx context.Context, c client.Client, s history.Summary) (run string, err error) {
	run = s.Run
	for parent := s.Parent; parent != nil; {
		run = parent.Run
		if parent.Depth == 1 {
			break
		}
		if parent, err = parentOf(ctx, c, *parent); err != nil {
			break
		}
	}
	if errors.Is(err, ErrNotFound) {
		err = nil
	}
	return run, err
}

// parentOf reads from the beginning of a run whom it works for.
func parentOf(ctx context.Context, c client.Client, of api.Parent) (*api.Parent, error) {
	pages := c.GetWorkflowHistory(ctx, of.WorkflowID, of.Run, false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	event, err := pages.Next()
	if err != nil {
		return nil, ReadError(ctx, err, of.WorkflowID, of.Run)
	}
	d := history.NewDeriver(of.WorkflowID, of.Run)
	_, err = d.Add(event)
	return d.Summary().Parent, err
}
