package audit_test

import (
	"testing"

	"github.com/switchyard/switchyard/audit/history"
)

// A run that continues an earlier run of its conversation names it in its summary and at its end.
func TestContinuedRun_NamesItsPredecessor(t *testing.T) {
	d := history.NewDeriver("", "")
	events := derive(t, d, replayedHistory(t, "agent_conversation"))
	previous := d.Summary().Continues
	if previous == nil || previous.WorkflowID != "agent_conversation" || previous.RunID == "" {
		t.Fatalf("got %+v", previous)
	}
	if last := events[len(events)-1]; last.Continues == nil || *last.Continues != *previous {
		t.Errorf("the end has %+v, want %+v", last.Continues, previous)
	}
}
