package history

import (
	"strings"

	"github.com/switchyard/switchyard/api"
)

var runKinds = map[string]RunKind{
	api.AgentWorkflow: RunAgent,
	api.PlanWorkflow:  RunPlan,
	api.CallWorkflow:  RunCall,
}

// KindOf returns the kind of the runs of a workflow type; empty for a workflow that is not a run.
func KindOf(workflowType string) RunKind { return runKinds[workflowType] }

// isTool tells a tool's activity from those of Switchyard itself, whose types have a slash.
func IsTool(activityType string) bool { return !strings.Contains(activityType, "/") }
