package api

import "cmp"

// Waiting is the last heartbeat of a call that waits with its lane's holder. Where the worker is lost then, the call is known
// not to have begun.
type Waiting struct {
	Waiting bool `json:"waiting"`
}

// MaxHandBacks is how often a run makes a call again that workers hand back before they begin it. One more is the call's end.
const MaxRequeues = 20

// handedBack reports that the activity ended before the tool began, without saying so itself.
func (f ActivityFailure) requeued(route Route) bool {
	var w Waiting
	return route.Holds && f.Timeout == TimeoutHeartbeat && f.LastHeartbeat != nil && f.LastHeartbeat(&w) == nil && w.Waiting
}

// lostWaiting is the error of a call whose worker was lost while the call waited.
func lostWaiting(lane string) *Error {
	return &Error{Type: ErrWorkerLost, Phase: PhasePreExecution, NotStarted: true,
		Message: "the worker with which the call waited for its turn on the lane " + lane + " was lost; nothing ran"}
}

// NotStarted is the error of a call that waited for others, or to be made again, when its run was cancelled or reached a
// limit.
func NotStartedError() *Error {
	return &Error{Type: ErrCancelled, Phase: PhasePreExecution, Message: "the run was cancelled or reached a limit before this call started"}
}

// On returns the tool as a call that takes a route has it: what the tool leaves open is the lane's.
func (t Tool) On(r Route) Tool {
	t.QueueTimeout = cmp.Or(t.QueueTimeout, r.QueueTimeout)
	return t
}
