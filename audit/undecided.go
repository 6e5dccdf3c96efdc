package audit

import (
	"context"

	"github.com/switchyard/switchyard/audit/internal/pb"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
)

// failureWithin is the number of history events from the end in which the failure of the last
// workflow task is searched. The server records the first of several failed attempts, and after it
// only events that arrived in the meantime.
const failureWithin = 20

// SetLastFailure sets the LastFailure of the next workflow task in running if workers fail it
// repeatedly: for example a worker lacks a key, or a deployment changed the workflow. The error is
// that of the server.
func SetLastFailure(ctx context.Context, c client.Client, namespace, workflowID string,
	running []Running) error {
	for i, r := range running {
		if r.Kind != KindRun || r.Attempt < 2 {
			continue
		}
		request := &workflowservice.GetWorkflowExecutionHistoryReverseRequest{
			Namespace:       namespace,
			Execution:       &commonpb.WorkflowExecution{WorkflowId: workflowID},
			MaximumPageSize: failureWithin,
		}
		answer, err := c.WorkflowService().GetWorkflowExecutionHistoryReverse(ctx, request)
		if err != nil {
			return err
		}
		running[i].LastFailure = findTaskFailure(answer.GetHistory().GetEvents())
	}
	return nil
}

// findTaskFailure returns why the last workflow task failed; empty if it did not. events are in
// reverse order.
func findTaskFailure(events []*historypb.HistoryEvent) string {
	for _, e := range events {
		switch e.GetEventType() {
		case enumspb.EVENT_TYPE_WORKFLOW_TASK_FAILED:
			return pb.FailureMessage(e.GetWorkflowTaskFailedEventAttributes().GetFailure())
		case enumspb.EVENT_TYPE_WORKFLOW_TASK_COMPLETED:
			return ""
		}
	}
	return ""
}
