package terminal

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/charmbracelet/x/ansi"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit"
	"github.com/switchyard/switchyard/internal/value/display"
)

// maxModelStream bounds the streamed text that a live view keeps, in bytes.
const maxModelStream = 16 << 10

// modelStream is the end of the model's streamed text in the current step.
type modelStream struct {
	turn, attempt int
	// again is set if an earlier attempt has streamed text.
	again bool
	until int
	text  string
}

// take appends the next piece.
func (s *modelStream) take(e api.Event) {
	d := e.Delta
	if e.Turn != s.turn || d.Attempt != s.attempt {
		*s = modelStream{turn: e.Turn, attempt: d.Attempt, again: e.Turn == s.turn && s.text != ""}
	}
	if d.From > s.until {
		s.text += "…"
	}
	s.text += d.Text
	s.until = d.Until()
	if cut := len(s.text) - maxModelStream; cut > 0 {
		s.text = strings.ToValidUTF8(s.text[cut:], "")
	}
}

// repeats reports whether a step repeats the text of an earlier attempt.
func (s *modelStream) repeats(r audit.Running) bool { return s.again && r.Attempt == s.attempt }

// modelStreamLines returns the last lines of the streamed text, at most limit of them. It returns
// none if the attempt has ended.
func (t *Tracker) modelStreamLines(limit int) []string {
	speaks := false
	for _, r := range t.others {
		speaks = speaks || r.Kind == audit.KindStep && r.State == audit.StateRunning &&
			r.Attempt == t.modelStream.attempt
	}
	if !speaks || limit <= 0 {
		return nil
	}
	const indent = "  "
	var lines []string
	for line := range strings.SplitSeq(strings.TrimRight(t.modelStream.text, "\n"), "\n") {
		wrapped := ansi.Wrap(shownText(line), cmp.Or(t.width, defaultWidth)-len(indent)-1, " ")
		for row := range strings.SplitSeq(wrapped, "\n") {
			lines = append(lines, strings.TrimRight(indent+row, " "))
		}
	}
	return lines[max(0, len(lines)-limit):]
}

// shownText removes characters that affect the terminal or the text direction.
func shownText(line string) string { return display.Shorten(line, len(line)+1) }

// wholeLines splits streamed text into log lines. Each line is emitted once, when it is complete.
type wholeLines struct {
	turn, attempt int
	// emitted is the offset up to which text was emitted, until the offset up to which it is known.
	// line is the text between.
	emitted, until int
	line           string
}

// take returns the lines that an event completes. The end of a step completes its last line. A step
// that ends before any streamed text returns none, because its own event contains the text.
func (s *wholeLines) take(e api.Event) (lines []string) {
	switch {
	case e.Type == api.EventStepDelta:
		return s.heard(e)
	case e.Type == api.EventStepCompleted && e.Turn == s.turn && s.attempt > 0 && e.Step != nil:
		return s.rest(e)
	}
	return nil
}

func (s *wholeLines) heard(e api.Event) (lines []string) {
	d := e.Delta
	if e.Turn != s.turn || d.Attempt != s.attempt {
		again := e.Turn == s.turn && s.attempt > 0
		*s = wholeLines{turn: e.Turn, attempt: d.Attempt}
		if again {
			lines = append(lines, s.logLine(e, "", fmt.Sprintf("attempt %d repeats the text",
				d.Attempt), 0))
		}
	}
	if missed := d.From - s.until; missed > 0 {
		if s.line != "" {
			lines = append(lines, s.logLine(e, s.line, "", 0))
		}
		s.line, s.emitted = "", d.From
		lines = append(lines, s.logLine(e, "", "", missed))
	}
	s.until = d.Until()
	return append(lines, s.add(e, d.Text)...)
}

// add returns the lines that more text completes.
func (s *wholeLines) add(e api.Event, text string) (lines []string) {
	s.line += text
	for {
		line, rest, whole := strings.Cut(s.line, "\n")
		if !whole {
			return lines
		}
		if strings.TrimSpace(line) != "" {
			lines = append(lines, s.logLine(e, line, "", 0))
		}
		s.emitted += len(line) + 1
		s.line = rest
	}
}

// rest returns the remaining lines of a finished step, from its full text.
func (s *wholeLines) rest(e api.Event) (lines []string) {
	text := e.Step.Message.Text
	s.line = ""
	if e.Timing != nil && e.Timing.Attempts > s.attempt {
		s.attempt, s.emitted = e.Timing.Attempts, 0
		lines = append(lines, s.logLine(e, "", fmt.Sprintf("attempt %d repeated the text", s.attempt),
			0))
	}
	if s.emitted < len(text) {
		lines = append(lines, s.add(e, text[s.emitted:]+"\n")...)
	}
	*s = wholeLines{}
	return lines
}

// logLine formats a line of text as a log line.
func (s *wholeLines) logLine(e api.Event, text, note string, missed int) string {
	e.Type = api.EventStepDelta
	var p pairs
	p.number("turn", s.turn)
	if s.attempt > 1 {
		p.number("attempt", s.attempt)
	}
	p.add("text", shownText(text))
	p.add("note", note)
	p.add("missed_bytes", strconv.Itoa(missed))
	return p.line(e, "-")
}
