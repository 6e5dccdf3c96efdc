package runs

import (
	"context"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/starter/internal/cli"
	enumspb "go.temporal.io/api/enums/v1"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/sdk/client"
)

// checkReadable refuses to start a run whose data could not be decoded here. It checks the latest
// heartbeat of the instance host that serves the task queue. Without one, readability is unknown
// and the run starts.
func checkReadable(ctx context.Context, a *cli.App, c client.Client, queue string) error {
	keeper, err := c.DescribeWorkflowExecution(ctx, api.LaneWorkflowID(queue, api.LaneSerial), "")
	if err != nil {
		return nil // there is none, or starting the run reports the problem
	}
	for _, hosting := range keeper.GetPendingActivities() {
		if !heartbeatIsRecent(hosting, time.Now()) {
			continue
		}
		if err := a.Connection.Opened.Decode(ctx, hosting.GetHeartbeatDetails()); err != nil {
			return cli.Errorf(cli.ExitUsage,
				"nothing was started, because payloads written by the workers of the task queue %s cannot be decoded here: %w",
				queue, err)
		}
	}
	return nil
}

// lately is the maximum age of a host's heartbeat. It excludes workers that have stopped and used
// another key.
const lately = 20 * time.Second

// heartbeatIsRecent reports whether the current slot host has sent a heartbeat recently.
func heartbeatIsRecent(hosting *workflowpb.PendingActivityInfo, now time.Time) bool {
	last := hosting.GetLastHeartbeatTime().AsTime()
	return hosting.GetState() == enumspb.PENDING_ACTIVITY_STATE_STARTED &&
		hosting.GetHeartbeatDetails() != nil &&
		last.After(hosting.GetLastStartedTime().AsTime()) && now.Sub(last) < lately
}
