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

// failureWithin is within how many events of a history's end the failure of its last decision is looked for: of attempts that
// fail one after the other, the server writes down the first, and beside it only what came to the run meanwhile.
const failureWithin = 20

// Undecided adds to a run's next decision, where it is among what Pending gave and workers fail to take it again and again, why they
// do, as its LastFailure: the worker lacks a key, or a deploy has changed what the run does. The error is the server's.
func Undecided(ctx context.Context, c client.Client, namespace, workflowID string, running []Running) error {
	for i, r := range running {
		if r.Kind != KindRun || r.Attempt < 2 {
			continue
		}
		answer, err := c.WorkflowService().GetWorkflowExecutionHistoryReverse(ctx, &workflowservice.GetWorkflowExecutionHistoryReverseRequest{
			Namespace: namespace, Execution: &commonpb.WorkflowExecution{WorkflowId: workflowID}, MaximumPageSize: failureWithin})
		if err != nil {
			return err
		}
		running[i].LastFailure = undecided(answer.GetHistory().GetEvents())
	}
	return nil
}

// undecided is why the last decision of a history failed, of which the last event comes first; empty where it did not. What failed before
// a decision that was taken is over.
func undecided(events []*historypb.HistoryEvent) string {
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
