package e2e

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit"
	"github.com/switchyard/switchyard/internal/test/testserver"
)

// Each worker runs one call at a time, and two calls of a turn overlap.
func TestTwoWorkers_ShareARun(t *testing.T) {
	l := newLab(t)
	l.worker("--concurrency", "1")
	l.worker("--concurrency", "1")
	run := l.runAgent("run", agent(step(call("meet", `{"lines":2}`), call("meet", `{"lines":2}`)),
		answer("done")))
	if r := l.result(run); r.Answer != "done" || r.Usage.Failed != 0 {
		t.Errorf("result: %+v", r)
	}
	entries := l.entries()
	if len(entries) != 2 || entries[0].PID == entries[1].PID {
		t.Errorf("journal: %v, want two processes", entries)
	}
}

// A call waits visibly while no worker serves its lane, and runs on the worker that starts to serve
// it.
func TestLanes_AreServedByTheirWorkers(t *testing.T) {
	l := newLab(t)
	l.worker("--lanes", "general")
	run := l.runAgent("run", agent(step(call("store", `{"text":"a"}`),
		call("append", `{"text":"b"}`)), answer("done")))
	l.await("for a call that waits for its lane", func() bool {
		pending, err := audit.Pending(l.ctx, l.Client, "run", "")
		return err == nil && slices.ContainsFunc(pending, func(r audit.Running) bool {
			return r.ID == "1.1" && r.Lane == api.LaneSerial && r.State == audit.StateWaiting
		}) && len(l.entries()) == 1
	})
	serial := l.worker("--lanes", "serial")
	l.result(run)
	entries := l.entries()
	if len(entries) != 2 || entries[0].Tool != "append" || entries[1].Tool != "store" ||
		entries[1].PID == entries[0].PID {
		t.Errorf("journal: %v", entries)
	}
	for _, r := range l.records(run) {
		if want := map[string]string{"store": "serial",
			"append": "general"}[r.Tool]; r.Lane != want {
			t.Errorf("%s ran on the lane %s, want %s", r.Tool, r.Lane, want)
		}
	}
	if code := serial.Stop(); code != 0 {
		t.Errorf("the serial worker ended with %d", code)
	}
}

// stopping asks a worker to stop and returns after it logged that; the channel receives its exit
// code.
func (l *lab) stopping(p *testserver.Process) <-chan int {
	l.t.Helper()
	code := make(chan int, 1)
	go func() { code <- p.Stop() }()
	l.await("for the worker to stop", func() bool {
		log, err := os.ReadFile(p.Log)
		return err == nil && strings.Contains(string(log), "worker stopping")
	})
	return code
}

// A stopping worker finishes its call and takes no other. The next worker continues, and nothing is
// executed twice.
func TestStop_FinishesRunningCalls(t *testing.T) {
	l := newLab(t)
	first := l.worker()
	run := l.runAgent("run", agent(step(call("hold_once", `{}`)),
		step(call("append", `{"text":"after"}`)), answer("done")))
	l.awaitEntries(1)
	code := l.stopping(first)
	l.openGate()
	if c := <-code; c != 0 {
		t.Errorf("exit code %d", c)
	}
	if n := len(l.entries()); n != 1 {
		t.Errorf("the stopping worker went on to %d calls", n)
	}
	l.worker()
	if r := l.result(run); r.Answer != "done" || r.Usage.Failed != 0 {
		t.Errorf("result: %+v", r)
	}
	if got := fmt.Sprint(l.executions()); got != "map[1.1 hold_once:1 2.1 append:1]" {
		t.Errorf("executions: %s", got)
	}
}

// A call that must not run twice ends as outcome_unknown; one that may is retried on the next
// worker.
func TestStop_EndsCallsAfterTheTimeout(t *testing.T) {
	l := newLab(t)
	first := l.worker("--stop-timeout", "300ms")
	run := l.runAgent("run", agent(step(call("hold_once", `{}`), call("hold_read", `{}`)),
		answer("done")))
	l.awaitEntries(2)
	if c := <-l.stopping(first); c != 0 {
		t.Errorf("exit code %d", c)
	}
	l.openGate()
	l.worker()
	l.result(run)
	statuses := slices.Sorted(slices.Values(l.statuses(run)))
	expect(t, "records", statuses, []string{"1.1 hold_once failed outcome_unknown",
		"1.2 hold_read completed"})
	for _, r := range l.records(run) {
		// If the worker did not report the calls, the heartbeat timeout would give the same
		// statuses.
		failure := r.LastFailure
		if r.Error != nil {
			failure = r.Error.Message
		}
		if failure != "the call was interrupted while the tool ran: the worker stopped, and the "+
			"call did not end within --stop-timeout 300ms" {
			t.Errorf("the stopped worker did not report %s: %q", r.CallID, failure)
		}
	}
	if got := fmt.Sprint(l.executions()); got != "map[1.1 hold_once:1 1.2 hold_read:2]" {
		t.Errorf("executions: %s", got)
	}
}

