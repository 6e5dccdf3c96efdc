package e2e

import (
	"slices"
	"testing"
	"time"

	"github.com/switchyard/switchyard/api"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/sdk/client"
)

// awaitHeartbeatTimeout waits until the server has a heartbeat timeout for the run's instance host.
func (l *lab) awaitHeartbeatTimeout(run client.WorkflowRun, want time.Duration) {
	l.t.Helper()
	l.await("for a heartbeat timeout of "+want.String(), func() bool {
		described, err := l.Client.DescribeWorkflowExecution(l.ctx, run.GetID(), run.GetRunID())
		return err == nil && slices.ContainsFunc(described.GetPendingActivities(),
			func(a *workflowpb.PendingActivityInfo) bool {
				return a.GetActivityType().GetName() == api.HostInstanceActivity &&
					a.GetActivityOptions().GetHeartbeatTimeout().AsDuration() == want
			})
	})
}

// The lease of an instance that no call uses is longer, and its host heartbeats as much less. If
// its worker is killed then, another one takes over within the longer lease. The next call restores
// the tool's heartbeat.
func TestUnusedInstance_IsTakenOverWithinItsLease(t *testing.T) {
	l := newLab(t)
	first, second := l.worker(), l.worker()
	const tool = "unused_counter"
	run := l.runAgent("run", counting("hold_read "+tool, step(call(tool, `{"by":1}`)),
		step(call("hold_read", `{}`)), step(call(tool, `{"by":10}`)),
		step(call(tool, `{"by":100}`)), step(add("n", tool, `{}`)),
		answer("${n}")))
	id := run.GetRunID()
	l.await("for the call in between", func() bool { return len(l.written(id, "hold_read")) == 1 })
	const heartbeat = api.Duration(time.Second)
	lease := api.IdleLease(heartbeat).Std()
	l.awaitHeartbeatTimeout(run, lease)
	killed := l.killHost(id, tool, first, second)
	l.openGate()
	if r := l.result(run); r.Answer != "112" || r.Usage.Failed != 0 {
		t.Errorf("result: %+v", r)
	}
	took := l.madeAgain(run).Sub(killed)
	if took < lease/2 || took > lease+3*time.Second {
		t.Errorf("the instance was rebuilt after %s, want about %s", took, lease)
	}
	expect(t, "instances", l.texts(id, tool), []string{wroteMade, wroteAdded + " as 1", wroteMade,
		wroteRestored, wroteAdded + " as 2", wroteAdded + " as 2", wroteAdded + " as 2",
		wroteClosed})
}

// madeAgain returns when the last attempt of the run's instance host started.
func (l *lab) madeAgain(run client.WorkflowRun) time.Time {
	l.t.Helper()
	hosts := map[int64]bool{}
	var at time.Time
	for _, e := range l.histories(run.GetID(), run.GetRunID())[0].GetEvents() {
		if e.GetActivityTaskScheduledEventAttributes().GetActivityType().GetName() ==
			api.HostInstanceActivity {
			hosts[e.GetEventId()] = true
		}
		if hosts[e.GetActivityTaskStartedEventAttributes().GetScheduledEventId()] {
			at = e.GetEventTime().AsTime()
		}
	}
	return at
}
