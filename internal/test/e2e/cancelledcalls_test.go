package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/switchyard/switchyard/api"
)

// cancellable are tools whose calls are cancelled at different places: while they run, in a
// worker's wait queue, on a lane without a worker, within a run of their own, and while they pay.
const cancellable = `name: hold_desk
version: 1.0.0
description: Holds the desk.
entry: {type: function, handler: hold}
execution: {lane: desk, effect: once, heartbeat: 1s, timeout: 1m}
---
name: hold_nowhere
version: 1.0.0
description: Waits on a lane without a worker.
parameters: [{name: what, type: string, required: true}]
entry: {type: function, handler: book}
execution: {lane: nowhere, effect: once, heartbeat: 1s}
undo: {tool: unbook, arguments: {id: "{{call.key}}", why: cancelled}}
---
name: unbook
version: 1.0.0
description: Takes a booking back.
parameters: [{name: id, type: string, required: true}, {name: why, type: string, required: true}]
entry: {type: function}
execution: {effect: idempotent, heartbeat: 1s}
---
name: delegate
version: 1.0.0
description: Writes a line and waits for the gate.
entry: {type: agent, agent: AGENTS/holder.yaml}
execution: {effect: once}
---
name: hold_read
version: 1.0.0
description: Writes a line to the journal and waits for the gate to open. May run twice.
entry: {type: function, handler: hold}
execution: {effect: read, timeout: 1m, heartbeat: 20s}
---
name: hold_once
version: 1.0.0
description: Writes a line to the journal and waits for the gate to open. Must not run twice.
entry: {type: function, handler: hold}
execution: {lane: general, effect: once, timeout: 1m, heartbeat: 20s}
---
name: append
version: 1.0.0
description: Writes a line to the journal.
parameters: [{name: text, type: string, required: true}]
entry: {type: function}
execution: {effect: once, heartbeat: 20s}
---
name: pay
version: 1.0.0
description: Pays, at once or when the gate opens, and answers then.
parameters: [{name: at_once, type: boolean, required: true}]
output: {type: string}
entry: {type: function}
execution: {effect: once, heartbeat: 20s, timeout: 1m}
verify:
  tool: paid
  arguments: {key: "{{call.key}}"}
  done: paid
  result: receipt
  settle_after: 1s
---
name: paid
version: 1.0.0
description: Tells whether something was paid under a key.
parameters: [{name: key, type: string, required: true}]
output: {type: object, validation: {properties: [{name: paid, type: boolean, required: true}, {name: receipt, type: string}]}}
entry: {type: function}
execution: {effect: read, heartbeat: 20s}
`

// cancelling starts a worker with the tools of this file, which serves all of their lanes but one.
func cancelling(l *lab) {
	l.t.Helper()
	dir := l.t.TempDir()
	l.writeFile(filepath.Join(dir, "lanes.yaml"),
		"lanes:\n  desk: {limit: 1, queue_size: 10}\n  nowhere: {}\n")
	agents, err := filepath.Abs("testdata/agents")
	l.must(err)
	l.must(os.Mkdir(filepath.Join(dir, "tools"), 0o700))
	l.writeFile(filepath.Join(dir, "tools", "tools.yaml"), strings.ReplaceAll(cancellable, "AGENTS", agents))
	l.workerIn(nil, "--tools", filepath.Join(dir, "tools"), "--lanes-file",
		filepath.Join(dir, "lanes.yaml"), "--lanes", "general,desk")
}