// The run fails at once with the missing and the existing tools, and runs nothing.
func TestMissingTools_FailTheRun(t *testing.T) {
	l := newLab(t)
	l.workerIn(nil)
	a := agent(step(call("append", `{"text":"a"}`)), answer("done"))
	a.Tools = []string{"append", "calculater"}
	app := l.failure(l.runAgent("run", a), api.RunInvalid)
	if app.Message() != `nothing was run: $.tools[0]: no worker's catalog has a tool "append"; $.tools[1]: no worker's catalog has a tool "calculater"; did you mean calculator?` {
		t.Errorf("message %q", app.Message())
	}
	if n := len(l.entries()); n != 0 {
		t.Errorf("%d calls ran", n)
	}
}

// Requirement S1 and the serial lane, on a real worker, by one monotonic clock: exclusive calls of
// a run overlap no call of their lane, calls of the serial lane of any runs never overlap, and
// shared calls do overlap.
func TestExclusiveCalls_RunAlone(t *testing.T) {
	l := newLab(t)
	l.worker()
	mixed := step(call("tick", `{"ms":40}`), call("tick", `{"ms":40}`),
		call("tick_serial", `{"ms":20}`), call("tick_alone", `{"ms":10}`),
		call("tick_serial", `{"ms":10}`), call("tick", `{"ms":30}`), call("tick", `{"ms":30}`),
		call("tick_alone", `{"ms":5}`))
	one := l.runAgent("one", agent(mixed, mixed, answer("done")))
	two := l.runAgent("two", agent(mixed, mixed, answer("done")))
	l.result(one)
	l.result(two)
	entries := l.entries()
	if len(entries) != 32 {
		t.Fatalf("%d calls ran, want 32", len(entries))
	}
	shared := 0
	for i, a := range entries {
		for _, b := range entries[:i] {
			if a.Start >= b.End || b.Start >= a.End {
				continue
			}
			switch serial := a.Tool == "tick_serial" && b.Tool == "tick_serial"; {
			case serial, a.Run == b.Run && sameLane(a, b) && (a.Tool == "tick_alone" ||
				b.Tool == "tick_alone"):
				t.Errorf("these overlap: %+v and %+v", a, b)
			case a.Tool == "tick" && b.Tool == "tick" && a.Run == b.Run:
				shared++
			}
		}
	}
	if shared < 4 {
		t.Errorf("%d pairs of shared calls overlapped, want at least 4", shared)
	}
}

func sameLane(a, b entry) bool { return (a.Tool == "tick_serial") == (b.Tool == "tick_serial") }

// TestMaxConcurrent_HoldsOverAllLanes proves on a real worker that calls of all lanes together do
// not exceed --max-concurrent, and that all of them complete although their lanes would run more.
func TestMaxConcurrent_HoldsOverAllLanes(t *testing.T) {
	l := newLab(t)
	l.worker("--max-concurrent", "2")
	mixed := step(call("tick", `{"ms":40}`), call("tick", `{"ms":40}`),
		call("tick_serial", `{"ms":20}`), call("tick", `{"ms":40}`), call("tick", `{"ms":30}`),
		call("tick_serial", `{"ms":20}`))
	one := l.runAgent("one", agent(mixed, mixed, answer("done")))
	two := l.runAgent("two", agent(mixed, mixed, answer("done")))
	l.result(one)
	l.result(two)
	entries := l.entries()
	if len(entries) != 24 {
		t.Fatalf("%d calls ran, want 24", len(entries))
	}
	pairs := 0
	for i, a := range entries {
		running := 0
		for j, b := range entries {
			if b.Start <= a.Start && a.Start < b.End {
				running++
				if j < i {
					pairs++
				}
			}
		}
		if running > 2 {
			t.Errorf("%d calls run when %+v starts, want at most 2", running, a)
		}
	}
	if pairs == 0 {
		t.Error("no two calls ran at once")
	}
}
