package api

import "cmp"

// Waiting is the last heartbeat of a call that waits on a worker for a slot of its lane. If the
// worker is lost then, the call has not started.
type Waiting struct {
	Waiting bool `json:"waiting"`
}

// MaxRequeues bounds how often a call that did not start is scheduled again.
const MaxRequeues = 20

// requeued reports whether the activity ended before the tool started, without an error that says
// so.
func (f ActivityFailure) requeued(route Route) bool {
	var w Waiting
	return route.Holds && f.Timeout == TimeoutHeartbeat && f.LastHeartbeat != nil && f.LastHeartbeat(&w) == nil && w.Waiting
}

// lostWaiting is the error of a call whose worker was lost while the call waited.
func lostWaiting(lane string) *Error {
	return &Error{Type: ErrWorkerLost, Phase: PhasePreExecution, NotStarted: true,
		Message: "the worker with which the call waited for its turn on the lane " + lane + " was lost; nothing ran"}
}

// NotStartedError is the error of a call that had not started when its run was cancelled or reached
// a limit.
func NotStartedError() *Error {
	return &Error{Type: ErrCancelled, Phase: PhasePreExecution, Message: "the run was cancelled or reached a limit before this call started"}
}

// On returns the tool with the timeouts that its lane sets where the tool sets none.
func (t Tool) On(r Route) Tool {
	t.QueueTimeout = cmp.Or(t.QueueTimeout, r.QueueTimeout)
	return t
}
