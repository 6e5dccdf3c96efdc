package cli

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/switchyard/switchyard/audit"
	"github.com/switchyard/switchyard/audit/history"
	"go.temporal.io/api/serviceerror"
)

// TestUnread proves that runs which cannot be read are told of by their reasons, each reason once
// with the runs, and end a command with exit code 1, and that no error about more than one run
// counts as one.
func TestUnread(t *testing.T) {
	noKey := func(id string) error {
		return fmt.Errorf("run %s: %w: %w", id, history.ErrUnreadable,
			serviceerror.NewFailedPrecondition(`it is encrypted with the key "k9"`))
	}
	var u Unread
	for i := range 23 {
		id := fmt.Sprint("run-", i)
		if !u.Take(id, "r", noKey(id)) {
			t.Fatalf("%s is not noted", id)
		}
	}
	if !u.Take("foreign", "", fmt.Errorf("event 1: %w: its input: no JSON",
		history.ErrUnreadable)) {
		t.Error("one whose history is no run's is not noted")
	}
	for _, err := range []error{errors.New("x"), audit.ErrNotFound,
		serviceerror.NewUnavailable("away")} {
		if u.Take("x", "", err) {
			t.Errorf("%v counts as a run's", err)
		}
	}
	for output, want := range map[string][]string{
		"text": {"starter: 24 runs cannot be read", "  foreign: event 1: ", "  run-0, run-1, ",
			` and 3 more: it is encrypted with the key "k9"` + "\n"},
		"json": {`"error":"24 runs cannot be read`, `"unread":[{"workflow_id":"foreign",`,
			`{"workflow_id":"run-22","run_id":"r","reason":"it is encrypted`},
	} {
		var said bytes.Buffer
		a := &App{Stdio: Stdio{Out: &said, Err: &said}}
		a.Format.Output = output
		if code := a.Report(u.Err()); code != ExitFailed {
			t.Errorf("%s: exit code %d", output, code)
		}
		for _, text := range want {
			if !strings.Contains(said.String(), text) {
				t.Errorf("%s: %q is not in\n%s", output, text, said.String())
			}
		}
		if strings.Count(said.String(), "k9") > 1 && output == "text" {
			t.Errorf("a reason is told twice:\n%s", said.String())
		}
	}
	if none := (Unread{}); none.Err() != nil || none.Exit(nil) != nil || u.Exit(nil) == nil {
		t.Error("what there is does not decide how a command ends")
	}
}
