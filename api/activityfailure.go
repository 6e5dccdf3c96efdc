package api

// TimeoutKind names the activity timeout that expired, after Temporal's enum of timeout types. The
// empty kind is no timeout.
type TimeoutKind string

// The timeouts that matter to a call.
const (
	TimeoutScheduleToStart TimeoutKind = "ScheduleToStart"
	TimeoutHeartbeat       TimeoutKind = "Heartbeat"
)

// ActivityFailure is what Temporal reports of a tool's activity that returned no result. Workflows
// read it from the SDK's errors and the audit from history; CallError is the only place that maps
// it to an error of the closed set.
type ActivityFailure struct {
	Timeout   TimeoutKind
	Cancelled bool
	// Type and Message are those of the failure that the activity returned.
	Type    string
	Message string
	// Details decodes the first of the failure's details; nil where there are none.
	Details func(any) error
	// LastHeartbeat decodes the details of the activity's last heartbeat; nil where there are none,
	// or where no timeout expired.
	LastHeartbeat func(any) error
}

// CallError maps a failure of tool's activity to the closed set of errors. route is the call's
// route. NotStarted of the error says that the run has to requeue the call.
func (f ActivityFailure) CallError(tool Tool, route Route) *Error {
	e := f.callError(tool.On(route), route)
	// An inline call or a child workflow is not requeued by scheduling an activity.
	e.NotStarted = e.NotStarted && tool.Kind == "" && tool.Lane != LaneInline
	return e
}

func (f ActivityFailure) callError(tool Tool, route Route) *Error {
	switch {
	case f.requeued(route):
		return lostWaiting(tool.Lane)
	case f.Timeout != "":
		return timeoutError(f.Timeout, tool)
	case f.Cancelled:
		return &Error{Type: ErrCancelled, Message: "the run was cancelled while this call waited or ran", Phase: PhaseExecution}
	}
	var e Error
	if ErrorType(f.Type).Known() && f.Details != nil && f.Details(&e) == nil && e.Type.Known() {
		return &e
	}
	return &Error{Type: ErrExecution, Message: f.Message, Phase: PhaseExecution}
}

func timeoutError(kind TimeoutKind, tool Tool) *Error {
	if tool.Kind == KindHuman && (kind != TimeoutScheduleToStart || tool.QueueTimeout == 0) {
		return NotAnswered(tool.Name, tool.AnswerWithin)
	}
	e := &Error{Phase: PhaseExecution}
	switch {
	case kind == TimeoutScheduleToStart:
		e.Type, e.Phase = ErrQueueTimeout, PhasePreExecution
		e.Message = "no worker of lane " + tool.Lane + " took the call within " + tool.QueueTimeout.String()
	case kind == TimeoutHeartbeat:
		e.Type, e.Message = ErrWorkerLost, "the worker that ran "+tool.Name+" was lost, at every attempt"
	default:
		e.Type, e.Message = ErrTimeout, tool.Name+" did not answer within "+tool.Timeout.String()
	}
	if tool.Effect == EffectOnce && kind != TimeoutScheduleToStart {
		e.Type = ErrOutcomeUnknown
		if kind == TimeoutHeartbeat {
			e.Message = "the worker that ran " + tool.Name + " was lost before it reported"
		}
	}
	return e
}
