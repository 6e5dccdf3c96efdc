package lanetest

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/switchyard/switchyard/api"
	"go.temporal.io/sdk/client"
)

// The keys of a lane are served from their first use until they have been idle for the lane's
// timeout, and again when they are used again.
func TestKeys_AreServedUntilIdle(t *testing.T) {
	t.Parallel()
	l := newLab(t, `lanes: {device: {limit: 1, idle_timeout: 1s, key: "{{args.key}}"}}`,
		tool{name: "touch", lane: "device"})
	l.worker()
	l.worker()
	used := []string{"pixel 7", "lab/3", "ünïcode", "plain"}
	for _, round := range []string{"first", "second"} {
		var calls []api.PlanCall
		for i, key := range used {
			calls = append(calls, planCall(fmt.Sprint("c", i), "touch",
				order{Key: key, Gate: round}))
		}
		run := l.plan(round, calls...)
		l.await("for every key's call",
			func(s []Span) bool { return len(of(s, round)) == len(used) })
		l.until("for the holders to report the keys",
			func() bool { return l.total("device").Keys == len(used) })
		l.Open(round)
		l.result(run)
		l.until("for idle keys to be closed", func() bool {
			return len(l.slots("device")) > 0 &&
				l.total("device").Keys == 0
		})
	}
	spans, _ := l.Spans()
	if lanes := Peaks(spans); len(lanes) != len(used) {
		t.Errorf("%d keys had these lanes: %v", len(used), lanes)
	}
	l.report(Regressions(spans))
}

// A call that starts later than the key's idle timeout after its admission finds its key served: a
// second attempt, and a call of a plan that waits for another.
func TestKeys_OfLateAttemptsAreServed(t *testing.T) {
	t.Parallel()
	l := newLab(t, `lanes: {device: {limit: 1, idle_timeout: 1s, key: "{{args.key}}"}}`,
		tool{name: "flaky", lane: "device", handler: "flaky"}, tool{name: "touch", lane: "device"},
		tool{name: "long", lane: "general"})
	l.worker()
	again := l.plan("again", planCall("c", "flaky", order{Key: "a", MS: 3000}))
	waits := planCall("late", "touch", order{Key: "b"})
	waits.DependsOn = []string{"long"}
	after := l.plan("after", planCall("long", "long", order{MS: 3000}), waits)
	for _, run := range []client.WorkflowRun{again, after} {
		l.result(run)
	}
	spans, _ := l.Spans()
	if attempts := of(spans, "again"); len(attempts) != 2 ||
		attempts[1].Began-attempts[0].Ended < 2*time.Second {
		t.Errorf("the call that fails once was executed:\n%s", List(attempts))
	}
}

// A higher limit in lanes.yaml lets more calls run. A lower one is not exceeded after the holders
// report it.
func TestEdit_TakesEffectWithoutARestart(t *testing.T) {
	t.Parallel()
	limit := func(n int) string { return fmt.Sprintf("lanes: {lane: {limit: %d}}", n) }
	l := newLab(t, limit(1), tool{name: "work", lane: "lane"})
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
	l.await("for three calls at once", func(s []Span) bool { return len(of(s, "full")) == 3 })
	l.Open("full")
	l.result(full)

	flow := l.plan("flow", many(300, "work", order{MS: 10})...)
	l.await("for calls to flow", func(s []Span) bool { return len(of(s, "flow")) > 10 })
	l.configure(limit(1))
	l.until("for one slot", func() bool { return slots() == 1 })
	narrow := l.Now()
	rest := l.plan("rest", many(40, "work", order{MS: 10})...)
	l.result(flow)
	l.result(rest)
	spans, _ := l.Spans()
	l.report(Excesses(spans, limits(map[string]int{"lane": 3})))
	after := slices.DeleteFunc(spans, func(s Span) bool { return s.Ended < narrow })
	if len(after) < 40 {
		t.Fatalf("%d calls ran after the limit was one", len(after))
	}
	l.report(Excesses(after, limits(map[string]int{"lane": 1})))
}

// Two shared calls of 5 and 30 units overlap, and an exclusive call of 1 unit runs alone after
// them, so all end after 31.
func TestAccess_OrdersCallsOfATurn(t *testing.T) {
	t.Parallel()
	const unit = 50 // milliseconds
	l := newLab(t, "lanes: {lane: {limit: 4}}", tool{name: "short", lane: "lane"},
		tool{name: "long", lane: "lane"},
		tool{name: "alone", lane: "lane", access: "exclusive"})
	l.worker()
	l.worker()
	l.hosted("lane", 4)
	run := l.start("run", api.RunInput{Agent: agent(api.ScriptStep{Calls: []api.ScriptCall{
		scriptCall("short", order{MS: 5 * unit}), scriptCall("long", order{MS: 30 * unit}),
		scriptCall("alone", order{MS: unit})}})})
	l.result(run)
	spans, _ := l.Spans()
	if len(spans) != 3 || spans[2].Tool != "alone" {
		t.Fatalf("these ran:\n%s", List(spans))
	}
	for _, s := range spans[:2] {
		if s.Ended > spans[2].Began {
			t.Errorf("the exclusive call overlaps another:\n%s", List(spans))
		}
	}
	if units := float64(spans[2].Ended-spans[0].Began) / float64(
		unit*time.Millisecond); units < 31 || units > 36 {
		t.Errorf("the run took %.1f units, want 31:\n%s", units, List(spans))
	} else {
		t.Logf("the run took %.1f units", units)
	}
}
