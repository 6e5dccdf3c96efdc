package main

import (
	"io"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
	"github.com/switchyard/switchyard/audit"
)

// TestLiveView proves that the program that draws hands every finished line to the terminal once and in order, however
// fast the events come, that it ends, and that what it prints before there is something to draw moves no cursor: the
// screen above belongs to others.
func TestLiveView(t *testing.T) {
	write, drawn := terminal(t)
	v := newLiveView(write, palette{}, reach{})
	finished := &tracker{}
	var want []string
	for _, e := range agentRun() {
		want = append(want, finished.event(e)...)
		if err := v.event(e); err != nil {
			t.Fatal(err)
		}
		v.pending([]audit.Running{{Kind: audit.KindStep, ID: "turn-1", State: audit.StateRunning, Since: noon}})
	}
	v.note("a note")
	v.close()
	data := drawn()
	if first := want[0] + "\n"; !strings.HasPrefix(data, first) {
		t.Errorf("the drawing begins with %q, want %q alone", data[:min(len(data), 40)], first)
	}
	lines := strings.FieldsFunc(ansi.Strip(data), func(r rune) bool { return r == '\n' || r == '\r' })
	from := 0
	for _, line := range append(slices.Clone(want), "! a note") {
		for _, part := range strings.Split(ansi.Wrap(line, defaultWidth, " "), "\n") {
			i := slices.Index(lines[from:], part)
			if i < 0 {
				t.Fatalf("%q does not follow in what was drawn:\n%s", part, strings.Join(lines, "\n"))
			}
			from += i + 1
		}
	}
}

// TestLiveModel proves that what is drawn fits the window, whatever its size.
func TestLiveModel(t *testing.T) {
	tr := &tracker{}
	tr.event(step(2, 1, 900, strings.Repeat("long ", 50), `1.1 list {"path":"docs"}`, `1.2 read {"path":"a.md"}`, `1.3 deploy {"to":"test"}`))
	for _, size := range []struct{ width, height int }{{100, 24}, {30, 5}, {20, 4}} {
		m := &liveModel{frame: frame{tracker: tr}, width: size.width, height: size.height}
		fits(t, m.View().Content, size.width, size.height)
	}
	if content := (&liveModel{}).View().Content; content != "" {
		t.Errorf("without a run %q is drawn", content)
	}
}

// terminal returns what to draw on, and what ends the drawing and returns all that was drawn.
func terminal(t *testing.T) (*os.File, func() string) {
	t.Helper()
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	drawn := make(chan string)
	go func() {
		data, _ := io.ReadAll(read)
		drawn <- string(data)
	}()
	return write, func() string {
		if err := write.Close(); err != nil {
			t.Fatal(err)
		}
		return <-drawn
	}
}

// fits fails the test where what is drawn is larger than the window.
func fits(t *testing.T, content string, width, height int) {
	t.Helper()
	lines := strings.Split(content, "\n")
	if len(lines) > height {
		t.Errorf("%d lines in a window of %d", len(lines), height)
	}
	for _, line := range lines {
		if w := ansi.StringWidth(line); w > width {
			t.Errorf("a line of %d columns in a window of %d: %q", w, width, line)
		}
	}
}
