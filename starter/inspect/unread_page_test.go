package inspect

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/switchyard/switchyard/starter/internal/cli"
)

// TestUnreadOnPage proves that a page of runs of which some cannot be read is written all the same,
// and that these are told of: as JSON in the one object that tells of the page.
func TestUnreadOnPage(t *testing.T) {
	page := func(w io.Writer) error { _, err := io.WriteString(w, "<html>"); return err }
	for output, want := range map[string]string{"text": "open it in a browser\nstarter: 1 run cannot be read",
		"json": `"unread":[{"workflow_id":"run-1","run_id":"r","reason":"no key"}]}` + "\n"} {
		for _, missing := range []cli.Unread{nil,
			{{WorkflowID: "run-1", RunID: "r", Reason: "no key"}}} {
			file := filepath.Join(t.TempDir(), "report.html")
			var said bytes.Buffer
			a := &cli.App{Stdio: cli.Stdio{Out: &said, Err: &said}}
			a.Format.Output = output
			code := a.Report(writePage(a, "--html", file, page, missing))
			if told := strings.Contains(said.String(), want); told != (missing != nil) ||
				(code == cli.ExitFailed) != told {
				t.Errorf("%s, %v: ends with %d and says %s", output, missing, code, said.String())
			}
			if data, err := os.ReadFile(file); err != nil || string(data) != "<html>" {
				t.Errorf("%s: the page holds %q, %v", output, data, err)
			}
		}
	}
}
