// Package failures reads what the failure of an activity means for a call: its error, and whether
// the call may have acted.
package failures

import (
	"cmp"
	"slices"

	"github.com/switchyard/switchyard/api"
)

// CallError maps a failure of tool's activity to the closed set of errors. route is the call's
// route.
func CallError(f ActivityFailure, tool api.Tool, route api.Route) *api.Error {
	e := callError(f, ApplyRoute(tool, route), route)
	// An inline call or a child workflow is not requeued by scheduling an activity.
	e.Requeue = e.Requeue && IsActivity(tool)
	return e
}

// IsActivity reports whether each attempt of a call is an activity, which the run can schedule
// again.
func IsActivity(t api.Tool) bool { return t.Dispatch.Schedules() && t.Lane != api.LaneInline }

func callError(f ActivityFailure, tool api.Tool, route api.Route) *api.Error {
	switch {
	case f.Timeout != "":
		e, last := timeoutError(f.Timeout, tool), lastHeartbeat(f)
		if wasRequeued(f, route) {
			e = lostWaiting(tool.Lane)
		}
		if e.Notes = last.Notes; last.Acted {
			e = AfterEffect(e)
		}
		return limit(e, tool)
	case f.Cancelled:
		return cancelledError(f, tool)
	}
	if e := detail(f); e != nil && api.ErrorType(f.Type).Known() {
		return limit(e, tool)
	}
	// The failure is not one of an executor: the worker's code panicked after the call had started.
	unknown := &api.Error{Type: api.ErrExecution, Message: f.Message, Phase: api.PhaseExecution}
	SetUnclear(unknown, tool.Effect)
	return unknown
}

// lastHeartbeat returns what the last heartbeat before a timeout carried.
func lastHeartbeat(f ActivityFailure) (last api.Heartbeat) {
	if f.LastHeartbeat == nil || f.LastHeartbeat(&last) != nil {
		return api.Heartbeat{}
	}
	return last
}

// detail returns the error that a worker put into the failure's details; nil if there is none.
func detail(f ActivityFailure) *api.Error {
	var e api.Error
	if f.Details == nil || f.Details(&e) != nil || !e.Type.Known() {
		return nil
	}
	return &e
}

// cancelledError returns the error of a call whose activity ended as cancelled. The worker that
// stopped the call says in its details whether it had started. The server ends an activity itself
// only while no worker has it: before its first attempt, or between two attempts.
func cancelledError(f ActivityFailure, tool api.Tool) *api.Error {
	if e := detail(f); e != nil {
		return limit(e, tool)
	}
	e := &api.Error{Type: api.ErrCancelled, Phase: api.PhaseExecution}
	switch {
	case tool.Dispatch == api.DispatchQuestion:
		e.Message = "the call was cancelled before a person answered"
	case tool.Attempts() == 1:
		e.Message, e.NotStarted = "the call was cancelled before a worker started it", true
	default:
		e.Message = "the call was cancelled before it started, or between two attempts"
		SetUnclear(e, tool.Effect)
	}
	return e
}

// SetUnclear marks the error of a call that may have taken effect. The outcome of a call with
// effect once is then unknown, and no attempt follows. A call with effect read has no effect.
func SetUnclear(e *api.Error, effect api.Effect) {
	switch effect {
	case api.EffectOnce:
		e.Type, e.Retryable = api.ErrOutcomeUnknown, false
	case api.EffectIdempotent:
		e.Unclear = true
	}
}

// earlierNote says that AfterEffect has marked an error.
const earlierNote = "an earlier attempt of the call may have taken effect"

// limit returns the error as one of the tool: a call with effect read has no effect, which a worker
// that cannot get the toolspec does not know.
func limit(e *api.Error, tool api.Tool) *api.Error {
	if tool.Effect == api.EffectRead {
		e.Unclear = false
		e.Notes = slices.DeleteFunc(e.Notes, func(n string) bool { return n == earlierNote })
	}
	return e
}

