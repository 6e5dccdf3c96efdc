package audit_test

import (
	"testing"

	"github.com/switchyard/switchyard/audit/history"
	commonpb "go.temporal.io/api/common/v1"
)

// A cancelled run names who cancelled it and why, if its history has them.
func TestCancelledRun_NamesCallerAndReason(t *testing.T) {
	above := &commonpb.WorkflowExecution{WorkflowId: "above"}
	for want, request := range map[string]*cancelRequestedAttributes{
		"the run was cancelled":               {},
		"the run was cancelled: wrong folder": {Cause: "wrong folder"},
		"the run was cancelled by ada@desk: wrong folder": {Cause: "wrong folder",
			Identity: "ada@desk"},
		"the run was cancelled by the run above: its run closed": {Cause: "its run closed",
			Identity: "history", ExternalWorkflowExecution: above},
	} {
		recorded := histories(t, "cancelled")[0]
		for _, e := range recorded {
			if e.GetWorkflowExecutionCancelRequestedEventAttributes() != nil {
				e.Attributes = &cancelRequestedEvent{
					WorkflowExecutionCancelRequestedEventAttributes: request}
			}
		}
		d := history.NewDeriver("", "")
		events := derive(t, d, recorded)
		if got := events[len(events)-1].Failure; got != want || d.Summary().Failure != want {
			t.Errorf("%q, and the summary %q, want %q", got, d.Summary().Failure, want)
		}
	}
}
