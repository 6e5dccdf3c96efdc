package workflows

import (
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/failures"
	"go.temporal.io/sdk/workflow"
)

// callStep is what follows an attempt.
type callStep int

const (
	stepFinish callStep = iota
	// stepFollow: the attempt is over, and the remote task that it waited for may go on.
	stepFollow
	// stepRequeue: the call did not start.
	stepRequeue
	// stepRequeueLost: the workers of all attempts were lost, and the call is safe to repeat.
	stepRequeueLost
	// stepVerify: the call may have taken effect, and its tool declares how to verify that.
	stepVerify
)

// next decides what follows an attempt with that failure; nil is a success. A call is not repeated
// beyond the size of a history at which the server ends the run: its last failure is its outcome.
func (c *Call) next(ctx workflow.Context, failure *api.Error) callStep {
	if failure == nil {
		return stepFinish
	}
	c.acted = c.acted || leavesOpen(*c.tool, failure, c.task)
	step := c.after(ctx, failure)
	events, bytes := c.pipeline.written(ctx)
	if step != stepFinish &&
		!c.pipeline.sizes.History.FitAgain(events, bytes, step == stepVerify) {
		return stepFinish
	}
	return step
}

// after decides what follows a failed attempt, wherever the history ends.
func (c *Call) after(ctx workflow.Context, failure *api.Error) callStep {
	switch {
	case ctx.Err() != nil:
		return c.afterCancel(failure)
	case followsTask(c.task, failure, c.follows):
		return stepFollow
	case requeues(*c.tool, failure, c.call.Purpose, c.requeues):
		return stepRequeue
	case requeuesLost(*c.tool, failure, c.losses):
		return stepRequeueLost
	case isVerified(*c.tool, failure):
		return stepVerify
	}
	return stepFinish
}

// afterCancel decides what follows a cancelled attempt with that failure. A run that was cancelled
// ends. A session of which one call was cancelled goes on and undoes nothing, so that verifying the
// call is the only way to find out what it did.
func (c *Call) afterCancel(failure *api.Error) callStep {
	if c.session != nil && c.session.Err() == nil && isVerified(*c.tool, failure) {
		return stepVerify
	}
	return stepFinish
}

// The pauses before requeued calls.
const (
	requeueStep     = time.Second
	maxRequeuePause = 10 * time.Second
	// maxOwnPause bounds that of calls that the run itself makes, which double: maxRequeues of them
	// take two hours.
	maxOwnPause = 10 * time.Minute
)

// pause returns the pause before the call is requeued.
func (c *Call) pause() time.Duration {
	if c.call.OfRun() && c.requeues > 2 {
		return min(requeueStep<<(c.requeues-2), maxOwnPause)
	}
	return requeuePause(c.requeues)
}

// requeuePause returns the pause before a call is requeued for the nth time.
func requeuePause(n int) time.Duration {
	return min(max(time.Duration(n-1)*requeueStep, time.Millisecond), maxRequeuePause)
}

// maxRequeues bounds how often a call that its workers returned is scheduled again.
const maxRequeues = 20

// maxRestarts bounds how often a call with effect once that failed before it started is scheduled
// again. Its activity has one attempt, because the server cannot tell whether an attempt started.
const maxRestarts = 2

// requeues reports whether a run schedules a call of the tool again that failed with e and was
// scheduled again n times before: a worker returned the call, or the call has effect once, did not
// start, and may succeed at another attempt. A call that the run itself makes, for a purpose, is
// also scheduled again if what it needs is not there, because nothing else makes it.
func requeues(t api.Tool, e *api.Error, purpose api.Purpose, n int) bool {
	switch {
	case e.Requeue, purpose != "" && failures.IsActivity(t) && lacksProvision(e):
		return n < maxRequeues
	case e.NotStarted && e.Retryable:
		return t.Effect == api.EffectOnce && failures.IsActivity(t) && n < maxRestarts
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

// requeuesStep reports whether a run schedules a model step again that failed with f because its
// workers were lost, and was scheduled again for that reason n times before.
func requeuesStep(f failures.ActivityFailure, n int) bool {
	return f.Timeout == failures.TimeoutHeartbeat && n < maxLost
}

// requeuesLost reports whether a run schedules a call of the tool again that failed with e because
// its workers were lost, and was scheduled again for that reason n times before. The server counts
// a lost attempt as one of the retry policy, also if the tool never started: a worker that is cut
// off from the server loses one attempt for each of its open polls. A call that was refused because
// its instance was lost before is not scheduled again.
func requeuesLost(t api.Tool, e *api.Error, n int) bool {
	repeatable := t.Effect == api.EffectRead || t.Effect == api.EffectIdempotent
	return e.Type == api.ErrWorkerLost && !e.Requeue && !e.NotStarted && repeatable &&
		failures.IsActivity(t) && n < maxLost
}

// leavesOpen reports whether an attempt that failed with e, waiting for task, leaves open what a
// later attempt that says that it failed did not do. A later attempt that waits for the same task
// says what became of it.
func leavesOpen(t api.Tool, e *api.Error, task *api.RemoteTask) bool {
	return t.Effect == api.EffectIdempotent && task == nil && e.MayHaveActed()
}

// maxFollows bounds how often a call is scheduled again to wait for its remote task.
const maxFollows = 20

// remoteTask returns the remote task that a failed attempt of a call leaves to the next one; nil if
// there is none. e is the error of the attempt, earlier the task that the attempt got. An attempt
// that never reported leaves the task as it was.
func remoteTask(f failures.ActivityFailure, e *api.Error, earlier *api.RemoteTask) *api.RemoteTask {
	var left api.RemoteTask
	switch {
	case f.Timeout != "":
		return reportedTask(f, earlier)
	case e.BeforeStart():
		return earlier
	case f.Left != nil && f.Left(&left) == nil && left.ID != "":
		return &left
	}
	return nil
}

// reportedTask returns the task that the last heartbeat reported; earlier if none did.
func reportedTask(f failures.ActivityFailure, earlier *api.RemoteTask) *api.RemoteTask {
	var last api.Heartbeat
	if f.LastHeartbeat != nil && f.LastHeartbeat(&last) == nil &&
		(last.Task != nil || last.TaskOver) {
		return last.Task
	}
	return earlier
}

// followsTask reports whether a run schedules a call again that failed with e and left a task, to
// wait for the end of the task. It was scheduled again for that reason n times before.
func followsTask(r *api.RemoteTask, e *api.Error, n int) bool {
	return r != nil && !e.BeforeStart() && n < maxFollows
}

// isVerified reports whether a failed call of the tool is verified: its outcome is unknown, and the
// tool declares Verify.
func isVerified(t api.Tool, e *api.Error) bool {
	return t.Verify != nil && t.Effect == api.EffectOnce && t.Dispatch.Schedules() &&
		e.Type == api.ErrOutcomeUnknown && e.MayHaveActed()
}
