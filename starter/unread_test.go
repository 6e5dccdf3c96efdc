package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/switchyard/switchyard/audit"
	"github.com/switchyard/switchyard/audit/history"
	"go.temporal.io/api/serviceerror"
)

// TestUnread proves that runs which cannot be read are told of by their reasons, each reason once with the runs, and end a command with
// exit code 1, and that no error about more than one run counts as one.
func TestUnread(t *testing.T) {
	noKey := func(id string) error {
		return fmt.Errorf("run %s: %w: %w", id, history.ErrUnreadable, serviceerror.NewFailedPrecondition(`it is encrypted with the key "k9"`))
	}
	var u unread
	for i := range 23 {
		id := fmt.Sprint("run-", i)
		if !u.take(listedRun{ID: id, RunID: "r"}, noKey(id)) {
			t.Fatalf("%s is not noted", id)
		}
	}
	if !u.take(listedRun{ID: "foreign"}, fmt.Errorf("event 1: %w: its input: no JSON", history.ErrUnreadable)) {
		t.Error("one whose history is no run's is not noted")
	}
	for _, err := range []error{errors.New("x"), audit.ErrNotFound, serviceerror.NewUnavailable("away")} {
		if u.take(listedRun{ID: "x"}, err) {
			t.Errorf("%v counts as a run's", err)
		}
	}
	for output, want := range map[string][]string{
		"text": {"starter: 24 runs cannot be read", "  foreign: event 1: ", "  run-0, run-1, ", ` and 3 more: it is encrypted with the key "k9"` + "\n"},
		"json": {`"error":"24 runs cannot be read`, `"unread":[{"workflow_id":"foreign",`, `{"workflow_id":"run-22","run_id":"r","reason":"it is encrypted`},
	} {
		var said bytes.Buffer
		a := &app{Stdio: Stdio{Out: &said, Err: &said}}
		a.format.output = output
		if code := a.report(u.err()); code != exitFailed {
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
	if none := (unread{}); none.err() != nil || none.exit(nil) != nil || u.exit(nil) == nil {
		t.Error("what there is does not decide how a command ends")
	}
}

// TestUnreadOnPage proves that a page of runs of which some cannot be read is written all the same, and that these are told of: as JSON
// in the one object that tells of the page.
func TestUnreadOnPage(t *testing.T) {
	page := func(w io.Writer) error { _, err := io.WriteString(w, "<html>"); return err }
	for output, want := range map[string]string{"text": "open it in a browser\nstarter: 1 run cannot be read", "json": `"unread":[{"workflow_id":"run-1","run_id":"r","reason":"no key"}]}` + "\n"} {
		for _, missing := range []unread{nil, {{"run-1", "r", "no key"}}} {
			file := filepath.Join(t.TempDir(), "report.html")
			var said bytes.Buffer
			a := &app{Stdio: Stdio{Out: &said, Err: &said}}
			a.format.output = output
			code := a.report(a.writePage("--html", file, page, missing))
			if told := strings.Contains(said.String(), want); told != (missing != nil) || (code == exitFailed) != told {
				t.Errorf("%s, %v: ends with %d and says %s", output, missing, code, said.String())
			}
			if data, err := os.ReadFile(file); err != nil || string(data) != "<html>" {
				t.Errorf("%s: the page holds %q, %v", output, data, err)
			}
		}
	}
}
