package lanetest

import (
	"cmp"
	"fmt"
	"slices"
	"testing"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/lanerules"
	"github.com/switchyard/switchyard/internal/test/witness"
)

// ordered are the two kinds of lanes that keep waiting calls in order: at the server, and with the
// holder.
const ordered = `lanes:
  server: {limit: 1}
  holder: {limit: 1, queue_size: 1000}
  server_fifo: {limit: 1, strategy: fifo}
  holder_fifo: {limit: 1, queue_size: 1000, strategy: fifo}
`

// eachOrder runs a test on a busy lane of each kind: one call has the lane's slot until release is
// called.
func eachOrder(t *testing.T, suffix string,
	test func(l *lab, lane string, release func() []witness.Span)) {
	for _, lane := range []string{"server" + suffix, "holder" + suffix} {
		t.Run(lane, func(t *testing.T) {
			t.Parallel()
			l := newLab(t, ordered, toolSpec{name: "work", lane: lane})
			l.worker()
			busy := l.plan("busy", planCall("c", "work", order{Gate: "end"}))
			l.began("busy")
			test(l, lane, func() []witness.Span {
				l.Open("end")
				l.result(busy)
				spans, _ := l.Spans()
				return spans
			})
			spans, _ := l.Spans()
			l.report(witness.Excesses(spans, limits(map[string]int{lane: 1})))
		})
	}
}

// withPriority returns a run with a priority.
func withPriority(p api.Priority, in api.RunInput) api.RunInput {
	in.Priority = p
	return in
}

// An urgent call that arrives last runs before a hundred waiting low ones, and the calls of a plan
// run in the order of their priorities.
func TestPriority_RunsUrgentCallsFirst(t *testing.T) {
	eachOrder(t, "", func(l *lab, lane string, release func() []witness.Span) {
		low := l.start("low", withPriority(api.PriorityLow, planOf(many(100, "work", order{})...)))
		l.awaitWaiting(lane, 100)
		var calls []api.PlanCall
		for i, c := range many(12, "work", order{}) {
			c.Priority = api.Priorities[3-i%3] // low, normal and high
			calls = append(calls, c)
		}
		mixed := l.plan("mixed", calls...)
		l.awaitWaiting(lane, 112)
		urgent := l.start("urgent", withPriority(api.PriorityUrgent,
			planOf(planCall("u", "work", order{}))))
		l.awaitWaiting(lane, 113)
		release()
		l.result(urgent)
		l.result(mixed)
		l.result(low)
		spans, _ := l.Spans()
		level := func(s witness.Span) int {
			switch i := slices.IndexFunc(calls,
				func(c api.PlanCall) bool { return c.ID == s.Call }); {
			case s.Run == "low":
				return lanerules.PriorityLevel(api.PriorityLow)
			case s.Run == "mixed":
				return lanerules.PriorityLevel(calls[i].Priority)
			}
			return lanerules.PriorityLevel(api.PriorityUrgent)
		}
		if !slices.IsSortedFunc(spans[1:], func(a, b witness.Span) int {
			return cmp.Compare(level(a),
				level(b))
		}) {
			l.t.Errorf("one urgent call, then 4 high, 4 normal and 104 low ones should have run:\n%s",
				witness.List(spans[1:20]))
		}
	})
}

// A conversation with hundreds of waiting calls does not delay five of another one.
func TestFairness_InterleavesConversations(t *testing.T) {
	eachOrder(t, "", func(l *lab, lane string, release func() []witness.Span) {
		n := 500
		if lane == "holder" {
			n = 150 // each of those that wait with a holder has a heartbeat of its own
		}
		in := planOf(many(n, "work", order{})...)
		in.Conversation = "large"
		large := l.start("large", in)
		l.awaitWaiting(lane, n)
		in = planOf(many(5, "work", order{})...)
		in.Conversation = "small"
		small := l.start("small", in)
		l.awaitWaiting(lane, n+5)
		release()
		l.result(small)
		l.result(large)
		spans, _ := l.Spans()
		last := 0
		for i, s := range spans {
			if s.Run == "small" {
				last = i
			}
		}
		if last > 12 {
			l.t.Errorf("the small conversation's last call was number %d that began:\n%s", last,
				witness.List(spans[:last+1]))
		}
	})
}

// The priority of the calls does not matter.
func TestFIFO_KeepsTheOrderOfArrival(t *testing.T) {
	eachOrder(t, "_fifo", func(l *lab, lane string, release func() []witness.Span) {
		const n = 12
		var want []string
		for i := range n {
			id := fmt.Sprint("run-", i)
			l.start(id, withPriority(api.Priorities[3-i%4], planOf(planCall("c", "work", order{}))))
			l.awaitWaiting(lane, i+1)
			want = append(want, id)
		}
		release()
		spans := l.await("for all calls", func(s []witness.Span) bool { return len(s) == n+1 })
		var got []string
		for _, s := range spans[1:] {
			got = append(got, s.Run)
		}
		if !slices.Equal(got, want) {
			l.t.Errorf("the calls began in the order %q, want %q", got, want)
		}
	})
}
