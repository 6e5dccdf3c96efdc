package api

import (
	"strings"
	"time"
)

// Bounds of what a run is told.
const (
	// MaxSentText bounds one message to a running agent, MaxUnseen all those that it has not read yet, both in bytes.
	MaxSentText = 256 << 10
	MaxUnseen   = 512 << 10
	// MaxUnseenMessages is how many messages a running agent has at most that it has not read yet.
	MaxUnseenMessages = 200
	// MaxControls is how many messages and pauses one history takes. A server takes 2,000 updates of a run; the rest is for what people
	// answer, so that no run waits for an answer that nobody can give any more.
	MaxControls = 1000
)

// Sent is a user's message to an agent that runs.
type Sent struct {
	Text string `json:"text"`
	// By is who sends it; a message of nobody is refused.
	By string `json:"by"`
	// ID makes a message sent twice one message. An update has an id of its own, which counts then; a signal needs this one.
	ID string `json:"id,omitempty"`
}

// Check returns what is wrong with a message whatever the run; nil if nothing is.
func (s Sent) Check() *ControlError {
	switch {
	case strings.TrimSpace(s.Text) == "":
		return malformed("the message is empty")
	case len(s.Text) > MaxSentText:
		return malformed("the message is too long: a run takes 256 KiB at a time")
	}
	return checkBy(s.By)
}

// Pause is who has a run pause, or go on again, and why.
type Pause struct {
	By     string `json:"by"`
	Reason string `json:"reason,omitempty"`
	// Since is when it began; the run fills it in.
	Since time.Time `json:"since,omitzero"`
	// OnServer is set in what is derived from history where the server holds the run, and not the run itself.
	OnServer bool `json:"on_server,omitempty"`
}

// Note says in a few words who has the run pause, and why.
func (p Pause) Note() string {
	note := "paused by " + Shorten(p.By, maxBy)
	if p.Reason != "" {
		note += ": " + Shorten(p.Reason, maxPauseReason)
	}
	return note
}

// Check returns what is wrong with who pauses a run and why; nil if nothing is.
func (p Pause) Check() *ControlError {
	if len(p.Reason) > maxPauseReason {
		return malformed("the reason is too long")
	}
	return checkBy(p.By)
}

// maxPauseReason is what servers take as a reason, in bytes.
const maxPauseReason = 1000

func checkBy(by string) *ControlError {
	switch {
	case strings.TrimSpace(by) == "":
		return malformed("nobody is named who says so")
	case len(by) > maxBy:
		return malformed("the name of who says so is too long")
	}
	return nil
}

func malformed(message string) *ControlError {
	return &ControlError{Type: ControlMalformed, Message: message}
}

// ControlErrorType names why a run did not take a message, a pause or its end. These are the types of the failures of
// SendUpdate, PauseUpdate and ResumeUpdate.
type ControlErrorType string

const (
	// ControlMalformed: what came is empty, too long, or nobody's.
	ControlMalformed ControlErrorType = "control_malformed"
	// SendNoAgent: the run is not an agent's, and reads no messages.
	SendNoAgent ControlErrorType = "no_agent"
	// SendFull: the run has as many unread messages as it takes; it takes more when it has read them.
	SendFull ControlErrorType = "messages_unread"
	// ControlFull: the run's history takes no more messages and pauses; an agent takes more when it goes on in a fresh one.
	ControlFull ControlErrorType = "too_many_updates"
	// RunEnding: the run makes no more model steps, or is ending.
	RunEnding ControlErrorType = "run_ending"
	// PauseAlready: the run is paused, so that it cannot be paused again.
	PauseAlready ControlErrorType = "paused_already"
	// NotPaused: the run is not paused, so that it cannot be resumed.
	NotPaused ControlErrorType = "not_paused"
)

// ControlError is why a run did not do what it was told.
type ControlError struct {
	Type    ControlErrorType `json:"type"`
	Message string           `json:"message"`
}

func (e *ControlError) Error() string { return e.Message }
