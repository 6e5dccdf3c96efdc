package terminal

import (
	"strings"
	"testing"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/starter/clitest"
)

// Without a terminal a failed attempt is a line, and a direct call notes it.
func TestFailedAttempts_AreToldWithoutATerminal(t *testing.T) {
	t.Parallel()
	failed := api.Event{Type: api.EventAttemptFailed, Time: clitest.At(0), WorkflowID: "demo-1",
		CallID: "1.1", Tool: "pay", Failure: "connection reset",
		Timing: &api.Timing{Lane: "serial", Attempts: 2}}
	var out, notes strings.Builder
	for _, v := range []View{&PlainView{Out: &out},
		NewQuietView(SubAgentNotes{Notes: &notes})} {
		if err := v.Event(failed); err != nil {
			t.Fatal(err)
		}
	}
	const line = "2026-05-04T12:00:00.000Z - attempt_failed call=1.1 tool=pay lane=serial " +
		`attempts=2 failure="connection reset"` + "\n"
	if out.String() != line {
		t.Errorf("got %q, want %q", out.String(), line)
	}
	const note = "starter: attempt 2 of pay failed: connection reset\n"
	if notes.String() != note {
		t.Errorf("got %q, want %q", notes.String(), note)
	}
}
