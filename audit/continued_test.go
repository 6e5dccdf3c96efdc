package audit_test

import (
	"os"
	"testing"

	"github.com/switchyard/switchyard/audit"
)

// TestContinued proves that a run that goes on with an earlier run of its conversation tells which one, in brief and at its end.
func TestContinued(t *testing.T) {
	file, err := os.Open("../workflows/testdata/histories/agent_conversation.json")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	history, err := audit.ReadHistory(file)
	if err != nil {
		t.Fatal(err)
	}
	d := audit.NewDeriver("", "")
	events := derive(t, d, history)
	told := d.Summary().Continues
	if told == nil || told.WorkflowID != "agent_conversation" || told.RunID == "" {
		t.Fatalf("got %+v", told)
	}
	if last := events[len(events)-1]; last.Continues == nil || *last.Continues != *told {
		t.Errorf("the end tells of %+v, want %+v", last.Continues, told)
	}
}
