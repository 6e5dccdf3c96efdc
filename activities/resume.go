package activities

import (
	"context"
	"time"

	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
)

// releasePatience bounds the requests of releaseRun.
const releasePatience = 5 * time.Second

// releaseRun makes the server offer the run's next workflow task to every worker if the last
// attempt of the activity was lost with its worker. That worker probably cached the run, too, and
// the task would first wait for it. Errors do not matter: the wait is bounded.
func releaseRun(ctx context.Context, c client.Client) {
	info := activity.GetInfo(ctx)
	if info.Attempt < 2 || info.IsLocalActivity || c == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releasePatience)
	go func() {
		defer cancel()
		run := info.WorkflowExecution
		described, err := c.DescribeWorkflowExecution(ctx, run.ID, run.RunID)
		if err != nil {
			return
		}
		for _, pending := range described.GetPendingActivities() {
			if pending.GetActivityId() != info.ActivityID ||
				pending.GetLastFailure().GetTimeoutFailureInfo().GetTimeoutType() !=
					enumspb.TIMEOUT_TYPE_HEARTBEAT {
				continue
			}
			_, _ = c.WorkflowService().ResetStickyTaskQueue(ctx,
				&workflowservice.ResetStickyTaskQueueRequest{Namespace: info.Namespace,
					Execution: &commonpb.WorkflowExecution{WorkflowId: run.ID, RunId: run.RunID}})
		}
	}()
}
