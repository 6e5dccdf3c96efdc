// Package workflows decides what a run does: which call runs when, on which lane, whether it may,
// and what follows. It only decides: everything that may change between two deployments (schemas,
// policies, models) is evaluated in an activity, and the result is recorded in the history.
//
// A run starts in agent.go, plan.go or direct.go. pipeline.go admits the calls of a turn,
// dispatcher.go starts them in order, and callrun.go takes one call from its decision to its
// outcome.
//
// A change to this package keeps the histories in testdata/histories replaying; see
// docs/changing-workflows.md.
package workflows

import (
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/workflows/lanes"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"
)

// All returns the workflows by the name they are registered under.
func All() map[string]any {
	return map[string]any{
		api.AgentWorkflow:      showingAgent,
		api.PlanWorkflow:       showing(planWorkflow),
		api.CallWorkflow:       showing(directCallWorkflow),
		api.ScheduledWorkflow:  scheduledRun,
		api.EvaluationWorkflow: evaluationWorkflow,
		api.CatalogWorkflow:    catalogReport,
		api.LaneSlotsWorkflow:  lanes.LaneKeeper,
		api.BacklogWorkflow:    backlogWorkflow,
	}
}

// evaluationWorkflow does nothing. The evaluation of a run by a person is in the memo with which
// this workflow starts, and counts even if no worker is running.
func evaluationWorkflow(workflow.Context) error { return nil }

// backlogHeartbeat is the time after which another worker reads the backlog if the one that did is
// lost.
const backlogHeartbeat = 45 * time.Second

// backlogWorkflow elects the worker that reads the backlog for its metrics: the one that executes
// the activity. When that stops or is lost, the retry goes to another worker.
func backlogWorkflow(ctx workflow.Context) error {
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		TaskQueue:           api.BacklogQueue(workflow.GetInfo(ctx).TaskQueueName),
		StartToCloseTimeout: 24 * time.Hour, HeartbeatTimeout: backlogHeartbeat,
		RetryPolicy: &temporal.RetryPolicy{InitialInterval: time.Second, BackoffCoefficient: 1},
		Summary:     "counts open runs for metrics",
	})
	return workflow.ExecuteActivity(ctx, api.ReadBacklogActivity).Get(ctx, nil)
}
