package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit"
	"go.temporal.io/sdk/client"
)

// boundedLanes are lanes that refuse calls for load in every way, by name.
var boundedLanes = map[string]string{
	"rejects":    "{limit: 1, strategy: reject}",
	"full":       "{limit: 1, queue_size: 0}",
	"hasty":      "{limit: 1, queue_timeout: 100ms}",
	"hasty_full": "{limit: 1, queue_size: 1, queue_timeout: 100ms}",
	"keyed":      `{limit: 1, strategy: reject, key: "{{args.id}}"}`,
}

// onLane are tools that book and pay, whose undo and verify are calls of the lane.
const onLane = `
name: book_LANE
version: 1.0.0
description: Books.
parameters: [{name: what, type: string, required: true}]
output: {type: object, validation: {properties: [{name: id, type: string, required: true}]}}
entry: {type: function, handler: book}
execution: {effect: once, heartbeat: 1s}
undo: {tool: unbook_LANE, arguments: {id: "{{result.id}}", why: "not needed"}}
---
name: unbook_LANE
version: 1.0.0
description: Takes a booking back.
parameters: [{name: id, type: string, required: true}, {name: why, type: string, required: true}]
entry: {type: function, handler: unbook}
execution: {effect: idempotent, lane: LANE, heartbeat: 1s, timeout: 2m, retry: {initial_interval: 10ms}}
---`

const paidOnLane = `
name: pay_LANE
version: 1.0.0
description: Pays.
parameters: [{name: at_once, type: boolean, required: true}]
output: {type: string}
entry: {type: function, handler: pay}
execution: {effect: once, heartbeat: 1s, timeout: 2s}
verify: {tool: paid_LANE, arguments: {key: "{{call.key}}"}, done: paid, result: receipt}
---
name: paid_LANE
version: 1.0.0
description: Tells whether something was paid under a key.
parameters: [{name: key, type: string, required: true}]
output: {type: object, validation: {properties: [{name: paid, type: boolean, required: true}, {name: receipt, type: string}]}}
entry: {type: function, handler: paid}
execution: {effect: read, lane: LANE, heartbeat: 1s}
---`

// Calls that undo or verify others wait for a slot of their lane, however short its queue is and
// however soon it gives up, and are made when the lane is free.
func TestOwnCalls_AreNotRefusedByABusyLane(t *testing.T) {
	inFull(t)
	l := newLab(t)
	dir := t.TempDir()
	lanes, tools := "lanes:\n", ""
	for name, lane := range boundedLanes {
		lanes += "  " + name + ": " + lane + "\n"
		tools += strings.ReplaceAll(onLane, "LANE", name)
		if name != "keyed" { // the key is an argument of unbook
			tools += strings.ReplaceAll(paidOnLane, "LANE", name)
		}
	}
	l.must(os.Mkdir(filepath.Join(dir, "tools"), 0o700))
	l.writeFile(filepath.Join(dir, "lanes.yaml"), lanes)
	l.writeFile(filepath.Join(dir, "tools", "tools.yaml"), strings.TrimSuffix(tools, "\n---"))
	l.workerIn(nil, "--tools", filepath.Join(dir, "tools"), "--lanes-file",
		filepath.Join(dir, "lanes.yaml"))
	for name := range boundedLanes { // these hold the lanes: they wait for the gate
		l.runCall("holder-"+name, "unbook_"+name, `{"id":"no-hall","why":"it is held"}`)
	}
	l.awaitEntries(len(boundedLanes))
	trips, payments := map[string]client.WorkflowRun{}, map[string]client.WorkflowRun{}
	for name := range boundedLanes {
		trips[name] = l.runAgent("trip-"+name, withTools(agent(step(call("book_"+name,
			`{"what":"hall"}`))), "book_"+name))
		if name != "keyed" {
			payments[name] = l.runCall("payment-"+name, "pay_"+name, `{"at_once":true}`)
		}
	}
	for name := range trips {
		l.awaitWaiting("trip-"+name, "undo-1.1", 300*time.Millisecond)
	}
	for name := range payments {
		l.awaitWaiting("payment-"+name, "verify-1.1", 300*time.Millisecond)
	}
	l.openGate()
	for name, trip := range trips {
		l.failure(trip, api.RunModelFailed)
		expect(t, "records of the trip on "+name, l.statuses(trip), []string{
			"1.1 book_" + name + " completed", "undo-1.1 unbook_" + name + " completed"})
	}
	for name, payment := range payments {
		if r := l.result(payment); string(r.Output) != `"found"` {
			t.Errorf("the payment on %s ended with %+v", name, r)
		}
	}
}

// awaitWaiting waits until a call of a run has been open for d.
func (l *lab) awaitWaiting(run, call string, d time.Duration) {
	l.t.Helper()
	l.await(fmt.Sprint("for ", call, " of ", run, " to wait"), func() bool {
		pending, err := audit.Pending(l.ctx, l.Client, run, "")
		for _, p := range pending {
			if p.ID == call && time.Since(p.Since) > d {
				return err == nil
			}
		}
		return false
	})
}
