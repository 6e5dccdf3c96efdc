package runlist

import (
	"context"
	"slices"

	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
)

// leastPage is the minimum page size of a query.
const leastPage = 100

// list returns the newest runs, at most limit, that match a query and for which keep, if set, is
// true.
func list(ctx context.Context, c client.Client, namespace, query string, limit int,
	keep func(Run) bool) ([]Run, error) {
	found := newest{limit: limit, keep: keep}
	// Queries cannot specify an order. Servers list open runs by start time and closed runs by
	// close time.
	for _, state := range []string{"CloseTime IS NULL", "CloseTime IS NOT NULL"} {
		var token []byte
		for more := true; more; more = len(token) > 0 {
			page, err := c.ListWorkflow(ctx, &workflowservice.ListWorkflowExecutionsRequest{
				Namespace: namespace, Query: "(" + query + ") AND " + state,
				PageSize: int32(min(max(limit, leastPage), MaxPage)), NextPageToken: token,
			})
			if err != nil {
				return nil, err
			}
			if token = page.GetNextPageToken(); found.add(page.GetExecutions()) {
				break
			}
		}
	}
	found.cut()
	return found.runs, addAwaited(ctx, c, namespace, found.runs)
}

// newest keeps the newest of the listed runs.
type newest struct {
	limit int
	keep  func(Run) bool
	runs  []Run
}

// add takes a page of results and reports whether no later page can contain a newer run than those
// kept.
func (n *newest) add(page []*workflowpb.WorkflowExecutionInfo) bool {
	if len(page) == 0 {
		return false
	}
	var last Run
	for _, e := range page {
		if last = newRun(e); n.keep == nil || n.keep(last) {
			n.runs = append(n.runs, last)
		}
	}
	if len(n.runs) < n.limit {
		return false
	}
	n.cut()
	// Runs after an open run started before it. Runs after a closed one closed before it and
	// started earlier still.
	began := last.Started
	if !last.Closed.IsZero() {
		began = last.Closed
	}
	return !n.runs[n.limit-1].Started.Before(began)
}

// cut keeps the newest runs up to the limit, newest first.
func (n *newest) cut() {
	slices.SortStableFunc(n.runs, func(x, y Run) int { return y.Started.Compare(x.Started) })
	n.runs = n.runs[:min(len(n.runs), n.limit)]
}
