package failures

import "github.com/switchyard/switchyard/api"

// MaxRequeues bounds how often a call that its workers returned is scheduled again.
const MaxRequeues = 20

// maxRestarts bounds how often a call with effect once that failed before it started is scheduled
// again. Its activity has one attempt, because the server cannot tell whether an attempt started.
const maxRestarts = 2

// Requeues reports whether a run schedules a call of the tool again that failed with e and was
// scheduled again n times before: a worker returned the call, or the call has effect once, did not
// start, and may succeed at another attempt. A call that the run itself makes, for a purpose, is
// also scheduled again if what it needs is not there, because nothing else makes it.
func Requeues(t api.Tool, e *api.Error, purpose api.Purpose, n int) bool {
	switch {
	case e.Requeue, purpose != "" && isActivity(t) && lacksProvision(e):
		return n < MaxRequeues
	case e.NotStarted && e.Retryable:
		return t.Effect == api.EffectOnce && isActivity(t) && n < maxRestarts
	}
	return false
}

// lacksProvision reports whether the call was not made for want of what the platform has to
// provide, such as a toolspec or a session with an MCP server.
func lacksProvision(e *api.Error) bool {
	missing := e.Type == api.ErrPreconditionFailed || e.Type == api.ErrExecutorNotFound
	return missing && e.NotStarted && e.Retryable
}

// maxLost bounds how often a repeatable call or a model step whose workers were lost is scheduled
// again.
const maxLost = 3

// RequeuesStep reports whether a run schedules a model step again that failed with f because its
// workers were lost, and was scheduled again for that reason n times before.
func RequeuesStep(f ActivityFailure, n int) bool {
	return f.Timeout == TimeoutHeartbeat && n < maxLost
}

// RequeuesLost reports whether a run schedules a call of the tool again that failed with e because
// its workers were lost, and was scheduled again for that reason n times before. The server counts
// a lost attempt as one of the retry policy, also if the tool never started: a worker that is cut
// off from the server loses one attempt for each of its open polls. A call that was refused because
// its instance was lost before is not scheduled again.
func RequeuesLost(t api.Tool, e *api.Error, n int) bool {
	repeatable := t.Effect == api.EffectRead || t.Effect == api.EffectIdempotent
	return e.Type == api.ErrWorkerLost && !e.Requeue && !e.NotStarted && repeatable &&
		isActivity(t) && n < maxLost
}

// LeavesOpen reports whether an attempt that failed with e, waiting for task, leaves open what a
// later attempt that says that it failed did not do. A later attempt that waits for the same task
// says what became of it.
func LeavesOpen(t api.Tool, e *api.Error, task *api.RemoteTask) bool {
	return t.Effect == api.EffectIdempotent && task == nil && e.MayHaveActed()
}
