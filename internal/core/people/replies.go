package people

import (
	"strings"
	"unicode"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/value/display"
	"github.com/switchyard/switchyard/internal/value/jsonvalue"
)

// ReplyNote returns who replied, and why, in a few words.
func ReplyNote(r api.Reply) string {
	what := "answered by "
	if r.Decline {
		what = "declined by "
	}
	note := what + display.Shorten(r.By, maxBy) + authNote(r.Auth)
	if r.Reason != "" {
		note += ": " + display.Shorten(r.Reason, maxReason)
	}
	return note
}

// RefusalError is the error of a call whose question was declined.
func RefusalError(r api.Reply) *api.Error {
	e := api.Errorf(api.ErrApprovalDenied, "%s", ReplyNote(r))
	e.Phase = api.PhaseExecution
	return e
}

// maxBy and maxReason bound identity and reason, in bytes.
const (
	maxBy     = 200
	maxReason = 2000
)

// CheckReply returns why a reply is invalid for any question; nil if it is valid.
func CheckReply(r api.Reply) *api.ReplyError {
	return malformedReply(
		replyFault{isBlankIdentity(r.By), "the reply has no name"},
		replyFault{len(r.By) > maxBy, "the name of the person who replies is too long"},
		replyFault{!isAuthMethod(r.Auth), noAuthMethod},
		replyFault{len(r.Reason) > maxReason, "the reason is too long"},
		replyFault{r.Decline && len(r.Value) > 0, "a reply either has a value or declines"},
		replyFault{!r.Decline && len(r.Value) == 0, "the reply neither has a value nor declines"},
		replyFault{jsonvalue.PayloadSize(r.Value) > api.MaxPayload,
			"the answer is too large: the maximum is 1.5 MiB of JSON"},
	)
}

// replyFault is a possible fault of a reply or a decision, and whether it applies.
type replyFault struct {
	is      bool
	message string
}

// malformedReply returns the first fault that applies; nil if none does.
func malformedReply(faults ...replyFault) *api.ReplyError {
	for _, fault := range faults {
		if fault.is {
			return &api.ReplyError{Type: api.ReplyMalformed, Message: fault.message}
		}
	}
	return nil
}

// isBlankIdentity reports whether a text identifies no person: it has no visible letter or digit.
func isBlankIdentity(by string) bool {
	return !strings.ContainsFunc(by, func(r rune) bool {
		return unicode.In(r, unicode.L, unicode.N) &&
			!unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r)
	})
}

// noAuthMethod refuses an AuthMethod that is not known.
const noAuthMethod = "the method of authentication must be jwt, api_key, oidc, link or loopback, " +
	"or empty"

// authNote returns the method in brackets, to follow a name; empty for none.
func authNote(m api.AuthMethod) string {
	if m == "" {
		return ""
	}
	return " (" + string(m) + ")"
}

func isAuthMethod(m api.AuthMethod) bool {
	return m == "" || m == api.AuthToken || m == api.AuthKey || m == api.AuthOIDC || m == api.AuthLink ||
		m == api.AuthLoopback
}
