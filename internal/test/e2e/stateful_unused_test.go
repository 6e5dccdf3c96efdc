package e2e

import (
	"slices"
	"testing"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/instancerules"
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
// the tool's heartbeat. A worker that stalls for a second then loses the instance, so it may be
// rebuilt more often than once.
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
	lease := instancerules.IdleLease(heartbeat).Std()
	l.awaitHeartbeatTimeout(run, lease)
	earlier := len(l.texts(id, tool))
	killed := l.killHost(id, tool, first, second)
	l.openGate()
	l.await("for the next instance", func() bool { return len(l.texts(id, tool)) > earlier })
	if took := time.Since(killed); took < lease/2 || took > lease+3*time.Second {
		t.Errorf("the instance was rebuilt after %s, want about %s", took, lease)
	}
	if r := l.result(run); r.Answer != "112" || r.Usage.Failed != 0 {
		t.Errorf("result: %+v", r)
	}
	made := slices.DeleteFunc(l.texts(id, tool),
		func(text string) bool { return text != wroteMade && text != wroteRestored })
	rebuilt := slices.Repeat([]string{wroteMade, wroteRestored}, max(1, len(made)/2))
	expect(t, "instances", made, append([]string{wroteMade}, rebuilt...))
}
