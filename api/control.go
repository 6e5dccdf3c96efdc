package api

import (
	"strings"
	"time"
)

// Bounds of messages and pauses.
const (
	// MaxSentText bounds one message to a running agent and MaxUnseen all unread ones together,
	// both in bytes.
	MaxSentText = 256 << 10
	MaxUnseen   = 512 << 10
	// MaxUnseenMessages bounds the number of unread messages of a running agent.
	MaxUnseenMessages = 200
	// MaxControls bounds the messages and pauses of one history. A server accepts 2,000 updates of
	// a run; the rest is reserved for answers of people, so that every question can be answered.
	MaxControls = 1000
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

// Check returns why the message is invalid for any run; nil if it is valid.
func (s Sent) Check() *ControlError {
	switch {
	case strings.TrimSpace(s.Text) == "":
		return malformed("the message is empty")
	case len(s.Text) > MaxSentText:
		return malformed("the message is too long: the maximum is 256 KiB")
	}
	return checkBy(s.By)
}

// Pause says who pauses or resumes a run, and why.
type Pause struct {
	By     string `json:"by"`
	Reason string `json:"reason,omitempty"`
	// Since is when the pause started; the run sets it.
	Since time.Time `json:"since,omitzero"`
	// OnServer is set by the audit if the server, and not the run, holds the run paused.
	OnServer bool `json:"on_server,omitempty"`
}

// Note returns who pauses the run, and why, in a few words.
func (p Pause) Note() string {
	return actionNote("paused", p.By, p.Reason)
}

// Check returns why the pause is invalid; nil if it is valid.
func (p Pause) Check() *ControlError {
	if len(p.Reason) > maxPauseReason {
		return malformed("the reason is too long")
	}
	return checkBy(p.By)
}

// maxPauseReason is the longest reason that servers accept, in bytes.
const maxPauseReason = 1000

func checkBy(by string) *ControlError {
	switch {
	case strings.TrimSpace(by) == "":
		return malformed("the name of the caller is missing")
	case len(by) > maxBy:
		return malformed("the name of the caller is too long")
	}
	return nil
}

func malformed(message string) *ControlError {
	return &ControlError{Type: ControlMalformed, Message: message}
}

// CloseInstance asks a run to close one of its instances. Running calls on it may end first, and
// the next call gets a new instance.
type CloseInstance struct {
	// Instance is the name of the instance or of a tool that uses it.
	Instance string `json:"instance"`
	By       string `json:"by"`
	Reason   string `json:"reason,omitempty"`
}

// Note returns who closes the instance, and why, in a few words.
func (c CloseInstance) Note() string {
	return actionNote("closed", c.By, c.Reason)
}

// actionNote says in one line what a person did and why, for example "paused by ana: too slow".
func actionNote(action, by, reason string) string {
	note := action + " by " + Shorten(by, maxBy)
	if reason != "" {
		note += ": " + Shorten(reason, maxPauseReason)
	}
	return note
}

// Check returns why the request is invalid for any run; nil if it is valid.
func (c CloseInstance) Check() *ControlError {
	switch {
	case strings.TrimSpace(c.Instance) == "":
		return malformed("the name of the instance is missing")
	case len(c.Reason) > maxPauseReason:
		return malformed("the reason is too long")
	}
	return checkBy(c.By)
}

// ControlErrorType says why a run rejected a message, a pause, a resume, the close of an instance,
// or a request to a session. It is the failure type of SendMessageUpdate, PauseUpdate,
// ResumeUpdate, CloseInstanceUpdate, SubmitCallUpdate, CancelCallUpdate and EndSessionUpdate.
type ControlErrorType string

const (
	// ControlMalformed: the text is empty or too long, or the identity is blank.
	ControlMalformed ControlErrorType = "control_malformed"
	// SendNoAgent: the run has no agent that could read a message.
	SendNoAgent ControlErrorType = "no_agent"
	// SendFull: the run has as many unread messages as it accepts, until it reads them.
	SendFull ControlErrorType = "messages_unread"
	// ControlFull: the history accepts no more messages and pauses, until an agent continues as
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
