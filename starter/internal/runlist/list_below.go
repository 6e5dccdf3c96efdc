package runlist

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/switchyard/switchyard/audit"
	"github.com/switchyard/switchyard/audit/history"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
)

// maxRoots bounds the trees of runs that the server is asked about at once.
const maxRoots = 100

// awaited adds to the runs of a list what they, and the runs below them, want of people. The error
// is the server's.
func awaited(ctx context.Context, c client.Client, namespace string, runs []Run) error {
	err := awaitBelow(ctx, c, namespace, runs)
	for i, r := range runs {
		// A run tells that it waits, and since when for approval: without that it waits for an
		// answer.
		runs[i].WaitsFor = audit.Awaiting(!r.Awaits.IsZero(), r.asks)
	}
	return err
}

// awaitBelow adds to the agents' runs of a list since when calls of the sub-agents' runs below them
// wait for approval, and whether these ask something. Only runs at the top of their trees are told:
// those below stand in the list themselves where it has them. The error is the server's.
func awaitBelow(ctx context.Context, c client.Client, namespace string, runs []Run) error {
	tops := map[string]*Run{}
	var roots []string
	for i, r := range runs {
		if r.mayAwaitBelow() {
			tops[r.ID] = &runs[i]
			roots = append(roots, Quoted(r.ID))
		}
	}
	for some := range slices.Chunk(roots, maxRoots) {
		page, err := c.ListWorkflow(ctx,
			&workflowservice.ListWorkflowExecutionsRequest{Namespace: namespace, PageSize: MaxPage,
				Query: "ExecutionStatus = 'Running' AND ParentWorkflowId IS NOT NULL AND RootWorkflowId IN (" +
					strings.Join(some, ", ") + ")"})
		if err != nil {
			return err
		}
		for _, e := range page.GetExecutions() {
			below := listed(e)
			if top := tops[below.root]; top != nil {
				top.Awaits, top.asks = earlier(top.Awaits, below.Awaits), top.asks || below.asks
				top.Unread = cmp.Or(top.Unread, below.Unread)
			}
		}
	}
	return nil
}

// mayAwaitBelow reports whether it is of interest what the runs below a listed one wait for.
func (r Run) mayAwaitBelow() bool {
	return r.Status == history.RunRunning && r.Kind == history.RunAgent && r.Awaits.IsZero() &&
		r.root == r.ID
}

// earlier returns the earlier of two times; the zero time is none.
func earlier(x, y time.Time) time.Time {
	if x.IsZero() || !y.IsZero() && y.Before(x) {
		return y
	}
	return x
}
