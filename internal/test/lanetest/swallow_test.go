package lanetest

import (
	"strings"
	"testing"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/queues"
	enumspb "go.temporal.io/api/enums/v1"
)

// timedOut reports whether an activity of a run has timed out after its last attempt.
func (l *lab) timedOut(run string) bool {
	l.t.Helper()
	events := l.Client.GetWorkflowHistory(l.ctx, run, "", false,
		enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for events.HasNext() {
		e, err := events.Next()
		if err != nil {
			l.t.Fatal(err)
		}
		if e.GetActivityTaskTimedOutEventAttributes() != nil {
			return true
		}
	}
	return false
}

// pollers returns how many workers poll a lane.
func (l *lab) pollers(lane string) int {
	l.t.Helper()
	d, err := l.Client.DescribeTaskQueue(l.ctx, queues.Lane(base, lane),
		enumspb.TASK_QUEUE_TYPE_ACTIVITY)
	if err != nil {
		l.t.Fatal(err)
	}
	return len(d.GetPollers())
}

// The server sends attempts to the open polls of workers that are cut off. If all attempts of a
// repeatable call are lost that way, another worker executes the call later.
func TestCutOffWorkers_DoNotUseUpTheAttemptsOfACall(t *testing.T) {
	t.Parallel()
	read := toolSpec{name: "read", lane: "far", effect: "read", heartbeat: "1s"}
	l := newLab(t, "lanes: {far: {}}", read)
	l.write("tools/tools.yaml", strings.Replace(read.yaml(), "max_attempts: 10", "max_attempts: 3",
		1))
	l.worker("--lanes", "general")
	var wires []*wire
	for range 3 {
		w := newWire(l)
		l.workerAt(w.Address, "--lanes", "far")
		wires = append(wires, w)
	}
	l.until("for the polls", func() bool { return l.pollers("far") == len(wires) })
	for _, w := range wires {
		w.cut()
	}
	run := l.plan("run", planCall("c", "read", order{N: 7}))
	l.until("for the loss of all attempts", func() bool { return l.timedOut("run") })
	l.worker("--lanes", "far")
	l.result(run)
	if r := l.records(run)["c"]; r.Status != api.CallCompleted || r.Attempts < 4 {
		t.Errorf("the call is %s after %d attempts: %v", r.Status, r.Attempts, r.Error)
	}
}
