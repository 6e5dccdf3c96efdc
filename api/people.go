package api

import (
	"cmp"
	"encoding/json"
	"fmt"
	"time"

	"github.com/switchyard/switchyard/internal/value/jsonvalue"
)

// Bounds of questions, in bytes.
const (
	MaxQuestionText   = 16 << 10
	MaxQuestionSchema = 64 << 10
)

// Question is a question that a run asks a person: a call of a human tool, or one that a tool asks
// during a call. It is part of the run's state and rebuilt from history.
type Question struct {
	// ID is unique in its run: the call's id, with "/1", "/2" and so on for what a tool asks during
	// the call.
	ID   string `json:"id"`
	Call string `json:"call_id"`
	Tool string `json:"tool"`
	// Name is what an MCP server calls the question; empty for none.
	Name string `json:"name,omitempty"`
	Text string `json:"text"`
	// Schema is the JSON Schema of the answer; empty accepts any JSON value.
	Schema json.RawMessage `json:"schema,omitempty"`
	Asked  time.Time       `json:"asked,omitzero"`
	// Until is when the question expires; zero for never.
	Until time.Time `json:"until,omitzero"`
}

// Size returns at most how many bytes the question takes in a payload.
func (q Question) Size() int {
	return jsonvalue.TextSize(q.Text) + jsonvalue.TextSize(q.Name) + jsonvalue.PayloadSize(q.Schema)
}

// QuestionID returns the id of the nth question, from 1, that a tool asks during a call.
func QuestionID(callID string, n int) string { return fmt.Sprintf("%s/%d", callID, n) }

// Reply is a person's reply to a question.
type Reply struct {
	// Question is the id of the question.
	Question string `json:"question"`
	// Value is the answer, a JSON value; unset if the person declines.
	Value json.RawMessage `json:"value,omitempty"`
	// Decline says that the person gives no answer.
	Decline bool `json:"decline,omitempty"`
	// By identifies who answers and must not be blank. Auth is how By was authenticated.
	By     string     `json:"by"`
	Auth   AuthMethod `json:"auth,omitempty"`
	Reason string     `json:"reason,omitempty"`
}

// ReplyErrorType says why a question or a reply was refused. It is the failure type of
// AskQuestionUpdate and AnswerQuestionUpdate, whose details are the whole ReplyError.
type ReplyErrorType string

const (
	// ReplyMalformed: the reply is invalid for any question.
	ReplyMalformed ReplyErrorType = "reply_malformed"
	// ReplyUnknown: the run has no such question.
	ReplyUnknown ReplyErrorType = "question_unknown"
	// ReplyClosed: the question has been answered, declined or withdrawn, or it expired. A question
	// takes one reply.
	ReplyClosed ReplyErrorType = "question_closed"
	// ReplyBusy: another reply to the question is being checked, or too many calls ask at once.
	ReplyBusy ReplyErrorType = "question_busy"
	// ReplyUnfit: the value does not fit the question's schema; the question stays open.
	ReplyUnfit ReplyErrorType = "reply_unfit"
	// ReplyEarly: the call still waits for a worker, so it cannot be declined yet.
	ReplyEarly ReplyErrorType = "call_not_started"
	// ReplyTimeout: there was no answer in time.
	ReplyTimeout ReplyErrorType = "question_timeout"
	// AskRefused: the call may not ask this question.
	AskRefused ReplyErrorType = "ask_refused"
)

// ReplyError says why a question or a reply was refused.
type ReplyError struct {
	Type    ReplyErrorType `json:"type"`
	Message string         `json:"message"`
	// Problems are all faults of a value that does not fit.
	Problems []Problem `json:"problems,omitempty"`
	// Open has the ids of the open questions, if the reply named another.
	Open []string `json:"open,omitempty"`
	// Approvers are who may decide, if the person may not.
	Approvers []ApproverRule `json:"approvers,omitempty"`
}

func (e *ReplyError) Error() string { return cmp.Or(e.Message, string(e.Type)) }

