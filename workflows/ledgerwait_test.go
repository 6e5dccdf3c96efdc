package workflows_test

import (
	"testing"
	"time"

	"github.com/switchyard/switchyard/api"
)

// A call whose ledger does not answer waits by a timer of its run and is admitted later. Only the
// last admission, after five minutes, refuses calls.
func TestLedgerWait_CallsWaitForTheirLedger(t *testing.T) {
	for name, test := range map[string]struct {
		silent    int
		wait      time.Duration
		last      bool
		cancelled bool
	}{
		"it answers at once":   {},
		"it lags":              {silent: 3, wait: 7 * time.Second},
		"it is away":           {silent: 1000, wait: 5 * time.Minute, last: true},
		"the run is cancelled": {silent: 1000, wait: 10 * time.Second, cancelled: true},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t)
			asked, last := 0, false
			l.silent = func(r api.AdmissionRequest) bool {
				asked++
				last = r.Final
				return !last && asked <= test.silent
			}
			if test.cancelled {
				l.RegisterDelayedCallback(l.CancelWorkflow, test.wait)
			}
			began := l.Now()
			l.runPlan(`{"calls": [{"id": "a", "tool": "echo", "arguments": {"value": 1}}]}`)
			waited := l.Now().Sub(began)
			if waited < test.wait || waited > test.wait+time.Minute || last != test.last {
				t.Errorf("it waited %v, and the last admission was final: %v", waited, last)
			}
			if made := len(l.executed) == 1; made == test.cancelled ||
				(l.GetWorkflowError() != nil) != test.cancelled {
				t.Errorf("executed %v, %v", l.executed, l.GetWorkflowError())
			}
		})
	}
}
