package runlist

import (
	"context"
	"slices"

	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
)

// leastPage is the least number of runs asked for at once.
const leastPage = 100

// List returns the runs that meet a query and that keep, if set, keeps: at most limit of them,
// the newest first.
func List(ctx context.Context, c client.Client, namespace, query string, limit int,
	keep func(Run) bool) ([]Run, error) {
	found := newest{limit: limit, keep: keep}
	// A server cannot be asked for an order. It has those that go on by when they began, and those
	// that are over by when they ended.
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
	return found.runs, awaited(ctx, c, namespace, found.runs)
}

// newest keeps the newest of the runs that it is shown, in the order in which a server lists them.
type newest struct {
	limit int
	keep  func(Run) bool
	runs  []Run
}

// add takes a page of the server's list and reports whether no later page can hold a newer run than
// those that are kept.
func (n *newest) add(page []*workflowpb.WorkflowExecutionInfo) bool {
	if len(page) == 0 {
		return false
	}
	var last Run
	for _, e := range page {
		if last = listed(e); n.keep == nil || n.keep(last) {
			n.runs = append(n.runs, last)
		}
	}
	if len(n.runs) < n.limit {
		return false
	}
	n.cut()
	// What is listed after a run that goes on began before it; what is listed after one that is
	// over ended before it, and began earlier still.
	began := last.Started
	if !last.Closed.IsZero() {
		began = last.Closed
	}
	return !n.runs[n.limit-1].Started.Before(began)
}

// cut leaves the newest runs up to the limit, the newest first.
func (n *newest) cut() {
	slices.SortStableFunc(n.runs, func(x, y Run) int { return y.Started.Compare(x.Started) })
	n.runs = n.runs[:min(len(n.runs), n.limit)]
}
