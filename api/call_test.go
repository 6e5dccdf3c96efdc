package api

import (
	"encoding/json"
	"testing"
)

func TestResultForModel_AppendsNotes(t *testing.T) {
	r := Result{Output: json.RawMessage(`{"n": 1}`)}
	if got := r.ForModel(); got != `{"n":1}` {
		t.Errorf("without notes: %q", got)
	}
	r.Notes = []string{"cut at 8 KB", "deprecated"}
	if got, want := r.ForModel(), "{\"n\":1}\n[note: cut at 8 KB; deprecated]"; got != want {
		t.Errorf("with notes: %q, want %q", got, want)
	}
}

// They are activity ids in histories and keys in other systems.
func TestCallIDs_AreFrozen(t *testing.T) {
	for got, want := range map[string]string{
		TurnCallID(3, 1):               "3.1",
		TurnStepID(12):                 "turn-12",
		SummaryStepID:                  "summary",
		IdempotencyKey("run-1", "3.1"): "run-1/3.1",
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
