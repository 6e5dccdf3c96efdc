package terminal

import (
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit"
	"github.com/switchyard/switchyard/starter/clitest"
)

// delta returns the event with a part of the model's text.
func delta(turn, attempt, atMS, from int, text string) api.Event {
	return api.Event{Type: api.EventStepDelta, Time: clitest.At(atMS), WorkflowID: "demo-1",
		Turn:  turn,
		Delta: &api.Live{Attempt: attempt, From: from, Text: text}}
}

// speaking returns the model step of a turn while it runs.
func speaking(turn string, attempt int) []audit.Running {
	return []audit.Running{{Kind: audit.KindStep, ID: turn, State: audit.StateRunning,
		Attempt: attempt, Since: clitest.At(900)}}
}

// Outside of a terminal, each line of an answer is printed once, when it is complete; the last one
// when the step has ended. Retries, gaps and control characters are visible.
func TestModelStream_PrintsWholeLines(t *testing.T) {
	second := clitest.Step(3, 2, 5000, "uno\ndos\ntres")
	second.Timing.Attempts = 2
	third := clitest.Step(4, 3, 7000, "left\nright")
	third.Timing.Attempts = 3
	var b strings.Builder
	v := &PlainView{Out: &b, SubAgentNotes: SubAgentNotes{Notes: &b}}
	for _, e := range []api.Event{
		delta(1, 1, 100, 0, "The first line\nthe "),
		delta(1, 1, 200, 19, "second\n\nand\x1b[2J \u202eit\nends"), clitest.Step(2, 1, 900,
			"The first line\nthe second\n\nand\x1b[2J \u202eit\nends here"),
		delta(2, 1, 1000, 100, "half a word\nmany"), delta(2, 1, 1100, 150, "more\n"),
		delta(2, 2, 1200, 0, "uno\ndo"), second,
		delta(3, 2, 6000, 0, "left\nrig"), third,
		clitest.Step(5, 4, 8000, "Never heard\nin pieces."),
	} {
		if err := v.Event(e); err != nil {
			t.Fatal(err)
		}
	}
	compareGolden(t, "modelstream_plain.txt", b.String())
}

// A text is drawn while it grows, below its step and within its space. It disappears with its
// attempt, and a retry is marked.
func TestModelStream_IsDrawnOnATerminal(t *testing.T) {
	tr := &Tracker{width: 60}
	tr.event(clitest.Step(2, 1, 900, "I look around.", `1.1 list {"path":"docs"}`))
	var b strings.Builder
	draw := func(what string, limit int) {
		b.WriteString("# " + what + "\n" + strings.Join(tr.live(clitest.At(3000), "*", limit),
			"\n") + "\n")
	}
	tr.updateRunning(speaking("turn-2", 1))
	draw("before it speaks", 20)
	tr.event(delta(2, 1, 1000, 0,
		"The answer is long, so that it does not fit one line of this narrow terminal.\n\n- one\n- t"))
	draw("it speaks", 20)
	tr.event(delta(2, 1, 1100, 120, "three\x1b[2J\n"))
	draw("with a gap", 20)
	draw("with little room", 6)
	tr.updateRunning([]audit.Running{{Kind: audit.KindStep, ID: "turn-2", State: audit.StateBackingOff,
		Attempt: 2, Since: clitest.At(2000), NextAttempt: clitest.At(4000),
		LastFailure: "the stream was cut"}})
	draw("it broke off", 20)
	tr.updateRunning(speaking("turn-2", 2))
	tr.event(delta(2, 2, 2500, 0, "The answer"))
	draw("anew", 20)
	tr.event(clitest.Step(3, 2, 2600, "The answer is short."))
	draw("it is over", 20)
	compareGolden(t, "modelstream_live.txt", b.String())
}

// A long text fits the window, and only a part of it is buffered.
func TestModelStream_FitsTheWindow(t *testing.T) {
	tr := &Tracker{}
	from := 0
	for range 100 {
		e := delta(1, 1, 100, from, strings.Repeat("漢字 and words ", 100))
		tr.event(e)
		from = e.Delta.Until()
	}
	tr.updateRunning(speaking("turn-1", 1))
	if n := len(tr.modelStream.text); n > maxModelStream {
		t.Errorf("%d bytes are buffered", n)
	}
	for _, size := range []struct{ width, height int }{{100, 24}, {30, 6}, {20, 5}} {
		m := &liveModel{frame: frame{tracker: tr}, width: size.width, height: size.height}
		lines := strings.Split(m.View().Content, "\n")
		if len(lines) > size.height || len(lines) < 2 {
			t.Errorf("%d lines in a window of %d", len(lines), size.height)
		}
		for _, line := range lines {
			if w := ansi.StringWidth(line); w > size.width || strings.HasSuffix(line, "…") {
				t.Errorf("a line of %d columns in a window of %d: %q", w, size.width, line)
			}
		}
	}
}
