package lanetest

import (
	"fmt"
	"testing"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/test/witness"
	"go.temporal.io/sdk/client"
)

// tally counts the calls of runs by their outcome: completed, or the type of the error.
func (l *lab) tally(runs ...client.WorkflowRun) map[string]int {
	l.t.Helper()
	counts := map[string]int{}
	for _, run := range runs {
		for _, r := range l.records(run) {
			kind := string(r.Status)
			if r.Error != nil {
				kind = string(r.Error.Type)
			}
			counts[kind]++
		}
	}
	return counts
}

// Of a hundred calls that ten runs make at once over two workers, a lane accepts exactly as many as
// it has slots and places in its queue. The others are refused and never ran.
func TestQueueSize_IsExact(t *testing.T) {
	t.Parallel()
	const at, runs = 10, 10
	lanes := []struct {
		name            string
		limit, accepted int
	}{{"small", 1, 4}, {"reject", 1, 1}, {"pair", 2, 5}, {"desk", 1, 3}}
	var tools []toolSpec
	for _, lane := range lanes {
		tools = append(tools, toolSpec{name: lane.name, lane: lane.name})
	}
	l := newLab(t, `lanes:
  small: {limit: 1, queue_size: 3}
  reject: {limit: 1, strategy: reject}
  pair: {limit: 2, queue_size: 3}
  desk: {limit: 1, queue_size: 2, key: "{{args.key}}"}
`, tools...)
	l.worker()
	l.worker()
	for _, lane := range lanes {
		var burst []client.WorkflowRun
		for i := range runs {
			c := scriptCall(lane.name, order{Gate: lane.name, Key: "a"})
			c.Repeat = at
			burst = append(burst, l.start(fmt.Sprint(lane.name, "-", i),
				api.RunInput{Agent: agent(api.ScriptStep{Calls: []api.ScriptCall{c}})}))
		}
		l.until("for the calls that "+lane.name+" refuses", func() bool {
			c := l.total(lane.name)
			return c.Rejected == int64(at*runs-lane.accepted) && c.Running == lane.limit &&
				c.Waiting == lane.accepted-lane.limit
		})
		l.Open(lane.name)
		for _, run := range burst {
			l.result(run)
		}
		counts := l.tally(burst...)
		spans, _ := l.Spans()
		ran := 0
		for _, s := range spans {
			if witness.Name(s.Lane) == lane.name {
				ran++
			}
		}
		if counts["completed"] != lane.accepted ||
			counts[string(api.ErrQueueFull)] != at*runs-lane.accepted || ran != lane.accepted {
			t.Errorf("%s: %v, %d ran; want %d completed", lane.name, counts, ran, lane.accepted)
		}
	}
	spans, _ := l.Spans()
	l.report(witness.Excesses(spans,
		limits(map[string]int{"small": 1, "reject": 1, "pair": 2, "desk": 1})))
}

// A call that waits too long fails and never ran. The timeout is that of the tool or of the lane,
// and the call waits at the server or with the holder.
func TestQueueTimeout_EndsWaitingCalls(t *testing.T) {
	t.Parallel()
	l := newLab(t, `lanes:
  server: {limit: 1}
  holder: {limit: 1, queue_size: 10}
  server_lane: {limit: 1, queue_timeout: 2s}
  holder_lane: {limit: 1, queue_size: 10, queue_timeout: 2s}
`,
		toolSpec{name: "server", lane: "server", more: "queue_timeout: 2s"},
		toolSpec{name: "holder", lane: "holder", more: "queue_timeout: 2s"},
		toolSpec{name: "server_lane", lane: "server_lane"}, toolSpec{name: "holder_lane",
			lane: "holder_lane"})
	l.worker()
	names := []string{"server", "holder", "server_lane", "holder_lane"}
	var busy []api.PlanCall
	var step api.ScriptStep
	for _, name := range names {
		l.hosted(name, 1)
		busy = append(busy, planCall(name, name, order{Gate: "end"}))
		c := scriptCall(name, order{})
		c.Repeat = 5
		step.Calls = append(step.Calls, c)
	}
	first := l.plan("busy", busy...)
	l.await("for every lane to be busy",
		func(s []witness.Span) bool { return len(s) == len(names) })
	waits := l.start("waits", api.RunInput{Agent: agent(step)})
	l.result(waits)
	l.Open("end")
	l.result(first)
	if counts := l.tally(waits); counts[string(api.ErrQueueTimeout)] != 5*len(names) {
		t.Errorf("the calls ended as %v, want %d of %s", counts, 5*len(names), api.ErrQueueTimeout)
	}
	if spans, _ := l.Spans(); len(of(spans, "waits")) > 0 {
		t.Errorf("these ran although they had waited too long:\n%s",
			witness.List(of(spans, "waits")))
	}
}

// A lane starts no more calls per second than its rate, and one second's worth at once, over two
// workers, with and without a limit.
func TestRate_BoundsStarts(t *testing.T) {
	t.Parallel()
	const rate, n = 10, 40
	l := newLab(t, fmt.Sprintf("lanes: {free: {rate: %d}, bound: {rate: %d, limit: 5}}", rate,
		rate),
		toolSpec{name: "free", lane: "free"}, toolSpec{name: "bound", lane: "bound"})
	l.worker()
	l.worker()
	runs := []client.WorkflowRun{l.plan("free", many(n, "free", order{MS: 5})...),
		l.plan("bound", many(n, "bound", order{MS: 5})...)}
	for _, run := range runs {
		l.result(run)
		spans, _ := l.Spans()
		spans = of(spans, run.GetID())
		// n calls are one burst and n-rate more at the rate. The server keeps the rate when it
		// dispatches calls; a fifth is the tolerance for their delay on a busy machine.
		least := time.Duration(n-rate) * time.Second / rate * 8 / 10
		took := spans[len(spans)-1].Began - spans[0].Began
		if len(spans) != n || took < least {
			t.Errorf("%s: %d calls began within %s, want %d and at least %s", run.GetID(),
				len(spans), took, n, least)
		}
		for i, s := range spans {
			if j := i + 2*rate + rate/2; j < len(spans) && spans[j].Began-s.Began < time.Second {
				t.Errorf("%s: %d calls began within a second:\n%s", run.GetID(), j-i+1,
					witness.List(spans[i:j+1]))
				break
			}
		}
		t.Logf("%s: %d calls began within %s", run.GetID(), len(spans), took)
	}
}

// Calls of bypassing callers run while the lane is full.
func TestBypass_IgnoresTheQueue(t *testing.T) {
	t.Parallel()
	l := newLab(t, "lanes: {lane: {limit: 1, queue_size: 0, bypass: [plan]}}",
		toolSpec{name: "work", lane: "lane"})
	l.worker()
	busy := l.start("busy", api.RunInput{Agent: agent(
		api.ScriptStep{Calls: []api.ScriptCall{scriptCall("work", order{Gate: "end"})}})})
	l.began("busy")
	l.result(l.plan("passes", many(3, "work", order{MS: 1})...))
	refused := l.start("refused",
		api.RunInput{Agent: agent(api.ScriptStep{Calls: []api.ScriptCall{scriptCall("work",
			order{})}})})
	l.result(refused)
	l.Open("end")
	l.result(busy)
	if counts := l.tally(refused); counts[string(api.ErrQueueFull)] != 1 {
		t.Errorf("a call of an agent ended as %v, want %s", counts, api.ErrQueueFull)
	}
}
