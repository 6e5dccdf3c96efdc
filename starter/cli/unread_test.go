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

// Runs that cannot be read are listed by reason and end the command with exit code 1. An error
// about several runs counts once per run.
func TestUnread_ReportsEachReasonOnce(t *testing.T) {
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
		var out bytes.Buffer
		a := &App{Stdio: Stdio{Out: &out, Err: &out}}
		a.Format.Output = output
		if code := a.Report(u.Err()); code != ExitFailed {
			t.Errorf("%s: exit code %d", output, code)
		}
		for _, text := range want {
			if !strings.Contains(out.String(), text) {
				t.Errorf("%s: %q is not in\n%s", output, text, out.String())
			}
		}
		if strings.Count(out.String(), "k9") > 1 && output == "text" {
			t.Errorf("a reason is printed twice:\n%s", out.String())
		}
	}
	if none := (Unread{}); none.Err() != nil || none.Exit(nil) != nil || u.Exit(nil) == nil {
		t.Error("what there is does not decide how a command ends")
	}
}
