package api

import "time"

// Session is what the input of a session run has instead of an agent, a plan or a call. The calls
// of the run arrive as SubmitCallsUpdate.
type Session struct {
	// Client is the program that has the session, as "claude-code 2.1.0"; empty if it is unknown.
	Client string `json:"client,omitempty"`
	// IdleTimeout ends the session when no call has run for that long; zero is
	// DefaultSessionIdleTimeout.
	IdleTimeout Duration `json:"idle_timeout,omitzero"`
	// Limits bound the whole session, over all its executions. Turns, Repeats, OnReached and
	// AskTimeout do not apply.
	Limits Limits `json:"limits,omitzero"`
}

// DefaultSessionIdleTimeout is the default of Session.IdleTimeout.
const DefaultSessionIdleTimeout = Duration(30 * time.Minute)

// MaxSessionInFlight bounds the calls of a session that have not ended.
const MaxSessionInFlight = 500

// SessionCall is one of the calls of a SubmitCallsUpdate.
type SessionCall struct {
	// ID identifies the call in its session: 1 to 64 letters, digits, "-" and "_". A call whose ID
	// the session knows is not made again.
	ID string `json:"call_id"`
	// Tool and Arguments are those of a Call.
	Tool      string `json:"tool"`
	Arguments string `json:"arguments"`
	// Key is an idempotency key that the client chose. A call with the key of an earlier one of the
	// session is that call.
	Key string `json:"key,omitempty"`
	// Wait is how long the update waits for the end of the call, at most 10 minutes; zero returns
	// at once, as does an update with several calls. The update returns earlier when the call
	// awaits an approval or an answer, and while many others of the session wait.
	Wait Duration `json:"wait,omitzero"`
	// Caller is who asks, as of this request: policies, approvals and records of the call have it.
	// Its Type is not used. Required is the ID.
	Caller Caller `json:"caller,omitzero"`
	// Trace is the W3C traceparent of the request, MCP the message that asks for the call.
	Trace string      `json:"trace,omitempty"`
	MCP   *MCPMessage `json:"mcp,omitempty"`
	// New says that the ID is random and was never submitted, so that no session can know it.
	New bool `json:"-"`
}

// SessionCallState is the state of a call of a session.
type SessionCallState string

// The states of a call of a session.
const (
	SessionCallRunning SessionCallState = "running"
	// SessionCallAwaitsApproval and SessionCallAwaitsAnswer are running calls that wait for a
	// person.
	SessionCallAwaitsApproval SessionCallState = "awaits_approval"
	SessionCallAwaitsAnswer   SessionCallState = "awaits_answer"
	SessionCallEnded          SessionCallState = "ended"
	// SessionCallUnknown: the execution that was asked does not know the call.
	SessionCallUnknown SessionCallState = "unknown"
)

// SessionCallStatus answers SubmitCallsUpdate and CallStatusQuery.
type SessionCallStatus struct {
	// ID is that of the call, which is an earlier one if Attached is set.
	ID    string           `json:"call_id"`
	State SessionCallState `json:"state"`
	// Attached says that the submitted call repeats an earlier one: the same key, or the same tool
	// and arguments as a once call that has not ended or whose outcome is unknown.
	Attached bool `json:"attached,omitempty"`
	// RunID is the execution of the session that makes the call. It answers CallStatusQuery with
	// the outcome for as long as the server keeps its history. Empty for an unknown call.
	RunID string `json:"run_id,omitempty"`
	// Outcome is set if the call has ended, and the one who answers has its outcome: an update if
	// the outcome is small, a query of a later execution than RunID for some recent calls.
	Outcome *CallOutcome `json:"outcome,omitempty"`
	// Approval or Question is what the call waits for.
	Approval *Approval `json:"approval,omitempty"`
	Question *Question `json:"question,omitempty"`
	// Caller is who asked for the call, without claims; only answers of CallStatusQuery have it.
	Caller *Caller `json:"caller,omitempty"`
}

// CancelCall is the argument of CancelCallUpdate. It returns at once; the call ends when its tool
// has stopped. Cancelling a call that has ended has no effect.
type CancelCall struct {
	ID     string `json:"call_id"`
	By     string `json:"by"`
	Reason string `json:"reason,omitempty"`
}

// LeaveCall is the argument of LeaveCallUpdate: the client of a submitted call is gone without its
// result. The call goes on. If it is a once call, and the clients of all calls that repeat it are
// gone, too, the next equal call gets its result, up to five minutes after its end.
type LeaveCall struct {
	// ID is that of the submitted call, also of one that repeats another.
	ID string `json:"call_id"`
}

// EndSession is the argument of EndSessionUpdate. The session takes no more calls from then on.
// Calls that have not ended after Grace are cancelled; zero cancels them at once.
type EndSession struct {
	By     string   `json:"by"`
	Reason string   `json:"reason,omitempty"`
	Grace  Duration `json:"grace,omitzero"`
}

// SessionState is the part of a ContinueState that only sessions have.
type SessionState struct {
	// Calls are the newest calls of the session that have ended and all that wait for approval, in
	// the order in which they were submitted.
	Calls []SessionRecord `json:"calls,omitempty"`
}

// SessionRecord is what a session remembers of a call that has ended.
type SessionRecord struct {
	ID  string `json:"call_id"`
	Key string `json:"key,omitempty"`
	// Caller is who asked for the call, without claims.
	Caller Caller `json:"caller,omitzero"`
	// Digest is the CallDigest of a call that may have taken effect, or whose clients left without
	// its outcome; empty for others.
	Digest string `json:"digest,omitempty"`
	// Unknown is set if it is unknown whether the call took effect.
	Unknown bool `json:"unknown,omitempty"`
	// Left is when the client of this submission left without the outcome; zero if it has not.
	Left time.Time `json:"left,omitzero"`
	// Attached is the ID of the earlier call that this one repeats; empty for most.
	Attached string `json:"attached,omitempty"`
	// RunID is the execution that made the call.
	RunID   string       `json:"run_id,omitempty"`
	Outcome *CallOutcome `json:"outcome,omitempty"`
	// Waiting is set for a call that has not ended, because it waits for approval.
	Waiting *WaitingCall `json:"waiting,omitempty"`
}

// WaitingCall is a call of a session that waits for approval while the session continues as new.
type WaitingCall struct {
	Call     SessionCall       `json:"call"`
	Decision AdmissionDecision `json:"decision"`
	// Asked and Until are those of the Approval.
	Asked time.Time `json:"asked"`
	Until time.Time `json:"until"`
}
