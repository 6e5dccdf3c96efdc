package lanetest

import (
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/test/histories"
	"github.com/switchyard/switchyard/internal/test/testserver"
	"github.com/switchyard/switchyard/internal/test/witness"
	"go.temporal.io/sdk/client"
)

// hosted waits until workers own all groups of a lane.
func (l *lab) hosted(lane string, groups int) {
	l.t.Helper()
	l.until("for the holders of "+lane, func() bool { return len(l.slots(lane)) == groups })
}

// lostBy waits until another process than pid runs a call of the lane, and returns the spans until
// then: first the lost ones, last the call of the next holder.
func (l *lab) lostBy(pid int) []witness.Span {
	l.t.Helper()
	other := func(s witness.Span) bool { return s.PID != pid }
	spans := l.await("for the next holder",
		func(spans []witness.Span) bool { return slices.ContainsFunc(spans, other) })
	return spans[:slices.IndexFunc(spans, other)+1]
}

// A tool that follows its context is cancelled in time; for one that does not, the process ends.
// With on_lost_lease: wait the calls overlap, and the fencing number identifies the newer one.
func TestCutOffWorker_StopsItsCallsBeforeTheNextHolder(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		handler, rule string
		ending        witness.Ending
	}{
		{"work", "exit", witness.Stopped},
		{"stubborn", "exit", witness.Vanished},
		{"stubborn", "wait", witness.Running},
	} {
		t.Run(test.handler+", "+test.rule, func(t *testing.T) {
			t.Parallel()
			// The heartbeat of the calls is so long that it does not stop them.
			l := newLab(t, "lanes: {lane: {limit: 1, lease: 4s, on_lost_lease: "+test.rule+"}}",
				toolSpec{name: "hold", lane: "lane", handler: test.handler, heartbeat: "12s"})
			w := newWire(l)
			first := l.workerAt(w.Address)
			l.hosted("lane", 1)
			l.worker()
			runs := []client.WorkflowRun{l.plan("lost", planCall("c", "hold", order{Gate: "end"}))}
			l.began("lost")
			w.cut()
			cut := l.Now()
			runs = append(runs, l.plan("next", planCall("c", "hold", order{Gate: "end"})))
			spans := l.lostBy(first.PID())
			lost, next := spans[0], spans[len(spans)-1]
			t.Logf("the next holder began %s after the cut", next.Began-cut)
			if lost.PID != first.PID() || lost.Ending != test.ending || lost.Fence >= next.Fence {
				t.Errorf("the lost call and the next:\n%s",
					witness.List([]witness.Span{lost, next}))
			}
			if test.rule == "exit" {
				l.report(witness.Excesses(spans, limits(map[string]int{"lane": 1})))
			}
			if code := 0; test.ending == witness.Vanished {
				if code = first.Stop(); code == 0 {
					t.Error("a worker that ended because it lost its lease ended as if all were well")
				}
			}
			w.heal()
			l.Open("end")
			for _, run := range runs {
				l.result(run)
			}
		})
	}
}

// A worker that is suspended for longer than its lease and wakes up during a call notices it within
// 100 ms, and none of its later writes is accepted. The test does not run in parallel, because it
// measures a delay; neither does TestTakeover_IsQuick.
func TestPausedWorker_NoticesItsLostLease(t *testing.T) {
	l := newLab(t, "lanes: {lane: {limit: 1, lease: 4s}}", toolSpec{name: "write", lane: "lane",
		handler: "write", heartbeat: "1s"})
	first := l.worker()
	l.hosted("lane", 1)
	l.worker()
	l.plan("run", planCall("c", "write", order{MS: 60_000}))
	l.await("for the first write",
		func(s []witness.Span) bool { return len(s) > 0 && s[0].Written > 0 })
	signal := func(s syscall.Signal) {
		if err := syscall.Kill(first.PID(), s); err != nil {
			t.Fatal(err)
		}
	}
	signal(syscall.SIGSTOP)
	spans := l.await("for the next holder's write", func(s []witness.Span) bool {
		return len(s) > 1 &&
			s[1].Written > 0
	})
	written := spans[0].Written
	woken := l.Now()
	signal(syscall.SIGCONT)
	spans = l.await("for the worker to notice",
		func(s []witness.Span) bool { return s[0].Ending != witness.Running })
	if err := l.Client.TerminateWorkflow(l.ctx, "run", "", "end of the test"); err != nil {
		t.Fatal(err)
	}
	stale, newer := spans[0], spans[1]
	if stale.PID != first.PID() || newer.PID == first.PID() || stale.Fence >= newer.Fence {
		t.Errorf("fencing numbers must grow from worker to worker:\n%s", witness.List(spans))
	}
	if stale.Written != written || stale.Refused == 0 || newer.Refused > 0 {
		t.Errorf("after it woke up %d writes of the older holder were accepted and %d refused; of the newer %d were refused:\n%s",
			stale.Written-written, stale.Refused, newer.Refused, witness.List(spans))
	}
	noticed := stale.Over
	if stale.Ending == witness.Vanished && noticed == 0 {
		noticed = stale.Ended
	}
	if after := noticed - woken; noticed == 0 || after > time.Second {
		t.Errorf("the worker noticed %s after it woke up at %s:\n%s", after,
			witness.At(woken), witness.List(spans))
	} else {
		t.Logf("noticed after %s, %d stale writes refused", after, stale.Refused)
	}
}

