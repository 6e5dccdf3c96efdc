package history

import (
	"cmp"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/failures"
	"github.com/switchyard/switchyard/internal/core/undorules"
	historypb "go.temporal.io/api/history/v1"
)

// requeue keeps a call that did not start, or whose workers were lost, and reports whether the run
// schedules it again. The call has one record.
func (c *calls) requeue(a *activity, fault *api.Error) bool {
	switch tool := c.run.tools[a.record.Tool]; {
	case failures.FollowsTask(a.task, fault, a.follows):
		a.follows++
		a.lost, a.mayHaveStarted = fault, true
	case failures.Requeues(tool, fault, a.record.Purpose, a.requeues):
		a.requeues++
	case failures.RequeuesLost(tool, fault, a.losses):
		a.losses++
		a.lost, a.mayHaveStarted = fault, true
	default:
		return false
	}
	a.attempts = a.record.Attempts
	a.record.Phase, a.record.LastFailure = api.PhasePreExecution, fault.Message
	t := &a.record.Timing
	t.Started, t.Closed, t.QueueWait, t.Duration = time.Time{}, time.Time{}, 0, 0
	c.requeued[a.id] = a
	return true
}

// verify keeps a call whose outcome is unknown, and reports whether the run verifies it. The call
// has one record.
func (c *calls) verify(a *activity, fault *api.Error) bool {
	if !undorules.IsVerified(c.run.tools[a.record.Tool], fault) {
		return false
	}
	a.fault, a.task, a.mayHaveStarted = fault, nil, true
	a.attempts = a.record.Attempts
	a.record.LastFailure = fault.Message
	c.requeued[a.id] = a
	return true
}

// endRequeued ends requeued calls when the run was cancelled, reached a limit or ended, or when
// their instance was lost.
func (c *calls) endRequeued(e *historypb.HistoryEvent) {
	for _, a := range inOrder(c.requeued) {
		r := a.record
		r.Status, r.Error = api.CallCancelled, failures.CancelledBeforeStart()
		if fault := cmp.Or(a.fault, a.lost, c.run.hosts.lost(r.Tool)); fault != nil {
			r.Status, r.Error = api.CallFailed, fault
		}
		if a.acted {
			r.Error = failures.AfterEffect(r.Error)
		}
		c.end(e, r)
	}
	clear(c.requeued)
}

// onlyWaited counts the whole time of a call that never started as queue wait.
func onlyWaited(r *api.Record) {
	if r.Error.Requeue || r.Error.Phase == api.PhasePreExecution {
		r.QueueWait += r.Duration
		r.Duration = 0
	}
}
