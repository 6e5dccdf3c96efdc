// Package workflows makes the decisions of a run: which call, when, on which lane, may it, what next. It does nothing
// else. Everything here is deterministic: whatever could change between two deploys (schemas, policies, models) is
// evaluated in an activity and its verdict recorded in history.
//
// A change to this package keeps the histories in testdata/histories replaying; see docs/changing-workflows.md.
package workflows

import (
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/workflows/lanes"
	"go.temporal.io/sdk/workflow"
)

// All returns the workflows by the name they are registered under.
func All() map[string]any {
	return map[string]any{
		api.AgentWorkflow:      showingAgent,
		api.PlanWorkflow:       showing(Plan),
		api.CallWorkflow:       showing(DirectCall),
		api.ScheduledWorkflow:  ScheduledRun,
		api.EvaluationWorkflow: Evaluation,
		api.CatalogWorkflow:    CatalogReport,
		api.LaneSlotsWorkflow:  lanes.LaneKeeper,
		api.LaneKeysWorkflow:   lanes.LaneKeys,
	}
}

// Verdict does nothing: what a person says of a run stands in the memo with which the workflow was started, and counts from then
// on, be it that no worker is there.
func Evaluation(workflow.Context) error { return nil }