// stopping asks a worker to stop and returns after it logged that; the channel receives its exit
// code.
func (l *lab) stopping(p *testserver.Process) <-chan int {
	l.t.Helper()
	code := make(chan int, 1)
	go func() { code <- p.Stop() }()
	l.until("for the worker to stop", func() bool {
		log, err := os.ReadFile(p.Log)
		return err == nil && strings.Contains(string(log), "worker stopping")
	})
	return code
}

// lostTasks returns how long a run waited for workflow tasks that timed out. The server can give
// one to a worker that has just been killed or has just stopped to ask for more; it then waits for
// the task's ten seconds, which is no delay of a lane.
func (l *lab) lostTasks(run client.WorkflowRun) (lost time.Duration) {
	l.t.Helper()
	chain, err := histories.Fetch(l.ctx, l.Client, run.GetID(), run.GetRunID())
	if err != nil {
		l.t.Fatal(err)
	}
	for _, e := range chain[0].GetEvents() {
		if timeout := e.GetWorkflowTaskTimedOutEventAttributes(); timeout != nil {
			scheduled := chain[0].GetEvents()[timeout.GetScheduledEventId()-1]
			lost += e.GetEventTime().AsTime().Sub(scheduled.GetEventTime().AsTime())
			l.t.Logf("run %s lost a workflow task", run.GetID())
		}
	}
	return lost
}

// The next worker takes a lane over within five seconds of kill -9, at once after a graceful stop,
// and not before the last call of a stopping worker has ended.
func TestTakeover_IsQuick(t *testing.T) {
	// The leases last four seconds; a graceful handover is much faster.
	const killedWithin, handedWithin = 5 * time.Second, 2 * time.Second
	names := []string{"plain", "line", "keyed"}
	l := newLab(t, `lanes:
  plain: {limit: 1, lease: 4s}
  line: {limit: 1, lease: 4s, queue_size: 5}
  keyed: {limit: 1, lease: 4s, key: "{{args.key}}"}
`,
		toolSpec{name: "plain", lane: "plain"}, toolSpec{name: "line", lane: "line"},
		toolSpec{name: "keyed", lane: "keyed"})
	next := func(run string) (map[string]witness.Span, time.Duration) {
		t.Helper()
		var calls []api.PlanCall
		for _, name := range names {
			calls = append(calls, planCall(name, name, order{MS: 1, Key: "k"}))
		}
		plan := l.plan(run, calls...)
		l.result(plan)
		spans, _ := l.Spans()
		of := map[string]witness.Span{}
		for _, s := range spans {
			if s.Run == run {
				of[s.Call] = s
			}
		}
		return of, l.lostTasks(plan)
	}
	within := func(what string, from, most time.Duration, not int, spans map[string]witness.Span) {
		t.Helper()
		for _, name := range names {
			s := spans[name]
			t.Logf("%s: the next call on %s began after %s", what, name, s.Began-from)
			if s.PID == not || s.Began-from > most {
				t.Errorf("%s at %s: the next call began %s later:\n    %s", what, witness.At(from),
					s.Began-from, s)
			}
		}
	}
	first := l.worker()
	next("first")
	second := l.worker()
	killed := l.Now()
	first.Kill()
	spans, lost := next("after a kill")
	within("kill -9", killed+lost, killedWithin, first.PID(), spans)

	third := l.worker()
	stopped := l.Now()
	code := l.stopping(second)
	spans, lost = next("after a stop")
	within("graceful stop", stopped+lost, handedWithin, second.PID(), spans)
	if c := <-code; c != 0 {
		t.Errorf("the stopped worker ended with %d", c)
	}

	l.worker()
	l.plan("busy", planCall("c", "plain", order{Gate: "end"}))
	busy := l.began("busy")
	if busy.PID != third.PID() {
		t.Fatalf("the call does not run on the holder, pid %d: %s", third.PID(), busy)
	}
	code = l.stopping(third)
	waits := l.plan("waits", planCall("c", "plain", order{}))
	l.awaitWaiting("plain", 1)
	l.Open("end")
	l.result(waits)
	if c := <-code; c != 0 {
		t.Errorf("the stopped worker ended with %d", c)
	}
	ended, _ := l.Spans()
	busy, late := of(ended, "busy")[0], of(ended, "waits")[0]
	if late.Began < busy.Ended || late.Began-busy.Ended > handedWithin {
		t.Errorf("the next call began %s after the last one of the worker that stopped:\n%s",
			late.Began-busy.Ended, witness.List([]witness.Span{busy, late}))
	}
	l.report(witness.Excesses(ended, limits(map[string]int{"plain": 1, "line": 1, "keyed": 1})))
	l.report(witness.Regressions(ended))
}
