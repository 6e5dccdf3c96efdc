package inspect

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/switchyard/switchyard/starter/cli"
)

// Unreadable runs are reported; with --output json, in the object that describes the page.
func TestPage_IsWrittenWithUnreadableRuns(t *testing.T) {
	page := func(w io.Writer) error { _, err := io.WriteString(w, "<html>"); return err }
	for output, want := range map[string]string{"text": "open it in a browser\nstarter: 1 run cannot be read",
		"json": `"unread":[{"workflow_id":"run-1","run_id":"r","reason":"no key"}]}` + "\n"} {
		for _, missing := range []cli.Unread{nil,
			{{WorkflowID: "run-1", RunID: "r", Reason: "no key"}}} {
			file := filepath.Join(t.TempDir(), "report.html")
			var printed bytes.Buffer
			a := &cli.App{Stdio: cli.Stdio{Out: &printed, Err: &printed}}
			a.Format.Output = output
			code := a.Report(cli.WritePage(a, "--html", file, page, missing))
			if reported := strings.Contains(printed.String(), want); reported != (missing != nil) ||
				(code == cli.ExitFailed) != reported {
				t.Errorf("%s, %v: ends with %d and says %s", output, missing, code, printed.String())
			}
			if data, err := os.ReadFile(file); err != nil || string(data) != "<html>" {
				t.Errorf("%s: the page holds %q, %v", output, data, err)
			}
		}
	}
}
