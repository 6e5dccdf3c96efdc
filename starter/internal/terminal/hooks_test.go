package terminal

import (
	"strings"
	"testing"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit"
	"github.com/switchyard/switchyard/starter/cli"
)

// Hooks of the run are shown if they run or did more than succeed. Outcomes of hooks of a call are
// shown with the call.
func TestHookOutcomes_AreShown(t *testing.T) {
	failed := api.Event{Type: api.EventHookEnded, Hook: &api.HookAction{Hook: "ledger",
		Point:   api.HookMemoryWrite,
		Outcome: api.HookFailed, Reason: "the store\nis down"}}
	if line := plainLine(failed, cli.Invocation{}); !strings.HasSuffix(line,
		` hook_ended hook=ledger point=memory_write outcome=failed reason="the store is down"`) {
		t.Errorf("got %s", line)
	}
	var tr Tracker
	if lines := tr.event(failed); len(lines) != 1 ||
		lines[0] != "hook ledger for memory_write: failed: the store is down" {
		t.Errorf("got %q", lines)
	}
	done := api.Event{Type: api.EventHookEnded, Hook: &api.HookAction{Hook: "ledger",
		Point: api.HookMemoryWrite, Outcome: api.HookDone}}
	if lines := tr.event(done); len(lines) != 0 {
		t.Errorf("got %q", lines)
	}
	running := audit.Running{Kind: audit.KindHook, ID: "before_run-1", State: audit.StateRunning}
	tr.updateRunning([]audit.Running{running})
	if lines := tr.live(time.Now(), "*", 10); len(lines) != 1 || !strings.HasPrefix(lines[0],
		"* hook before_run-1") {
		t.Errorf("got %q", lines)
	}
	record := api.Record{Notes: []string{"a note"}, Hooks: []api.HookAction{
		{Hook: "guard", Point: api.HookBeforeCall, Outcome: api.HookBlocked,
			Reason: "as the error says"}}}
	if notes := ListNotes(record); strings.Join(notes,
		"|") != "a note|hook guard for before_call: blocked" {
		t.Errorf("got %q", notes)
	}
}
