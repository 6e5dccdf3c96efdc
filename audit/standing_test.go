package audit

import "testing"

// TestStanding proves that a run is said to wait for people only where it would be running, and for all that it waits for.
func TestStanding(t *testing.T) {
	for _, test := range []struct {
		status               RunStatus
		approvals, questions bool
		want                 string
	}{
		{RunRunning, false, false, "running"},
		{RunRunning, true, false, "waits for approval"},
		{RunRunning, false, true, "waits for an answer"},
		{RunRunning, true, true, "waits for approval and an answer"},
		{RunPaused, true, true, "paused"},
		{RunTimedOut, false, false, "timed_out"},
	} {
		if got := StatusText(test.status, Awaiting(test.approvals, test.questions)); got != test.want {
			t.Errorf("%+v: %q", test, got)
		}
	}
}
