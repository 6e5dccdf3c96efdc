package history

import (
	"time"

	"github.com/switchyard/switchyard/api"
	historypb "go.temporal.io/api/history/v1"
)

// handBack takes a call that a worker gave up before it began it, as fault says, where the run makes it again: the call goes
// on, with one record. It reports whether that is so.
func (c *calls) requeue(a *activity, fault *api.Error) bool {
	if !fault.NotStarted || a.requeues == api.MaxRequeues {
		return false
	}
	a.requeues++
	a.attempts = a.record.Attempts
	a.record.Phase, a.record.LastFailure = api.PhasePreExecution, fault.Message
	t := &a.record.Timing
	t.Started, t.Closed, t.QueueWait, t.Duration = time.Time{}, time.Time{}, 0, 0
	c.requeued[a.id] = a
	return true
}

// verify takes a call whose outcome is unknown, as fault says, where the run finds out what became of it: the call goes on, with
// one record. It reports whether that is so.
func (c *calls) verify(a *activity, fault *api.Error) bool {
	if !c.run.tools[a.record.Tool].Verifiable(fault) {
		return false
	}
	a.fault, a.begun = fault, true
	a.attempts = a.record.Attempts
	a.record.LastFailure = fault.Message
	c.requeued[a.id] = a
	return true
}

// endHandedBack ends the calls that were to be made again when their run was cancelled, reached a limit or ended.
func (c *calls) endRequeued(e *historypb.HistoryEvent) {
	for _, a := range inOrder(c.requeued) {
		r := a.record
		r.Status, r.Error = api.CallCancelled, api.NotStartedError()
		if a.fault != nil {
			r.Status, r.Error = api.CallFailed, a.fault
		}
		c.end(e, r)
	}
	clear(c.requeued)
}

// onlyWaited makes the time of a call that no worker began after all a part of its wait.
func onlyWaited(r *api.Record) {
	if r.Error.NotStarted || r.Error.Phase == api.PhasePreExecution {
		r.QueueWait += r.Duration
		r.Duration = 0
	}
}
