package workflows_test

import (
	"fmt"
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

// A session goes on while the ledger of a tool does not answer: the calls of other tools are made,
// and the clients of those that wait have their status.
func TestLedgerWait_HoldsUpNoOtherToolOfASession(t *testing.T) {
	l := newLab(t)
	began := l.Now()
	l.silent = func(r api.AdmissionRequest) bool {
		return r.Calls[0].Tool == "store" && l.Now().Sub(began) < time.Minute
	}
	store := api.SessionCall{Tool: "store", Arguments: `{"text":"x"}`, Wait: minute}
	for i, tool := range []string{"store", "store", "greet", "store"} {
		c := store
		c.ID = fmt.Sprint(i)
		if tool == "greet" {
			c.Tool, c.Arguments = tool, `{"name":"a"}`
		} else {
			c.Key, c.Wait = c.ID, 0
		}
		u := l.submit(time.Duration(i)*time.Second, c)
		want := fmt.Sprintf("%d running", i)
		if tool == "greet" {
			want = `2 ended "hello a "`
		}
		t.Cleanup(func() { same(t, "call "+c.ID, text(u.status(t)), want) })
	}
	l.ExecuteWorkflow(api.SessionWorkflow, inSession())
	l.result()
	expect(t, "executed", l.executed, []string{"2 greet", "0 store", "1 store", "3 store"})
}

// A plan goes on while the ledger of one of its calls does not answer: a call that was approved
// meanwhile is made.
func TestLedgerWait_HoldsUpNoOtherCallOfAPlan(t *testing.T) {
	l := newGuardedLab(t)
	began := l.Now()
	l.silent = func(r api.AdmissionRequest) bool {
		return r.Calls[0].ID == "c" && l.Now().Sub(began) < 4*time.Minute
	}
	l.decide(time.Minute, approve("a", "ada"))
	l.runPlan(`
calls:
  - {id: a, tool: pay, arguments: {value: 1}}
  - {id: b, tool: echo, arguments: {value: 2}}
  - {id: c, tool: echo, arguments: {value: "${b}"}}`)
	l.result()
	expect(t, "executed", l.executed, []string{"b echo", "a pay", "c echo"})
}
