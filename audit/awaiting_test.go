package audit

import (
	"testing"

	"github.com/switchyard/switchyard/audit/history"
)

// A run waits for people only if it is running otherwise. All reasons are listed.
func TestStatusText_NamesWhatARunWaitsFor(t *testing.T) {
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
		got := StatusText(test.status, ListAwaited(test.approvals, test.questions))
		if got != test.want {
			t.Errorf("%+v: %q", test, got)
		}
	}
}
