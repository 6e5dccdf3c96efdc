package workflows

import "go.temporal.io/sdk/workflow"

// Verdict does nothing: what a person says of a run stands in the memo with which the workflow was started, and counts from then
// on, be it that no worker is there.
func Evaluation(workflow.Context) error { return nil }
