package lanetest

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/test/witness"
	"go.temporal.io/sdk/client"
)

func TestKeys_TakeNothingWithoutCalls(t *testing.T) {
	t.Parallel()
	l := newLab(t, `lanes: {device: {key: "{{args.key}}"}}`,
		toolSpec{name: "touch", lane: "device"})
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
			func(s []witness.Span) bool { return len(of(s, round)) == len(used) })
		l.until("for the holders to report the keys",
			func() bool { return l.total("device").Keys == len(used) })
		l.Open(round)
		l.result(run)
		l.until("for the keys to have no calls", func() bool {
			return len(l.slots("device")) > 0 && l.total("device").Keys == 0
		})
	}
	spans, _ := l.Spans()
	if lanes := witness.Peaks(spans); len(lanes) != len(used) {
		t.Errorf("%d keys had these lanes: %v", len(used), lanes)
	}
	l.report(witness.Regressions(spans))
}

// The keys of ten plans are used at once, while one key has a call that does not end and more calls
// that wait for it.
func TestKeys_ThousandAtOnceBesideASlowOne(t *testing.T) {
	t.Parallel()
	const plans, each, queued = 10, 100, 50
	l := newLab(t, `lanes: {device: {key: "{{args.key}}"}}`,
		toolSpec{name: "touch", lane: "device"})
	l.worker()
	slow := l.plan("slow", many(1+queued, "touch", order{Key: "slow", Gate: "end"})...)
	l.began("slow")
	l.until("for the calls with the slow key to wait",
		func() bool { return l.total("device").Waiting == queued })
	began := l.Now()
	var runs []client.WorkflowRun
	for p := range plans {
		var calls []api.PlanCall
		for i := range each {
			calls = append(calls, planCall(fmt.Sprint("c", i), "touch",
				order{Key: fmt.Sprint(p, "-", i), MS: 100}))
		}
		runs = append(runs, l.plan(fmt.Sprint("plan-", p), calls...))
	}
	for _, run := range runs {
		l.result(run)
	}
	t.Logf("%d calls with as many keys took %s", plans*each, l.Now()-began)
	spans, _ := l.Spans()
	if n := len(of(spans, "slow")); n != 1 {
		t.Errorf("%d calls with the slow key ran before it ended", n)
	}
	l.Open("end")
	l.result(slow)
	spans, _ = l.Spans()
	if want := plans*each + 1 + queued; len(spans) != want {
		t.Errorf("%d calls ran, want %d", len(spans), want)
	}
	l.report(witness.Excesses(spans, limits(map[string]int{"device": 1})))
	l.report(witness.Regressions(spans))
}

// One key has as many waiting calls as may wait, and more fail. The calls of other keys on the same
// task queue run nevertheless.
func TestKeys_CrowdedKeyDelaysNoOther(t *testing.T) {
	t.Parallel()
	const plans, each, others, waiting = 2, 100, 100, 100
	l := newLab(t, `lanes: {device: {key: "{{args.key}}", queue_size: 100}}`,
		toolSpec{name: "touch", lane: "device"})
	l.worker()
	var crowd []client.WorkflowRun
	for p := range plans {
		crowd = append(crowd, l.plan(fmt.Sprint("crowd-", p), many(each, "touch",
			order{Key: "slow", Gate: "end"})...))
	}
	l.until("for as many calls as may wait, and the refusal of the others", func() bool {
		c := l.total("device")
		return c.Waiting == waiting && c.Rejected == plans*each-1-waiting
	})
	began := l.Now()
	var calls []api.PlanCall
	for i := range others {
		calls = append(calls, planCall(fmt.Sprint("c", i), "touch", order{Key: fmt.Sprint(i)}))
	}
	l.result(l.plan("others", calls...))
	t.Logf("%d calls with other keys took %s", others, l.Now()-began)
	l.Open("end")
	for _, run := range crowd {
		_ = run.Get(l.ctx, nil) // a plan fails with the calls that were rejected
	}
	t.Logf("all calls took %s", l.Now()-began)
	spans, _ := l.Spans()
	if want := 1 + waiting + others; len(spans) != want {
		t.Errorf("%d calls ran, want %d", len(spans), want)
	}
	l.report(witness.Excesses(spans, limits(map[string]int{"device": 1})))
	l.report(witness.Regressions(spans))
}

// A call that waits on a worker for its key has not started: if the worker is killed, it runs on
// the next one, also if its effect is once, and before its heartbeat timeout.
func TestKeys_WaitingCallsRunOnTheNextHolder(t *testing.T) {
	t.Parallel()
	const queued, heartbeat = 5, 30 * time.Second
	l := newLab(t, `lanes: {device: {key: "{{args.key}}", lease: 4s}}`,
		toolSpec{name: "touch", lane: "device", effect: "once", heartbeat: "30s"})
	first := l.worker()
	var calls []api.PlanCall
	for i := range 1 + queued {
		c := planCall(fmt.Sprint("c", i), "touch", order{Key: "k", Gate: "end"})
		calls = append(calls, c)
	}
	run := l.start("run", planOf(calls...))
	started := l.began("run")
	l.until("for calls to wait on the worker",
		func() bool { return l.total("device").Waiting == queued })
	l.awaitHeartbeatTimeouts("run", queued, 8*time.Second)
	l.worker()
	killed := l.Now()
	first.Kill()
	spans := l.lostBy(first.PID())
	took := spans[len(spans)-1].Began - killed
	t.Logf("the next call began %s after the kill", took)
	if took > heartbeat/2 {
		t.Errorf("the next call began %s after the kill, with a lease of 4 s", took)
	}
	l.Open("end")
	var result api.RunResult
	_ = run.Get(l.ctx, &result) // the run fails, because the outcome of one call is unknown
	outcomes := l.tally(run)
	if outcomes["completed"] != queued || outcomes[string(api.ErrOutcomeUnknown)] != 1 {
		t.Errorf("the calls ended as %v", outcomes)
	}
	spans, _ = l.Spans()
	for key, spans := range witness.Executions(spans) {
		if len(spans) != 1 {
			t.Errorf("%s was executed %d times", key, len(spans))
		}
	}
	other := func(s witness.Span) bool { return s.PID != first.PID() }
	if i := slices.IndexFunc(spans, other); i < 0 ||
		spans[i].Fence <= started.Fence {
		t.Errorf("the fencing number did not grow:\n%s", witness.List(spans))
	}
	l.report(witness.Excesses(spans, limits(map[string]int{"device": 1})))
}

// awaitHeartbeatTimeouts waits until n pending calls of a run have that heartbeat timeout.
func (l *lab) awaitHeartbeatTimeouts(run string, n int, timeout time.Duration) {
	l.t.Helper()
	l.until(fmt.Sprintf("for %d calls with a heartbeat timeout of %s", n, timeout), func() bool {
		about, err := l.Client.DescribeWorkflowExecution(l.ctx, run, "")
		if err != nil {
			return false
		}
		have := 0
		for _, a := range about.GetPendingActivities() {
			if a.GetActivityOptions().GetHeartbeatTimeout().AsDuration() == timeout {
				have++
			}
		}
		return have == n
	})
}