// A session goes on after one of its calls was cancelled and undoes nothing. A once call of which
// nothing left its worker is cancelled, and its repetition is executed. Any other one is verified
// if its tool can, else its outcome is unknown, and its repetition gets that.
func TestSessionRun_CancelledOnceCallsSayWhetherTheyMayHaveActed(t *testing.T) {
	l := newLab(t)
	cancelling(l)
	holder := l.session("session/desk")
	_, err := holder.Call(l.ctx, api.SessionCall{ID: "holder", Tool: "hold_desk", Arguments: "{}"})
	l.must(err)
	l.awaitEntries(1)
	for _, test := range []struct {
		name, tool, arguments string
		entries               int // that the call writes to the journal before it is cancelled
		want                  string
		notStarted, attached  bool
	}{
		{"runs", "hold_once", "{}", 1, "outcome_unknown", false, true},
		{"in a run of its own", "delegate", "{}", 2, "outcome_unknown", false, true},
		{"in a wait queue", "hold_desk", "{}", 0, "cancelled", true, false},
		{"without a worker", "hold_nowhere", `{"what":"room"}`, 0, "cancelled", true, false},
		{"has paid", "pay", `{"at_once":true}`, 1, `"found"`, false, false},
		{"has not paid", "pay", `{"at_once":false}`, 1, "execution_error", false, false},
	} {
		s, executed := l.session("session/"+test.name), len(l.entries())
		c := api.SessionCall{ID: "c1", Tool: test.tool, Arguments: test.arguments}
		_, err := s.Call(l.ctx, c)
		l.must(err)
		if test.entries > 0 {
			l.awaitEntries(executed + test.entries)
		}
		l.must(s.Cancel(l.ctx, api.CancelCall{ID: "c1", By: "ana", Reason: "too slow"}))
		got := l.made(s, c)
		if outcome(got) != test.want {
			t.Errorf("%s: the call ended with %s: %+v", test.name, outcome(got), got.Outcome.Error)
		}
		if e := got.Outcome.Error; e != nil && e.NotStarted != test.notStarted {
			t.Errorf("%s: not started %t: %+v", test.name, e.NotStarted, e)
		}
		c.ID = "c2"
		again, err := s.Call(l.ctx, c)
		if err != nil || again.Attached != test.attached {
			t.Errorf("%s: the repetition: %+v, %v", test.name, again, err)
		}
		l.must(s.Cancel(l.ctx, api.CancelCall{ID: "c2", By: "ana"}))
		if l.made(s, c); test.attached && len(l.entries()) != executed+test.entries {
			t.Errorf("%s: %d entries, want %d", test.name, len(l.entries())-executed, test.entries)
		}
	}
}

// A worker is killed, and then its call is cancelled: no worker says what the call did.
func TestSessionRun_CancelledCallOfAKilledWorkerHasAnUnknownOutcome(t *testing.T) {
	l := newLab(t)
	first := l.worker()
	s := l.session("session/killed")
	c := api.SessionCall{ID: "c1", Tool: "hold_once", Arguments: "{}"}
	_, err := s.Call(l.ctx, c)
	l.must(err)
	l.awaitEntries(1)
	first.Kill()
	l.openGate()
	l.worker()
	l.must(s.Cancel(l.ctx, api.CancelCall{ID: "c1", By: "ana"}))
	if got := l.made(s, c); outcome(got) != string(api.ErrOutcomeUnknown) {
		t.Errorf("the call ended with %+v", got.Outcome)
	}
	c.ID = "c2"
	if again := l.made(s, c); !again.Attached || len(l.entries()) != 1 {
		t.Errorf("the repetition: %+v, journal %v", again, l.entries())
	}
}

// A cancelled run undoes calls that may have acted. It does not undo a call that no worker took.
func TestUndo_SkipsCancelledCallsThatNoWorkerTook(t *testing.T) {
	l := newLab(t)
	cancelling(l)
	run := l.runAgent("trip", withTools(agent(step(call("hold_nowhere", `{"what":"room"}`),
		call("hold_once", "{}"))), "hold_nowhere hold_once"))
	l.awaitEntries(1)
	l.cancel("trip")
	l.cancelled(run)
	expect(t, "records", l.statuses(run), []string{"1.1 hold_nowhere cancelled cancelled",
		"1.2 hold_once failed outcome_unknown"})
}
