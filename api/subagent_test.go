package api

import (
	"testing"
)

// The workflow id of a sub-agent's run contains the call that it serves.
func TestCallPaths_NameTheCallsOfAllRunsAbove(t *testing.T) {
	if got := CallPath("", "2.1"); got != "2.1" {
		t.Errorf("path of a call of a run of its own: %q", got)
	}
	if got := CallPath(CallPath("2.1", "1.3"), "4.1"); got != "2.1/1.3/4.1" {
		t.Errorf("path of a nested call: %q", got)
	}
	for _, tt := range []struct {
		parent, child, call string
		ok                  bool
	}{
		{"run", ChildWorkflowID("run", "2.1"), "2.1", true},
		{"run/2.1", ChildWorkflowID("run/2.1", "1.3"), "1.3", true},
		{"run", "run/", "", false},
		{"run", "runner/2.1", "", false},
		{"run", "another", "", false},
	} {
		if call, ok := ChildCallID(tt.parent, tt.child); ok != tt.ok || ok && call != tt.call {
			t.Errorf("ChildCallID(%q, %q) = %q, %v", tt.parent, tt.child, call, ok)
		}
	}
}

func TestUsage_AddsSubAgentsExceptTheirTurns(t *testing.T) {
	u := Usage{Turns: 1, Calls: 2, Failed: 1, InputTokens: 10, OutputTokens: 5, Cost: 0.5}
	u.Add(Usage{Turns: 7, Calls: 3, Failed: 2, InputTokens: 20, OutputTokens: 7, Cost: 0.25})
	if want := (Usage{Turns: 1, Calls: 5, Failed: 3, InputTokens: 30, OutputTokens: 12,
		Cost: 0.75}); u != want {
		t.Errorf("got %+v, want %+v", u, want)
	}
}
