package keeper

import (
	"slices"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/instancerules"
	"github.com/switchyard/switchyard/internal/core/queues"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"
)

const (
	// hostTimeout bounds an instance host activity. The server also applies the timeout of the
	// workflow.
	hostTimeout = 10 * 365 * 24 * time.Hour
	// maxBefore bounds the remembered instance hosts of earlier executions. More than one is needed
	// because the newest may not have reported yet.
	maxBefore = 3
)

// HostOptions are those of the activity that hosts an instance of the tool, requested from the
// workers of the tool's lane. The caller sets the activity's ID and summary.
func HostOptions(tool api.Tool, base string) workflow.ActivityOptions {
	options := onceHosted(tool)
	options.TaskQueue = queues.InstanceHost(base, tool.Lane)
	options.ScheduleToStartTimeout = tool.HostWithin.Std()
	if tool.OnLoss == api.OnLossRecreate {
		options.RetryPolicy = &temporal.RetryPolicy{InitialInterval: 100 * time.Millisecond,
			BackoffCoefficient: 2, MaximumInterval: time.Second}
	}
	return options
}

// AdoptOptions are HostOptions for the living instance of the previous execution, whose worker
// serves the queue. It is not requested again.
func AdoptOptions(tool api.Tool, queue string) workflow.ActivityOptions {
	options := onceHosted(tool)
	options.TaskQueue = queue
	options.ScheduleToStartTimeout = api.AdoptWithin.Std() +
		instancerules.IdleLease(tool.Heartbeat).Std()
	return options
}

func onceHosted(tool api.Tool) workflow.ActivityOptions {
	return workflow.ActivityOptions{
		StartToCloseTimeout: hostTimeout,
		HeartbeatTimeout:    tool.Heartbeat.Std(),
		WaitForCancellation: true,
		RetryPolicy:         &temporal.RetryPolicy{MaximumAttempts: 1},
	}
}

// WithHost adds the host of the current execution to the remembered ones, the newest last. It is
// identified by the current run ID, because after a reset the host belongs to that execution.
func WithHost(ctx workflow.Context, before []api.InstanceHost,
	activityID string) []api.InstanceHost {
	hosts := append(slices.Clone(before), api.InstanceHost{
		RunID: workflow.GetInfo(ctx).WorkflowExecution.RunID, ActivityID: activityID})
	return hosts[max(0, len(hosts)-maxBefore):]
}
