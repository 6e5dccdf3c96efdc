package e2e

import (
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/test/testserver"
	"github.com/switchyard/switchyard/toolspecs/agents"
)

// photograph opens a page in Chromium and stores a picture of it in docs/pictures.
func photograph(t *testing.T, page, name, size string, flags ...string) {
	t.Helper()
	out, err := filepath.Abs(filepath.Join("../../../docs/pictures", name+".png"))
	if err != nil {
		t.Fatal(err)
	}
	arguments := append([]string{"--headless", "--no-sandbox", "--disable-gpu", "--disable-quic",
		"--no-first-run", "--disable-background-networking", "--disable-component-update",
		"--disable-sync", "--hide-scrollbars",
		"--user-data-dir=" + t.TempDir(), "--window-size=" + size, "--screenshot=" + out}, flags...)
	if output, err := exec.CommandContext(t.Context(), "chromium", append(arguments, "file://"+
		page)...).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
}

// mustRun runs a command of starter.
func (l *lab) mustRun(args ...string) {
	l.t.Helper()
	if code, out := l.command(args...); code != 0 {
		l.t.Fatalf("starter %v: %s", args, out)
	}
}

// With -update-pictures, the test redraws the pictures of docs/records.md from runs of the
// examples on a real server. Otherwise TestTimeline_OpensInABrowser checks the page.
func TestRunPictures_AreRedrawn(t *testing.T) {
	if !*updatePictures {
		t.Skip("make pictures runs it")
	}
	l := newLab(t)
	pages := t.TempDir()
	librarian := l.program(testserver.Bin(t, "librarian"), []string{"LIBRARY=../../.."}, "--tools",
		"../../../examples/librarian/tools", "--dir", "../../..")
	agent, err := agents.Load("../../../examples/librarian/agent.yaml", agents.Known{})
	if err != nil {
		t.Fatal(err)
	}
	l.result(l.run(api.AgentWorkflow, "librarian", api.RunInput{Agent: agent,
		Prompt: "Which document tells how to change a workflow under running runs, and how long are the documents?"}))
	l.mustRun("timeline", "librarian", "--file", filepath.Join(pages, "librarian.html"))
	photograph(t, filepath.Join(pages, "librarian.html"), "timeline", "1240,1000")
	librarian.Stop()

	l.shop()
	for _, id := range []string{"order-1", "order-2", "order-3"} {
		run := l.order(id)
		for question := range l.awaitQuestions(id, 1) {
			l.accept(id, question)
		}
		l.result(run)
	}
	l.mustRun("timeline", "order-1", "--tree", "--file", filepath.Join(pages, "order.html"))
	photograph(t, filepath.Join(pages, "order.html"), "timeline-dark", "1240,1060",
		"--blink-settings=preferredColorScheme=0")
	l.mustRun("report", "--html", filepath.Join(pages, "report.html"))
	photograph(t, filepath.Join(pages, "report.html"), "report", "1240,1240")
}
