package runlist

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/switchyard/switchyard/audit"
	"github.com/switchyard/switchyard/audit/history"
	"github.com/switchyard/switchyard/internal/value/visibility"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
)

// maxRoots bounds the trees of runs in one query.
const maxRoots = 100

// addAwaited adds to listed runs what they and their descendants need from people. Errors are the
// server's.
func addAwaited(ctx context.Context, c client.Client, namespace string, runs []Run) error {
	err := awaitBelow(ctx, c, namespace, runs)
	for i, r := range runs {
		// A run reports that it waits, and since when for approval. Without that time it waits for
		// an answer.
		runs[i].WaitsFor = audit.ListAwaited(!r.Awaits.IsZero(), r.asks)
	}
	return err
}

// awaitBelow adds to listed agents' runs since when their sub-agents' calls wait for approval, and
// whether they ask questions. It covers only roots of trees, because descendants are listed
// themselves. Errors are the server's.
func awaitBelow(ctx context.Context, c client.Client, namespace string, runs []Run) error {
	tops := map[string]*Run{}
	var roots []string
	for i, r := range runs {
		if r.mayAwaitBelow() {
			tops[r.ID] = &runs[i]
			roots = append(roots, r.ID)
		}
	}
	for some := range slices.Chunk(roots, maxRoots) {
		page, err := c.ListWorkflow(ctx,
			&workflowservice.ListWorkflowExecutionsRequest{Namespace: namespace, PageSize: MaxPage,
				Query: "ExecutionStatus = 'Running' AND ParentWorkflowId IS NOT NULL AND " +
					visibility.In("RootWorkflowId", some...)})
		if err != nil {
			return err
		}
		for _, e := range page.GetExecutions() {
			below := newRun(e)
			if top := tops[below.root]; top != nil {
				top.Awaits, top.asks = earlier(top.Awaits, below.Awaits), top.asks || below.asks
				top.Unread = cmp.Or(top.Unread, below.Unread)
			}
		}
	}
	return nil
}

// mayAwaitBelow reports whether descendants of a listed run may need people.
func (r Run) mayAwaitBelow() bool {
	return r.Status == history.RunRunning && r.Kind == history.RunAgent && r.Awaits.IsZero() &&
		r.root == r.ID
}

// earlier returns the earlier of two times. The zero time means none.
func earlier(x, y time.Time) time.Time {
	if x.IsZero() || !y.IsZero() && y.Before(x) {
		return y
	}
	return x
}
