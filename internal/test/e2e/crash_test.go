package e2e

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit"
)

// appendTurns returns n turns of one call each, and an answer from the results of the first and the
// last.
func appendTurns(n int) *api.Agent {
	var steps []api.ScriptStep
	for i := range n {
		c := call("append", fmt.Sprintf(`{"text":"line %d"}`, i+1))
		c.ID = fmt.Sprint("c", i+1)
		steps = append(steps, step(c))
	}
	steps = append(steps, answer(fmt.Sprintf("from ${c1.text} to ${c%d.text}", n)))
	return agent(steps...)
}

// After kill -9 of the worker during a run of 50 turns, the answer is that of an undisturbed run,
// every call has one record, and by the tools' journal no completed call was executed again. A
// subscriber that stops and continues repeatedly sees each event once.
func TestKilledWorker_LosesNothing(t *testing.T) {
	l := newLab(t)
	const turns, killAt = 50, 20
	first := l.worker()
	undisturbed := l.result(l.runAgent("undisturbed", appendTurns(turns)))
	before := len(l.entries())

	run := l.runAgent("disturbed", appendTurns(turns))
	checkSubscriber := l.subscriber("disturbed")
	l.awaitEntries(before + killAt)
	first.Kill()
	completed := map[string]bool{}
	for _, r := range l.records(run) {
		completed[r.CallID] = r.Status == api.CallCompleted
	}
	if len(completed) < killAt-1 || len(completed) > turns-1 {
		t.Fatalf("%d calls were made when the worker was killed; that is not the middle",
			len(completed))
	}
	l.worker()
	if got := l.result(run); !reflect.DeepEqual(got, undisturbed) {
		t.Errorf("result: got %+v, want %+v", got, undisturbed)
	}
	if undisturbed.Answer != "from line 1 to line 50" {
		t.Errorf("answer: %q", undisturbed.Answer)
	}
	checkSubscriber()
	count := map[string]int{}
	for _, r := range l.records(run) {
		count[r.CallID]++
		if r.Status != api.CallCompleted {
			t.Errorf("call %s is %s", r.CallID, r.Status)
		}
	}
	executed := map[string]int{}
	for _, e := range l.entries()[before:] {
		executed[e.Call]++
	}
	for turn := range turns {
		id := api.TurnCallID(turn+1, 1)
		if count[id] != 1 {
			t.Errorf("call %s has %d records", id, count[id])
		}
		if executed[id] < 1 || completed[id] && executed[id] != 1 {
			t.Errorf("call %s was executed %d times; completed before the crash: %v", id,
				executed[id], completed[id])
		}
	}
	if len(count) != turns {
		t.Errorf("%d calls have records, want %d", len(count), turns)
	}
	sequence := 0
	for e, err := range audit.Events(l.ctx, l.Client, run.GetID(), "") {
		if sequence++; err != nil || e.Sequence != sequence {
			t.Fatalf("event %d has the number %d, error %v", sequence, e.Sequence, err)
		}
	}
}

// The call of a tool that must not run twice is not repeated, and the model reads that its outcome
// is unknown. A call that may run twice is repeated.
func TestKilledWorker_DuringACall(t *testing.T) {
	for _, test := range []struct {
		tool, answer string
		executions   int
	}{
		{"hold_once", string(api.ErrOutcomeUnknown), 1},
		{"hold_read", "held", 2},
	} {
		t.Run(test.tool, func(t *testing.T) {
			l := newLab(t)
			first := l.worker()
			run := l.runAgent("run", agent(step(call("append", `{"text":"a"}`)),
				step(call(test.tool, `{}`)), answer("done")))
			l.awaitEntries(2)
			first.Kill()
			l.openGate()
			l.worker()
			if r := l.result(run); r.Answer != "done" {
				t.Errorf("result: %+v", r)
			}
			if got := l.executions(); got["1.1 append"] != 1 ||
				got["2.1 "+test.tool] != test.executions {
				t.Errorf("executions: %v", got)
			}
			messages := l.conversation(run)
			if answer := messages[5]; answer.CallID != "2.1" || !strings.Contains(answer.Text,
				test.answer) {
				t.Errorf("the model reads %+v", answer)
			}
			if n := len(l.records(run)); n != 2 {
				t.Errorf("%d records, want 2", n)
			}
		})
	}
}
