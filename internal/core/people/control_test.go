package people

import (
	"strings"
	"testing"

	"github.com/switchyard/switchyard/api"
)

// The length of the text is limited.
func TestSent_NeedsTextAndSender(t *testing.T) {
	for _, test := range []struct {
		name string
		sent api.Sent
		says string
	}{
		{"good", api.Sent{Text: strings.Repeat("x", api.MaxSentText), By: strings.Repeat("b", maxBy)}, ""},
		{"empty", api.Sent{Text: " \n", By: "ada"}, "the message is empty"},
		{"too long", api.Sent{Text: strings.Repeat("x", api.MaxSentText+1), By: "ada"},
			"the message is too long: the maximum is 256 KiB"},
		{"without a sender", api.Sent{Text: "x", By: " "}, "the name of the caller is missing"},
		{"of a long name", api.Sent{Text: "x", By: strings.Repeat("b", maxBy+1)},
			"the name of the caller is too long"},
	} {
		checkControl(t, test.name, CheckMessage(test.sent), test.says)
	}
}

// The length of the reason is limited by the server.
func TestPause_NeedsAnAuthor(t *testing.T) {
	checkControl(t, "good", CheckPause(api.Pause{By: "ada", Reason: strings.Repeat("r", maxPauseReason)}),
		"")
	checkControl(t, "without an author", CheckPause(api.Pause{}),
		"the name of the caller is missing")
	checkControl(t, "with a long reason", CheckPause(api.Pause{By: "ada", Reason: strings.Repeat("r",
		maxPauseReason+1)}), "the reason is too long")
	if got := PauseNote((api.Pause{By: "ada"})) + "; " +
		PauseNote((api.Pause{By: "ada", Reason: "a look"})); got != "paused by ada; paused by ada: a look" {
		t.Errorf("it says %q", got)
	}
}

func checkControl(t *testing.T, name string, e *api.ControlError, says string) {
	t.Helper()
	switch {
	case e == nil && says != "", e != nil && (says == "" || e.Type != api.ControlMalformed ||
		e.Error() != says):
		t.Errorf("%s: got %v, want %q", name, e, says)
	}
}
