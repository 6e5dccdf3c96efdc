package people

import (
	"strings"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/value/display"
)

// CheckMessage returns why the message is invalid for any run; nil if it is valid.
func CheckMessage(s api.Sent) *api.ControlError {
	switch {
	case strings.TrimSpace(s.Text) == "":
		return malformedError("the message is empty")
	case len(s.Text) > api.MaxSentText:
		return malformedError("the message is too long: the maximum is 256 KiB")
	}
	return checkBy(s.By)
}

// PauseNote returns who pauses the run, and why, in a few words.
func PauseNote(p api.Pause) string {
	return actionNote("paused", p.By, p.Reason)
}

// CheckPause returns why the pause is invalid; nil if it is valid.
func CheckPause(p api.Pause) *api.ControlError {
	if len(p.Reason) > maxPauseReason {
		return malformedError("the reason is too long")
	}
	return checkBy(p.By)
}

// maxPauseReason is the longest reason that servers accept, in bytes.
const maxPauseReason = 1000

func checkBy(by string) *api.ControlError {
	switch {
	case strings.TrimSpace(by) == "":
		return malformedError("the name of the caller is missing")
	case len(by) > maxBy:
		return malformedError("the name of the caller is too long")
	}
	return nil
}

func malformedError(message string) *api.ControlError {
	return &api.ControlError{Type: api.ControlMalformed, Message: message}
}

// CloseNote returns who closes the instance, and why, in a few words.
func CloseNote(c api.CloseInstance) string {
	return actionNote("closed", c.By, c.Reason)
}

// actionNote says in one line what a person did and why, for example "paused by ana: too slow".
func actionNote(action, by, reason string) string {
	note := action + " by " + display.Shorten(by, maxBy)
	if reason != "" {
		note += ": " + display.Shorten(reason, maxPauseReason)
	}
	return note
}

// CheckClose returns why the closing is invalid for any run; nil if it is valid.
func CheckClose(c api.CloseInstance) *api.ControlError {
	switch {
	case strings.TrimSpace(c.Instance) == "":
		return malformedError("the name of the instance is missing")
	case len(c.Reason) > maxPauseReason:
		return malformedError("the reason is too long")
	}
	return checkBy(c.By)
}
