package terminal

import (
	"strings"
	"testing"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit"
	"github.com/switchyard/switchyard/internal/test/golden"
	"github.com/switchyard/switchyard/internal/value/display"
	"github.com/switchyard/switchyard/starter/clitest"
)

// compareGolden compares text with a file of testdata/golden, or writes the file with -update.
func compareGolden(t *testing.T, name, text string) {
	t.Helper()
	golden.Compare(t, "testdata/golden/"+name, text)
}

// Each turn of a run is printed once, with its calls in the order in which they were made.
func TestTracker_PrintsFinishedTurns(t *testing.T) {
	tr := &Tracker{}
	var lines []string
	for _, e := range clitest.AgentRun() {
		lines = append(lines, tr.event(e)...)
	}
	compareGolden(t, "finished.txt", strings.Join(lines, "\n")+"\n")
	if rest := tr.rest(clitest.At(7000)); len(rest) > 0 {
		t.Errorf("still open at the end: %q", rest)
	}
}

// Ended, running, waiting, retrying and planned calls and the model step are drawn, within the
// height of the window.
func TestTracker_DrawsTheOpenTurn(t *testing.T) {
	tr := &Tracker{}
	for _, e := range []api.Event{
		clitest.Step(2, 1, 900, "I look around.", `1.1 list {"path":"docs"}`,
			`1.2 read {"path":"a.md"}`, `1.3 deploy {"to":"test"}`, `1.4 deploy {"to":"live"}`),
		clitest.ToolStarted(3, 1, 910, "1.1", "list", "list path=docs"),
		clitest.ToolStarted(4, 1, 910, "1.2", "read", "read path=a.md"),
		clitest.ToolStarted(5, 1, 910, "1.3", "deploy", "deploy to=test"),
		clitest.ToolEnded(6, 1, 930, "1.1", "list", `{"path":"docs"}`, ""),
	} {
		tr.event(e)
	}
	tr.updateRunning([]audit.Running{
		{Kind: audit.KindCall, ID: "1.2", Tool: "read", State: audit.StateBackingOff, Attempt: 2,
			MaxAttempts: 5, Since: clitest.At(1000),
			NextAttempt: clitest.At(3500), LastFailure: "connection reset"},
		{Kind: audit.KindCall, ID: "1.3", Tool: "deploy", Lane: "serial", State: audit.StateWaiting,
			Attempt: 1, Since: clitest.At(910)},
		{Kind: audit.KindStep, ID: "turn-2", State: audit.StateRunning, Attempt: 1,
			Since: clitest.At(1500)},
		{Kind: audit.KindRun, State: audit.StateWaiting, Since: clitest.At(1500)},
	})
	compareGolden(t, "live.txt", strings.Join(tr.live(clitest.At(3000), "*", 20), "\n")+"\n")
	compareGolden(t, "live_small.txt", strings.Join(tr.live(clitest.At(3000), "*", 6), "\n")+"\n")
	compareGolden(t, "rest.txt", strings.Join(tr.rest(clitest.At(3000)), "\n")+"\n")
	for limit := 1; limit < 10; limit++ {
		if n := len(tr.live(clitest.At(3000), "*", limit)); n > max(limit, 4) {
			t.Errorf("%d lines where there is room for %d", n, limit)
		}
	}
}

// A plan has no turns, so its ended calls do not stay in the drawing.
func TestTracker_PrintsCallsOfPlansAsTheyEnd(t *testing.T) {
	tr := &Tracker{}
	for i := range 1000 {
		id := "call" + display.Thousands(i)
		tr.event(clitest.ToolStarted(2*i, 0, 10*i, id, "echo", "echo text=x"))
		if lines := tr.event(clitest.ToolEnded(2*i+1, 0, 10*i+5, id, "echo", `{"text":"x"}`,
			"")); len(lines) != 1 {
			t.Fatalf("call %d: %q scrolled away, want one line", i, lines)
		}
	}
	if len(tr.calls) != 0 {
		t.Errorf("%d calls are still in memory", len(tr.calls))
	}
}

func TestPlainLines_AreStable(t *testing.T) {
	var b strings.Builder
	v := &PlainView{Out: &b, SubAgentNotes: SubAgentNotes{Notes: &b}}
	for _, e := range clitest.AgentRun() {
		if err := v.Event(e); err != nil {
			t.Fatal(err)
		}
	}
	failed := api.Event{Sequence: 11, Type: api.EventRunFailed, Time: clitest.At(7000),
		FailureType: api.RunModelFailed,
		Failure:     "the model step of turn 1 failed:\nno route"}
	if err := v.Event(failed); err != nil {
		t.Fatal(err)
	}
	compareGolden(t, "plain.txt", b.String())
}
