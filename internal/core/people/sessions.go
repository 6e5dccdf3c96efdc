package people

import (
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/value/display"
)

// maxSessionKey bounds SessionCall.Key, in bytes.
const maxSessionKey = 256

// maxSessionWait bounds SessionCall.Wait.
const maxSessionWait = api.Duration(10 * time.Minute)

// sessionCallIDs is what the IDs of session calls match. IDs of activities of the run itself have a
// slash, a dot, or are those of steps.
var sessionCallIDs = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

func isSessionCallID(id string) bool {
	return sessionCallIDs.MatchString(id) && id != api.SummaryStepID && id != api.LimitCall &&
		api.StepTurn(id) == 0
}

// CheckSessionCall returns why the call is invalid for any session; nil if it is valid.
func CheckSessionCall(c api.SessionCall) *api.ControlError {
	switch {
	case !isSessionCallID(c.ID):
		return malformedError(fmt.Sprintf("the call id %q is invalid: use 1 to 64 letters, digits, "+
			"- and _, and none of summary, limit and turn-N", display.Shorten(c.ID, 100)))
	case strings.TrimSpace(c.Tool) == "":
		return malformedError("the tool of the call is missing")
	case c.Caller.ID == "":
		return malformedError("the caller of the call is missing")
	case len(c.Arguments) > api.MaxArguments:
		return malformedError(fmt.Sprintf("the arguments have %d bytes; the maximum is %d",
			len(c.Arguments), api.MaxArguments))
	case len(c.Key) > maxSessionKey:
		return malformedError(fmt.Sprintf("the key has %d bytes; the maximum is %d", len(c.Key),
			maxSessionKey))
	case c.Wait < 0 || c.Wait > maxSessionWait:
		return malformedError(fmt.Sprintf("the wait of %s is not between 0s and %s", c.Wait,
			maxSessionWait))
	}
	return nil
}

// CheckCancel returns why the cancellation is invalid; nil if it is valid.
func CheckCancel(c api.CancelCall) *api.ControlError {
	return CheckPause(api.Pause{By: c.By, Reason: c.Reason})
}

// CancelNote returns who cancelled the call, and why, in a few words.
func CancelNote(c api.CancelCall) string { return actionNote("cancelled", c.By, c.Reason) }

// CheckEnd returns why the end of the session is invalid; nil if it is valid.
func CheckEnd(e api.EndSession) *api.ControlError {
	if e.Grace < 0 {
		return malformedError("the grace is negative")
	}
	return CheckPause(api.Pause{By: e.By, Reason: e.Reason})
}
