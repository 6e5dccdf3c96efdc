package terminal

import (
	"strings"
	"testing"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit"
	"github.com/switchyard/switchyard/starter/cli"
)

// Details of a failure and notes of any call are below its line, once. Running calls show their
// progress.
func TestTracker_ShowsDetailsAndProgress(t *testing.T) {
	tr := Tracker{Palette: cli.Palette{}}
	tr.calls = []*callRow{{id: "1.1", text: "read()", record: &api.Record{CallID: "1.1",
		Status: api.CallFailed,
		Error: &api.Error{Type: api.ErrPreconditionFailed, Message: "changed",
			Details: []string{"$.description is now \x1b[2J"}}}}}
	if got := strings.Join(tr.flush(),
		"\n"); got != "  ✗ 1.1 read() · precondition_failed: changed\n      $.description is now  [2J" {
		t.Errorf("got %q", got)
	}
	tr.calls = []*callRow{{id: "1.2", text: "cart()", record: &api.Record{CallID: "1.2",
		Status: api.CallCompleted,
		Notes:  []string{"a new instance"}, Result: &api.Result{Notes: []string{"cut to 9 bytes",
			"a new instance"}}}}}
	if got := strings.Join(tr.flush(),
		"\n"); got != "  ✓ 1.2 cart()\n      note: a new instance\n      note: cut to 9 bytes" {
		t.Errorf("got %q", got)
	}
	fault := &api.Error{Type: api.ErrInvalidExecutionPlan, Message: "no plan"}
	for range maxProblems + 2 {
		fault.Problems = append(fault.Problems, api.Problem{Path: "$.execution_plan",
			Rule: "required", Message: "write\none"})
	}
	tr.calls = []*callRow{{id: "1.3", text: "pay()", record: &api.Record{CallID: "1.3",
		Status: api.CallRefused, Error: fault}}}
	if got := strings.Join(tr.flush(),
		"\n"); got != "  ✗ 1.3 pay() · invalid_execution_plan: no plan"+
		strings.Repeat("\n      $.execution_plan: write one", maxProblems)+"\n      and 2 more" {
		t.Errorf("got %q", got)
	}
	for want, p := range map[string]api.Progress{
		"37 of 100 · pages": {Done: 37, Total: 100, Message: "pages"},
		"0.5":               {Done: 0.5},
	} {
		if got := strings.Join(tr.RunningParts(audit.Running{Kind: audit.KindCall,
			State: audit.StateRunning, Progress: &p}, time.Time{}), " · "); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
