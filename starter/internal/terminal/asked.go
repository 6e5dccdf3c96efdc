package terminal

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/switchyard/switchyard/audit"
	"github.com/switchyard/switchyard/internal/value/display"
	"github.com/switchyard/switchyard/starter/cli"
)

// Asked writes what waits for a person, with the commands that decide or answer it.
type Asked struct {
	out        io.Writer
	palette    cli.Palette
	format     *cli.Format
	invocation cli.Invocation
}

func NewAsked(a *cli.App, out io.Writer) *Asked {
	return &Asked{out: out, palette: a.PaletteFor(out), format: &a.Format,
		invocation: a.Connection.Invocation()}
}

// WriteAll writes approvals and questions, separated by empty lines.
func (w *Asked) WriteAll(approvals []audit.RunApproval, questions []audit.RunQuestion,
	now time.Time) {
	for i, a := range approvals {
		w.separate(i)
		w.WriteApproval(a, now)
	}
	for i, q := range questions {
		w.separate(len(approvals) + i)
		w.writeQuestion(q, now)
	}
}

func (w *Asked) separate(written int) {
	if written > 0 {
		fmt.Fprintln(w.out)
	}
}

// WriteApproval writes a waiting call with the details needed for a decision.
func (w *Asked) WriteApproval(a audit.RunApproval, now time.Time) {
	w.head(a.WorkflowID+" "+a.Call, cmp.Or(a.Tool, a.Limit), a.Asked, a.Until, now)
	w.text(a.Text)
	why := a.Reason
	if a.Rule != "" {
		why += " (rule " + a.Rule + ")"
	}
	w.faint("reason: " + display.Shorten(why, maxAskedText) + " · digest " + a.Digest)
	for _, rule := range a.Approvers {
		w.faint("needs " + cli.PlainText(rule.String()))
	}
	fmt.Fprintf(w.out, "  %s\n  %s\n", w.invocation.HowToApprove(a), w.invocation.HowToDeny(a))
}

// writeQuestion writes a question and how to answer it.
func (w *Asked) writeQuestion(q audit.RunQuestion, now time.Time) {
	w.head(q.WorkflowID+" "+q.ID, q.Tool, q.Asked, q.Until, now)
	w.text(q.Text)
	if len(q.Schema) > 0 {
		w.faint("schema of the answer: " + display.Shorten(string(q.Schema), maxAskedText))
	}
	fmt.Fprintln(w.out, "  "+w.invocation.HowToAnswer(q))
}

// maxAskedText bounds a reason or a schema, in characters.
const maxAskedText = 300

// head writes what waits, since when and how long.
func (w *Asked) head(id, tool string, asked, until, now time.Time) {
	parts := []string{w.palette.Bold(id), tool, "asked " + w.format.When(asked, now)}
	if !until.IsZero() {
		parts = append(parts, "open for "+cli.ShortDuration(until.Sub(now)))
	}
	fmt.Fprintln(w.out, strings.Join(parts, " · "))
}

func (w *Asked) text(text string) {
	for line := range strings.SplitSeq(text, "\n") {
		fmt.Fprintln(w.out, "  "+cli.PlainText(line))
	}
}

func (w *Asked) faint(text string) { fmt.Fprintln(w.out, w.palette.Faint("  "+text)) }
