package terminal

import (
	"slices"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
	"github.com/switchyard/switchyard/audit"
	"github.com/switchyard/switchyard/starter/cli"
	"github.com/switchyard/switchyard/starter/clitest"
)

// This holds for any rate of events. The drawing program ends, and output before the first drawing
// moves no cursor, because the screen above belongs to others.
func TestLiveView_PrintsFinishedLinesOnceAndInOrder(t *testing.T) {
	write, drawn := clitest.Terminal(t)
	v := NewLiveView(write, cli.Palette{}, cli.Invocation{})
	finished := &Tracker{}
	var want []string
	for _, e := range clitest.AgentRun() {
		want = append(want, finished.event(e)...)
		if err := v.Event(e); err != nil {
			t.Fatal(err)
		}
		v.Pending([]audit.Running{{Kind: audit.KindStep, ID: "turn-1", State: audit.StateRunning,
			Since: clitest.Noon}})
	}
	v.Note("a note")
	v.Close()
	data := drawn()
	if first := want[0] + "\n"; !strings.HasPrefix(data, first) {
		t.Errorf("the drawing begins with %q, want %q alone", data[:min(len(data), 40)], first)
	}
	lines := strings.FieldsFunc(ansi.Strip(data), func(r rune) bool {
		return r == '\n' ||
			r == '\r'
	})
	from := 0
	for _, line := range append(slices.Clone(want), "! a note") {
		for _, part := range strings.Split(ansi.Wrap(line, defaultWidth, " "), "\n") {
			i := slices.Index(lines[from:], part)
			if i < 0 {
				t.Fatalf("%q does not follow in what was drawn:\n%s", part,
					strings.Join(lines, "\n"))
			}
			from += i + 1
		}
	}
}

func TestLiveModel_FitsTheWindow(t *testing.T) {
	tr := &Tracker{}
	tr.event(clitest.Step(2, 1, 900, strings.Repeat("long ", 50), `1.1 list {"path":"docs"}`,
		`1.2 read {"path":"a.md"}`, `1.3 deploy {"to":"test"}`))
	for _, size := range []struct{ width, height int }{{100, 24}, {30, 5}, {20, 4}} {
		m := &liveModel{frame: frame{tracker: tr}, width: size.width, height: size.height}
		clitest.Fits(t, m.View().Content, size.width, size.height)
	}
	if content := (&liveModel{}).View().Content; content != "" {
		t.Errorf("without a run %q is drawn", content)
	}
}

func TestLiveView_EscapesTextOfToolsAndModels(t *testing.T) {
	write, drawn := clitest.Terminal(t)
	v := NewLiveView(write, cli.Palette{}, cli.Invocation{})
	v.Note("the server says \x1b]0;title\a")
	v.Close()
	if got, want := drawn(), `! the server says \u001b]0;title\u0007`+"\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	tr := &Tracker{header: "turn 1 · \x1b[2J"}
	got := (&liveModel{frame: frame{tracker: tr}, width: 80, height: 24}).View().Content
	if want := `turn 1 · \u001b[2J`; got != want {
		t.Errorf("drawn: got %q, want %q", got, want)
	}
}
