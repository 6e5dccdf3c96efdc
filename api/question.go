package api

import (
	"cmp"
	"encoding/json"
	"fmt"
	"time"
)

// Bounds of what is asked, in bytes.
const (
	MaxQuestionText   = 16 << 10
	MaxQuestionSchema = 64 << 10
)

// Question is something that a run waits for a person to answer: a call of a human tool, or what a tool asks in the
// middle of a call. It stands in the run's memory and is rebuilt from history, so that nobody need be connected.
type Question struct {
	// ID is unique in its run: the call's id, with "/1", "/2" … for what a tool asks during the call.
	ID   string `json:"id"`
	Call string `json:"call_id"`
	Tool string `json:"tool"`
	Text string `json:"text"`
	// Schema is the JSON Schema that an answer must fit; empty takes any JSON value.
	Schema json.RawMessage `json:"schema,omitempty"`
	Asked  time.Time       `json:"asked,omitzero"`
	// Until is when the question is given up; zero for never.
	Until time.Time `json:"until,omitzero"`
}

// QuestionID returns the id of the nth question, from 1, that a call asks in its middle.
func QuestionID(callID string, n int) string { return fmt.Sprintf("%s/%d", callID, n) }

// Reply is what a person says to a question.
type Reply struct {
	// Question is the question's id.
	Question string `json:"question"`
	// Value is the answer, a JSON value; unset where the person declines.
	Value json.RawMessage `json:"value,omitempty"`
	// Decline says that there will be no answer.
	Decline bool `json:"decline,omitempty"`
	// By is who answers; an answer of nobody is refused.
	By     string `json:"by"`
	Reason string `json:"reason,omitempty"`
}

// Note says in a few words who replied, and why.
func (r Reply) Note() string {
	what := "answered by "
	if r.Decline {
		what = "declined by "
	}
	note := what + Shorten(r.By, maxBy)
	if r.Reason != "" {
		note += ": " + Shorten(r.Reason, maxReason)
	}
	return note
}

// Denied is the error of a call whose question was declined.
func (r Reply) Denied() *Error {
	e := Errorf(ErrApprovalDenied, "%s", r.Note())
	e.Phase = PhaseExecution
	return e
}

// NotAnswered is the error of a question that was given up.
func NotAnswered(tool string, within Duration) *Error {
	e := Errorf(ErrApprovalTimeout, "nobody answered what %s asks within %s", tool, within)
	e.Phase = PhaseExecution
	return e
}

// maxBy and maxReason bound who answers and why, in bytes.
const (
	maxBy     = 200
	maxReason = 2000
)

// Check returns what is wrong with a reply whatever the question; nil if nothing is.
func (r Reply) Check() *ReplyError {
	return malformedReply(
		replyFault{IsBlankIdentity(r.By), "the reply does not say whose it is"},
		replyFault{len(r.By) > maxBy, "the name of who replies is too long"},
		replyFault{len(r.Reason) > maxReason, "the reason is too long"},
		replyFault{r.Decline && len(r.Value) > 0, "a reply has a value or declines, not both"},
		replyFault{!r.Decline && len(r.Value) == 0, "the reply has no value, and does not decline"},
		replyFault{len(r.Value) > MaxPayload, "the answer is too large: histories take at most 1.5 MiB of JSON"},
	)
}

// replyFault is something that may be wrong with a reply or a decision, and whether it is.
type replyFault struct {
	is      bool
	message string
}

// malformedReply returns the first fault that there is; nil if there is none.
func malformedReply(faults ...replyFault) *ReplyError {
	for _, fault := range faults {
		if fault.is {
			return &ReplyError{Type: ReplyMalformed, Message: fault.message}
		}
	}
	return nil
}

// ReplyErrorType names why a question or a reply to one was refused. These are the types of the failures of AskUpdate and
// ReplyUpdate, whose details are the whole ReplyError.
type ReplyErrorType string

const (
	// ReplyMalformed: the reply is none, whatever the question.
	ReplyMalformed ReplyErrorType = "reply_malformed"
	// ReplyUnknown: the run has no such question.
	ReplyUnknown ReplyErrorType = "question_unknown"
	// ReplyClosed: the question has been answered, declined, withdrawn or given up. A question takes one reply.
	ReplyClosed ReplyErrorType = "question_closed"
	// ReplyBusy: another reply to the question is being checked, or so many calls ask that this one has to wait.
	ReplyBusy ReplyErrorType = "question_busy"
	// ReplyUnfit: the value does not fit the question's schema; the question stays open.
	ReplyUnfit ReplyErrorType = "reply_unfit"
	// ReplyEarly: the call waits for a worker of its lane, so that it cannot be declined yet.
	ReplyEarly ReplyErrorType = "call_not_started"
	// ReplyTimeout: nobody answered in time.
	ReplyTimeout ReplyErrorType = "question_timeout"
	// AskRefused: the call may not ask this.
	AskRefused ReplyErrorType = "ask_refused"
)

// ReplyError is why a question or a reply was refused.
type ReplyError struct {
	Type    ReplyErrorType `json:"type"`
	Message string         `json:"message"`
	// Problems are all faults of the value, of a reply that does not fit.
	Problems []Problem `json:"problems,omitempty"`
	// Open are the ids of the questions that are open, where the reply meant another.
	Open []string `json:"open,omitempty"`
}

func (e *ReplyError) Error() string { return cmp.Or(e.Message, string(e.Type)) }

// ReplyRequest is the input of ReplyActivity: a reply that is well formed, to an open question.
type ReplyRequest struct {
	Reply    Reply    `json:"reply"`
	Question Question `json:"question"`
	// Tool, Origin and Notes are those of a call that is itself the question.
	Tool   *Tool    `json:"tool,omitempty"`
	Origin Origin   `json:"origin,omitzero"`
	Notes  []string `json:"notes,omitempty"`
	// Hooks, Arguments and Parent are those of such a call, as in SettleRequest.
	Hooks     []Hook          `json:"hooks,omitempty"`
	Arguments json.RawMessage `json:"arguments,omitempty"`
	Parent    string          `json:"parent,omitempty"`
	// Complete says that the reply fits and is to end that call.
	Complete bool `json:"complete,omitempty"`
}

// ReplyVerdict is what ReplyActivity found.
type ReplyDecision struct {
	// Problems are why the value does not fit; with any the question stays open.
	Problems []Problem `json:"problems,omitempty"`
	// Early says that the call is not at a worker yet and cannot be declined so far; the question stays open.
	Early bool `json:"early,omitempty"`
}
