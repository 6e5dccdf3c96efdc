package history

import (
	"maps"
	"slices"
	"strings"

	"github.com/switchyard/switchyard/api"
)

var runKinds = map[string]RunKind{
	api.AgentWorkflow:   RunAgent,
	api.PlanWorkflow:    RunPlan,
	api.CallWorkflow:    RunCall,
	api.SessionWorkflow: RunSession,
}

// KindFromType returns the kind of the runs of a workflow type. It is empty for workflows that are
// not runs.
func KindFromType(workflowType string) RunKind { return runKinds[workflowType] }

// TopRuns returns the visibility query for runs that no other run started. Of a run over
// continue-as-new it finds the last execution.
func TopRuns() string {
	// A schedule starts the runs of a conversation as children of a workflow that is not a run.
	return AllRuns() + " AND (ParentWorkflowId IS NULL OR TemporalScheduledById IS NOT NULL)"
}

// AllRuns is TopRuns with the runs of sub-agents.
func AllRuns() string {
	types := slices.Sorted(maps.Keys(runKinds))
	return "WorkflowType IN ('" + strings.Join(types, "', '") +
		"') AND ExecutionStatus != 'ContinuedAsNew'"
}

// IsTool reports whether an activity type is a tool. The types of Switchyard's own activities have
// a slash.
func IsTool(activityType string) bool { return !strings.Contains(activityType, "/") }
