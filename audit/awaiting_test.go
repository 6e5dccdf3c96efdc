package audit

import (
	"testing"

	"github.com/switchyard/switchyard/audit/history"
)

// TestStanding proves that a run is said to wait for people only where it would be running, and
// for all that it waits for.
func TestStatusText(t *testing.T) {
	for _, test := range []struct {
		status               history.RunStatus
		approvals, questions bool
		want                 string
	}{
		{history.RunRunning, false, false, "running"},
		{history.RunRunning, true, false, "waits for approval"},
		{history.RunRunning, false, true, "waits for an answer"},
		{history.RunRunning, true, true, "waits for approval and an answer"},
		{history.RunPaused, true, true, "paused"},
		{history.RunTimedOut, false, false, "timed_out"},
	} {
		got := StatusText(test.status, Awaiting(test.approvals, test.questions))
		if got != test.want {
			t.Errorf("%+v: %q", test, got)
		}
	}
}
