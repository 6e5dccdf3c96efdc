package keeper

import (
	"cmp"
	"fmt"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/failures"
	"github.com/switchyard/switchyard/internal/core/instancerules"
)

// EndsTool reports whether the instance of tool is lost for a run that receives e although it is
// addressed to another run of the conversation.
func EndsTool(e instancerules.Ended, tool api.Tool) bool {
	return e.Error != nil && e.Error.Type == api.ErrWorkerLost &&
		tool.Scope == api.ScopeConversation &&
		tool.InstanceName() == e.Instance && tool.OnLoss != api.OnLossRecreate
}

// InstanceHostError maps a failure of HostInstanceActivity to the error of the calls of tool that
// wait for the instance: it could not be made, or it was lost, and why. adopts says that the
// activity was to adopt a living instance. A cancelled activity has no error.
func InstanceHostError(f failures.ActivityFailure, tool api.Tool, adopts bool) (e *api.Error,
	lost string) {
	if f.Cancelled {
		return nil, ""
	}
	if f.Timeout == failures.TimeoutScheduleToStart && !adopts {
		e = api.Errorf(api.ErrQueueTimeout, "no worker of lane %s took the session of %s within %s; a worker "+
			"hosts sessions on this lane while it has a toolspec of an MCP tool with the lane",
			tool.Lane, tool.Name, tool.HostWithin)
		e.Phase = api.PhasePreExecution
		return e, ""
	}
	lost = "its worker was lost or could not reach Temporal"
	if f.Timeout == "" {
		if e = failures.CallError(f, tool, api.Route{}); e.Type != api.ErrWorkerLost {
			return e, ""
		}
		lost = cmp.Or(e.Message, lost)
	}
	return InstanceLost(tool, lost), lost
}

// joinError maps a failure of JoinInstanceActivity to the error of the calls of tool that wait for
// the instance with that name.
func joinError(f failures.ActivityFailure, tool api.Tool, instance string) *api.Error {
	var e api.Error
	if f.Details != nil && f.Details(&e) == nil && e.Type.Known() {
		return &e
	}
	why := f.Message
	if f.Timeout != "" {
		why = "no worker of the run answered"
	}
	return failures.NotJoined(tool.HostWithin, instance, why)
}

// HostNeverStarted reports whether a HostInstanceActivity ended before a call could start on its
// instance: the worker's first heartbeat did not arrive, for example because the task got lost
// between the server and the worker, or the worker was lost or stopped while it created the
// instance. It is not so for a request to adopt an instance.
func HostNeverStarted(f failures.ActivityFailure) bool {
	var left api.InstanceProgress
	switch {
	case f.Timeout == failures.TimeoutHeartbeat:
		return f.LastHeartbeat == nil || f.LastHeartbeat(&left) == nil && left.Creating
	case f.Timeout == "" && f.Left != nil:
		return f.Left(&left) == nil && left.Creating
	}
	return false
}

// InstanceLost is the error of every call of a tool whose instance was lost with on_loss: fail.
func InstanceLost(tool api.Tool, why string) *api.Error {
	others := ""
	if tool.Instance != "" {
		others = ", or other tools of " + tool.Instance + ","
	}
	return &api.Error{Type: api.ErrWorkerLost, Phase: api.PhaseExecution,
		Message: fmt.Sprintf("the state of %s in this %s was lost (on_loss: fail): %s; do not call "+
			"%s%s again in this run", tool.InstanceName(), cmp.Or(tool.Scope, api.ScopeRun), why,
			tool.Name, others)}
}
