// Package read finds the forks of runs on the server.
package read

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/feature/forks"
	"github.com/switchyard/switchyard/internal/value/visibility"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
)

// ForkedRun is a run that was started from a point of another one.
type ForkedRun struct {
	WorkflowID string `json:"workflow_id"`
	RunID      string `json:"run_id"`
	// At is the turn or call from which on the run is live. Edited names what differs.
	At      string    `json:"at"`
	Edited  []string  `json:"edited,omitempty"`
	Started time.Time `json:"started"`
}

// Forks returns the forks of a run, the oldest first. runID is its first execution. The server
// lists a new run after a moment.
func Forks(ctx context.Context, c client.Client, namespace, workflowID,
	runID string) ([]ForkedRun, error) {
	request := &workflowservice.ListWorkflowExecutionsRequest{Namespace: namespace,
		Query: visibility.Prefix("WorkflowId", forks.Prefix(workflowID)) + " AND WorkflowType = '" +
			api.AgentWorkflow + "' AND ExecutionStatus != 'ContinuedAsNew'"}
	var list []ForkedRun
	for {
		page, err := c.ListWorkflow(ctx, request)
		if err != nil {
			return nil, fmt.Errorf("list forks: %w", err)
		}
		for _, e := range page.GetExecutions() {
			var f forks.Fork
			memo := e.GetMemo().GetFields()[forks.Memo]
			if memo == nil || converter.GetDefaultDataConverter().FromPayload(memo, &f) != nil ||
				f.WorkflowID != workflowID || f.RunID != runID {
				continue
			}
			list = append(list, ForkedRun{WorkflowID: e.GetExecution().GetWorkflowId(),
				RunID: e.GetExecution().GetRunId(), At: f.At, Edited: f.Edited,
				Started: e.GetStartTime().AsTime()})
		}
		if request.NextPageToken = page.GetNextPageToken(); len(request.NextPageToken) == 0 {
			slices.SortFunc(list, func(x, y ForkedRun) int { return x.Started.Compare(y.Started) })
			return list, nil
		}
	}
}
