package audit_test

import (
	"testing"

	"github.com/switchyard/switchyard/audit/history"
)

// TestContinued proves that a run that goes on with an earlier run of its conversation tells which
// one, in brief and at its end.
func TestContinued(t *testing.T) {
	d := history.NewDeriver("", "")
	events := derive(t, d, replayedHistory(t, "agent_conversation"))
	told := d.Summary().Continues
	if told == nil || told.WorkflowID != "agent_conversation" || told.RunID == "" {
		t.Fatalf("got %+v", told)
	}
	if last := events[len(events)-1]; last.Continues == nil || *last.Continues != *told {
		t.Errorf("the end tells of %+v, want %+v", last.Continues, told)
	}
}
