package api

import (
	"strings"
	"testing"
)

// The length of the text is limited.
func TestSent_NeedsTextAndSender(t *testing.T) {
	for _, test := range []struct {
		name string
		sent Sent
		says string
	}{
		{"good", Sent{Text: strings.Repeat("x", MaxSentText), By: strings.Repeat("b", maxBy)}, ""},
		{"empty", Sent{Text: " \n", By: "ada"}, "the message is empty"},
		{"too long", Sent{Text: strings.Repeat("x", MaxSentText+1), By: "ada"},
			"the message is too long: the maximum is 256 KiB"},
		{"without a sender", Sent{Text: "x", By: " "}, "the name of the caller is missing"},
		{"of a long name", Sent{Text: "x", By: strings.Repeat("b", maxBy+1)},
			"the name of the caller is too long"},
	} {
		checkControl(t, test.name, test.sent.Check(), test.says)
	}
}

// The length of the reason is limited by the server.
func TestPause_NeedsAnAuthor(t *testing.T) {
	checkControl(t, "good", Pause{By: "ada", Reason: strings.Repeat("r", maxPauseReason)}.Check(),
		"")
	checkControl(t, "without an author", Pause{}.Check(),
		"the name of the caller is missing")
	checkControl(t, "with a long reason", Pause{By: "ada", Reason: strings.Repeat("r",
		maxPauseReason+1)}.Check(), "the reason is too long")
	if got := (Pause{By: "ada"}).Note() + "; " +
		(Pause{By: "ada", Reason: "a look"}).Note(); got != "paused by ada; paused by ada: a look" {
		t.Errorf("it says %q", got)
	}
}

func checkControl(t *testing.T, name string, e *ControlError, says string) {
	t.Helper()
	switch {
	case e == nil && says != "", e != nil && (says == "" || e.Type != ControlMalformed ||
		e.Error() != says):
		t.Errorf("%s: got %v, want %q", name, e, says)
	}
}
