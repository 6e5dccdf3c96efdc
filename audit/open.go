package audit

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/switchyard/switchyard/audit/history"
	"github.com/switchyard/switchyard/internal/value/display"
	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
)

// UnreadError lists runs that could not be read. The other runs are part of the result.
type UnreadError struct {
	Runs []UnreadRun
}

// UnreadRun is a run that could not be read, and why.
type UnreadRun struct {
	WorkflowID, RunID string
	Err               error
}

func (e *UnreadError) Error() string {
	return fmt.Sprintf("%s cannot be read, such as %q: %v", display.Plural(len(e.Runs), "run"),
		e.Runs[0].WorkflowID, e.Runs[0].Err)
}

// askedAtOnce bounds the runs that are read concurrently, listedAtOnce those of one page.
const (
	askedAtOnce  = 16
	listedAtOnce = 1000
)

// OfOpenRuns joins the results of read for all open runs that no other run started. It skips runs
// that end meanwhile. Errors: *UnreadError after the results of the other runs; those of ctx and of
// the server.
func OfOpenRuns[T any](
	ctx context.Context,
	c client.Client,
	namespace string,
	read func(ctx context.Context, c client.Client, workflowID, runID string) ([]T, error),
) ([]T, error) {
	runs, err := openRuns(ctx, c, namespace)
	if err != nil {
		return nil, err
	}
	found, faults := make([][]T, len(runs)), make([]error, len(runs))
	slots := make(chan struct{}, askedAtOnce)
	var all sync.WaitGroup
	for i, run := range runs {
		all.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			found[i], faults[i] = read(ctx, c, run.GetWorkflowId(), run.GetRunId())
		})
	}
	all.Wait()
	unread := &UnreadError{}
	for i, err := range faults {
		switch {
		case err == nil || errors.Is(err, ErrNotFound):
		case errors.Is(err, history.ErrUnreadable) || errors.Is(err, history.ErrNotARun):
			unread.Runs = append(unread.Runs,
				UnreadRun{runs[i].GetWorkflowId(), runs[i].GetRunId(), err})
		default:
			return nil, err
		}
	}
	if len(unread.Runs) > 0 {
		return slices.Concat(found...), unread
	}
	return slices.Concat(found...), nil
}

// openRuns lists the open runs that no other run started.
func openRuns(ctx context.Context, c client.Client,
	namespace string) (runs []*commonpb.WorkflowExecution, err error) {
	var token []byte
	for {
		page, err := c.ListWorkflow(ctx, &workflowservice.ListWorkflowExecutionsRequest{
			Namespace:     namespace,
			PageSize:      listedAtOnce,
			NextPageToken: token,
			Query:         history.TopRuns() + ` AND ExecutionStatus = "Running"`,
		})
		if err != nil {
			return nil, err
		}
		for _, e := range page.GetExecutions() {
			runs = append(runs, e.GetExecution())
		}
		if token = page.GetNextPageToken(); len(token) == 0 {
			return runs, nil
		}
	}
}
