package audit

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/ledgerrules"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
)

// Principals yields what principals have used of their budgets in the periods that have not ended,
// as far as their ledgers know. It needs workers, which answer the queries. Errors are those of the
// server.
func Principals(ctx context.Context, c client.Client) iter.Seq2[ledgerrules.PrincipalUsage, error] {
	request := &workflowservice.ListWorkflowExecutionsRequest{Query: fmt.Sprintf(
		"WorkflowType = '%s' AND ExecutionStatus = 'Running'", api.LedgerWorkflow)}
	return func(yield func(ledgerrules.PrincipalUsage, error) bool) {
		for {
			page, err := c.ListWorkflow(ctx, request)
			if err != nil {
				yield(ledgerrules.PrincipalUsage{}, fmt.Errorf("list the ledgers of principals: %w", err))
				return
			}
			for _, e := range page.GetExecutions() {
				id := e.GetExecution().GetWorkflowId()
				if !strings.Contains(id, "/"+string(api.ScopePrincipalCalls)+"/") {
					continue
				}
				used, err := queryUsage(ctx, c, id)
				if (err != nil || len(used.Periods) > 0) && !yield(used, err) {
					return
				}
			}
			if request.NextPageToken = page.GetNextPageToken(); len(request.NextPageToken) == 0 {
				return
			}
		}
	}
}

// queryUsage asks a ledger; one that has ended meanwhile has nothing left.
func queryUsage(ctx context.Context, c client.Client, id string) (used ledgerrules.PrincipalUsage,
	err error) {
	value, err := c.QueryWorkflow(ctx, id, "", api.PrincipalUsageQuery)
	if err == nil {
		err = value.Get(&used)
	}
	if _, ended := errors.AsType[*serviceerror.NotFound](err); ended {
		return used, nil
	}
	if err != nil {
		err = fmt.Errorf("query the ledger %s: %w", id, err)
	}
	return used, err
}
