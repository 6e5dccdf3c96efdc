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

// KindOf returns the kind of the runs of a workflow type. It is empty for workflows that are not
// runs.
func KindOf(workflowType string) RunKind { return runKinds[workflowType] }

// IsTool reports whether an activity type is a tool. The types of Switchyard's own activities have
// a slash.
func IsTool(activityType string) bool { return !strings.Contains(activityType, "/") }