// ReplyRequest is the input of CheckReplyActivity: a valid reply to an open question.
type ReplyRequest struct {
	Reply    Reply    `json:"reply"`
	Question Question `json:"question"`
	// Tool, Origin and Notes are those of a call of a human tool.
	Tool   *Tool    `json:"tool,omitempty"`
	Origin Origin   `json:"origin,omitzero"`
	Notes  []string `json:"notes,omitempty"`
	// Hooks, Arguments and Parent are those of such a call, as in FinalizeResultRequest.
	Hooks     []Hook          `json:"hooks,omitempty"`
	Arguments json.RawMessage `json:"arguments,omitempty"`
	Parent    string          `json:"parent,omitempty"`
	// Complete says that a reply that fits completes that call.
	Complete bool `json:"complete,omitempty"`
}

// ReplyDecision is the result of CheckReplyActivity.
type ReplyDecision struct {
	// Problems say why the value does not fit; the question then stays open.
	Problems []Problem `json:"problems,omitempty"`
	// Early says that the call has not reached a worker and cannot be declined yet; the question
	// stays open.
	Early bool `json:"early,omitempty"`
}

// Bounds of messages and pauses.
const (
	// MaxSentText bounds one message to a running agent and MaxUnseen all unread ones together,
	// both in bytes.
	MaxSentText = 256 << 10
	MaxUnseen   = 512 << 10
	// MaxUnseenMessages bounds the number of unread messages of a running agent.
	MaxUnseenMessages = 200
)

// Sent is a user's message to a running agent.
type Sent struct {
	Text string `json:"text"`
	// By identifies the sender and must not be blank.
	By string `json:"by"`
	// ID makes a repeated message harmless. An update is identified by its own id instead; a signal
	// needs this one.
	ID string `json:"id,omitempty"`
}

// Pause says who pauses or resumes a run, and why.
type Pause struct {
	By     string `json:"by"`
	Reason string `json:"reason,omitempty"`
	// Since is when the pause started; the run sets it.
	Since time.Time `json:"since,omitzero"`
}

// CloseInstance asks a run to close one of its instances. Running calls on it may end first, and
// the next call gets a new instance.
type CloseInstance struct {
	// Instance is the name of the instance or of a tool that uses it.
	Instance string `json:"instance"`
	By       string `json:"by"`
	Reason   string `json:"reason,omitempty"`
}

// ControlErrorType says why a run rejected a message, a pause, a resume, the close of an instance,
// or a request to a session. It is the failure type of SendMessageUpdate, PauseUpdate,
// ResumeUpdate, CloseInstanceUpdate, SubmitCallsUpdate, CancelCallUpdate, LeaveCallUpdate
// and EndSessionUpdate.
type ControlErrorType string

const (
	// ControlMalformed: the text is empty or too long, or the identity is blank.
	ControlMalformed ControlErrorType = "control_malformed"
	// SendNoAgent: the run has no agent that could read a message.
	SendNoAgent ControlErrorType = "no_agent"
	// SendFull: the run has as many unread messages as it accepts, until it reads them.
	SendFull ControlErrorType = "messages_unread"
	// ControlFull: the history accepts no more messages and pauses, because a server accepts 2,000
	// updates of a run and the last ones are for decisions and answers, until an agent continues as
	// new.
	ControlFull ControlErrorType = "too_many_updates"
	// RunEnding: the run makes no more model steps.
	RunEnding ControlErrorType = "run_ending"
	// PauseAlready: the run is already paused.
	PauseAlready ControlErrorType = "paused_already"
	// NotPaused: the run is not paused.
	NotPaused ControlErrorType = "not_paused"
	// NoInstance: the run has no such instance that is open.
	NoInstance ControlErrorType = "no_instance"
	// SessionBusy: the session is about to continue in a new history, or takes large calls of
	// others. The call was not made; send it again.
	SessionBusy ControlErrorType = "session_busy"
	// SessionFull: the session has MaxSessionInFlight calls that have not ended.
	SessionFull ControlErrorType = "session_full"
	// NoCall: the session has no such call.
	NoCall ControlErrorType = "no_call"
)

// ControlError says why a run rejected an update that controls it.
type ControlError struct {
	Type    ControlErrorType `json:"type"`
	Message string           `json:"message"`
}

func (e *ControlError) Error() string { return e.Message }
