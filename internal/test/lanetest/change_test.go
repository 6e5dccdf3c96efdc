package lanetest

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/test/histories"
	"github.com/switchyard/switchyard/internal/test/witness"
)

// A higher limit in lanes.yaml lets more calls run. A lower one is not exceeded after the holders
// report it.
func TestEdit_TakesEffectWithoutARestart(t *testing.T) {
	t.Parallel()
	limit := func(n int) string { return fmt.Sprintf("lanes: {lane: {limit: %d}}", n) }
	l := newLab(t, limit(1), toolSpec{name: "work", lane: "lane"})
	l.worker()
	l.worker()
	slots := func() (sum int) {
		for _, s := range l.slots("lane") {
			sum += s.Slots
		}
		return sum
	}
	hosted := l.plan("waiting", many(6, "work", order{Gate: "end"})...)
	l.began("waiting")
	l.awaitWaiting("lane", 5)
	l.configure(limit(3))
	// The running call keeps its slot until it ends, and may be the last that uses the old groups
	// of slots.
	l.Open("end")
	l.result(hosted)
	l.until("for three slots", func() bool { return slots() == 3 })
	full := l.plan("full", many(6, "work", order{Gate: "full"})...)
	l.await("for three calls at once",
		func(s []witness.Span) bool { return len(of(s, "full")) == 3 })
	l.Open("full")
	l.result(full)

	flow := l.plan("flow", many(300, "work", order{MS: 10})...)
	l.await("for calls to flow", func(s []witness.Span) bool { return len(of(s, "flow")) > 10 })
	l.configure(limit(1))
	l.until("for one slot", func() bool { return slots() == 1 })
	narrow := l.Now()
	rest := l.plan("rest", many(40, "work", order{MS: 10})...)
	l.result(flow)
	l.result(rest)
	spans, _ := l.Spans()
	l.report(witness.Excesses(spans, limits(map[string]int{"lane": 3})))
	after := slices.DeleteFunc(spans, func(s witness.Span) bool { return s.Ended < narrow })
	if len(after) < 40 {
		t.Fatalf("%d calls ran after the limit was one", len(after))
	}
	l.report(witness.Excesses(after, limits(map[string]int{"lane": 1})))
}

// executions returns how many executions the keeper of a lane has had.
func (l *lab) executions(lane string) int {
	l.t.Helper()
	id := api.LaneWorkflowID(base, lane)
	described, err := l.Client.DescribeWorkflowExecution(l.ctx, id, "")
	if err != nil {
		l.t.Fatal(err)
	}
	chain, err := histories.Fetch(l.ctx, l.Client, id,
		described.GetWorkflowExecutionInfo().GetFirstRunId())
	if err != nil {
		l.t.Fatal(err)
	}
	return len(chain)
}

// Workers with different files restart in turn. Each one divides the lane anew, in another
// execution of its keeper; no slot has two holders meanwhile.
func TestRestartsInTurn_NeverAssignASlotTwice(t *testing.T) {
	t.Parallel()
	l := newLab(t, "lanes: {lane: {limit: 1, lease: 3s}}", toolSpec{name: "work", lane: "lane"})
	l.write("other.yaml", "lanes: {lane: {limit: 1, lease: 4s}}")
	worker := l.worker()
	flow := l.plan("flow", many(400, "work", order{MS: 20})...)
	for n, file := range []string{"other.yaml", "lanes.yaml", "other.yaml", "lanes.yaml"} {
		next := l.worker("--lanes-file", filepath.Join(l.dir, file))
		l.until("for another execution", func() bool { return l.executions("lane") == n+2 })
		spans, _ := l.Spans()
		ran := len(spans)
		l.await("for calls after the restart", func(s []witness.Span) bool { return len(s) > ran+10 })
		worker.Stop()
		worker = next
	}
	l.result(flow)
	spans, _ := l.Spans()
	l.report(witness.Excesses(spans, limits(map[string]int{"lane": 1})))
	l.report(witness.Regressions(spans))
}

// Two shared calls overlap, and an exclusive call runs alone after them.
func TestAccess_OrdersCallsOfATurn(t *testing.T) {
	t.Parallel()
	l := newLab(t, "lanes: {lane: {limit: 4}}", toolSpec{name: "short", lane: "lane"},
		toolSpec{name: "long", lane: "lane"},
		toolSpec{name: "alone", lane: "lane", access: "exclusive"})
	l.worker()
	l.worker()
	l.hosted("lane", 4)
	run := l.start("run", api.RunInput{Agent: agent(api.ScriptStep{Calls: []api.ScriptCall{
		scriptCall("short", order{MS: 1000}), scriptCall("long", order{MS: 1500}),
		scriptCall("alone", order{MS: 50})}})})
	l.result(run)
	spans, _ := l.Spans()
	if len(spans) != 3 || spans[2].Tool != "alone" {
		t.Fatalf("these ran:\n%s", witness.List(spans))
	}
	for _, s := range spans[:2] {
		if s.Ended > spans[2].Began {
			t.Errorf("the exclusive call overlaps another:\n%s", witness.List(spans))
		}
	}
	if spans[1].Began > spans[0].Ended {
		t.Errorf("the shared calls do not overlap:\n%s", witness.List(spans))
	}
}