// AfterEffect returns the error of a call of which an earlier attempt may have taken effect: the
// error of the last attempt does not say what the call did.
func AfterEffect(e *api.Error) *api.Error {
	if e.MayHaveActed() {
		return e
	}
	marked := *e
	marked.NotStarted, marked.Unclear = false, true
	if marked.BeforeStart() {
		marked.Phase = api.PhaseExecution
	}
	marked.Notes = append(slices.Clone(e.Notes), earlierNote)
	return &marked
}

func timeoutError(kind TimeoutKind, tool api.Tool) *api.Error {
	if tool.Dispatch == api.DispatchQuestion &&
		(kind != TimeoutScheduleToStart || tool.QueueTimeout == 0) {
		return NotAnswered(tool.Name, tool.AnswerWithin)
	}
	e := &api.Error{Phase: api.PhaseExecution}
	switch {
	case kind == TimeoutScheduleToStart:
		e.Type, e.Phase = api.ErrQueueTimeout, api.PhasePreExecution
		e.Message = "no worker of lane " + tool.Lane + " took the call within " +
			tool.QueueTimeout.String()
	case kind == TimeoutHeartbeat:
		e.Type, e.Message = api.ErrWorkerLost, noHeartbeat(tool)+" at each attempt"
	default:
		e.Type, e.Message = api.ErrTimeout, tool.Name+" did not answer within "+tool.Timeout.String()
	}
	if tool.Effect == api.EffectOnce && kind != TimeoutScheduleToStart {
		e.Type = api.ErrOutcomeUnknown
		if kind == TimeoutHeartbeat {
			e.Message = noHeartbeat(tool)
		}
	}
	return e
}

// noHeartbeat describes a missing heartbeat. The server cannot tell a crash from an outage.
func noHeartbeat(tool api.Tool) string {
	return "no heartbeat of " + tool.Name + " arrived for " + tool.Heartbeat.String() +
		": its worker was lost or could not reach Temporal"
}

// wasRequeued reports whether the activity ended before the tool started, without an error that
// says so.
func wasRequeued(f ActivityFailure, route api.Route) bool {
	return route.Holds && f.Timeout == TimeoutHeartbeat && lastHeartbeat(f).Waiting
}

// lostWaiting is the error of a call whose worker was lost while the call waited.
func lostWaiting(lane string) *api.Error {
	return &api.Error{Type: api.ErrWorkerLost, Phase: api.PhasePreExecution, NotStarted: true,
		Requeue: true,
		Message: "the worker where the call waited for a slot of the lane " + lane +
			" was lost; nothing ran"}
}

// CancelledBeforeStart returns the error of a call that had not started when its run was cancelled
// or reached a limit.
func CancelledBeforeStart() *api.Error {
	return &api.Error{Type: api.ErrCancelled, Phase: api.PhasePreExecution,
		Message: "the run was cancelled or reached a limit before this call started"}
}

// ApplyRoute returns the tool with the timeouts that its lane sets where the tool sets none.
func ApplyRoute(t api.Tool, r api.Route) api.Tool {
	t.QueueTimeout = cmp.Or(t.QueueTimeout, r.QueueTimeout)
	t.Heartbeat = max(t.Heartbeat, r.Lease)
	return t
}

// NotAnswered is the error of a question that expired.
func NotAnswered(tool string, within api.Duration) *api.Error {
	e := api.Errorf(api.ErrApprovalTimeout, "the question of %s was not answered within %s", tool, within)
	e.Phase = api.PhaseExecution
	return e
}

// NotJoined is the error of a call whose run did not get an instance of its conversation. within is
// the time that the tool allows; zero for a failure that is not retried.
func NotJoined(within api.Duration, instance, why string) *api.Error {
	e := api.Errorf(api.ErrPreconditionFailed, "the conversation's instance of %s cannot be used: %s",
		instance, why)
	if within > 0 {
		e = api.Errorf(api.ErrQueueTimeout, "the conversation's instance of %s could not be used within %s: "+
			"%s", instance, within, why)
	}
	e.Phase = api.PhasePreExecution
	return e
}
