// Package terminal shows runs as text: the live view of a run, event lines, and the text of calls,
// questions and approvals.
package terminal

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit"
	"github.com/switchyard/switchyard/internal/value/display"
	"github.com/switchyard/switchyard/starter/cli"
)

// View shows a run while it is followed. Its methods are called by one goroutine.
type View interface {
	Event(api.Event) error
	// Pending receives the work that runs or waits now.
	Pending([]audit.Running)
	// SubAgents receives the sub-agents' open questions and pending approvals.
	SubAgents([]audit.RunQuestion, []audit.RunApproval)
	// Note shows a message about the run that is not an event.
	Note(string)
	Close()
}

// NewView returns the view for progress that goes to w.
func NewView(a *cli.App, w io.Writer) View {
	switch notes := NewSubAgentNotes(a); {
	case a.Format.JSON():
		return &jsonView{out: w, SubAgentNotes: notes}
	case cli.IsTerminal(w):
		return NewLiveView(w, a.PaletteFor(w), notes.invocation)
	default:
		return &PlainView{Out: w, SubAgentNotes: notes}
	}
}

func NewSubAgentNotes(a *cli.App) SubAgentNotes {
	return SubAgentNotes{Notes: a.Err, invocation: a.Connection.Invocation()}
}

// jsonView writes each event as one line of JSON.
type jsonView struct {
	out io.Writer
	SubAgentNotes
}

func (v *jsonView) Event(e api.Event) error { return cli.WriteJSON(v.out, e, false) }
func (v *jsonView) Pending([]audit.Running) {}
func (v *jsonView) Note(text string)        { fmt.Fprintln(v.Notes, "starter: "+text) }
func (v *jsonView) Close()                  {}

// PlainView writes each event as one line: time, number, type, and name=value pairs.
type PlainView struct {
	Out io.Writer
	SubAgentNotes
	said wholeLines
}

func (v *PlainView) Event(e api.Event) error {
	lines := v.said.take(e)
	if e.Type != api.EventStepDelta {
		lines = append(lines, plainLine(e, v.invocation))
	}
	for _, line := range lines {
		if _, err := fmt.Fprintln(v.Out, line); err != nil {
			return err
		}
	}
	return nil
}
func (v *PlainView) Pending([]audit.Running) {}
func (v *PlainView) Note(text string)        { fmt.Fprintln(v.Notes, "starter: "+text) }
func (v *PlainView) Close()                  {}

// pairs collects name=value pairs. It omits empty values and quotes where necessary.
type pairs struct{ b strings.Builder }

func (p *pairs) add(name, value string) {
	if value == "" || value == "0" {
		return
	}
	if strings.ContainsAny(value, " \t\n\r\"=") {
		value = strconv.Quote(value)
	}
	p.b.WriteString(" " + name + "=" + value)
}

func (p *pairs) number(name string, n int) { p.add(name, strconv.Itoa(n)) }

func (p *pairs) duration(name string, d time.Duration) {
	if d > 0 {
		p.add(name, cli.ShortDuration(d))
	}
}

// plainLine formats an event as a log line. The format is stable: fields are only added.
func plainLine(e api.Event, r cli.Invocation) string {
	var p pairs
	number := p.place(e)
	p.number("turn", e.Turn)
	p.add("call", e.CallID)
	p.add("tool", e.Tool)
	if e.Record == nil {
		p.add("summary", e.Summary)
	}
	if e.Child != nil {
		p.add("child", e.Child.WorkflowID)
	}
	p.question(e, r)
	p.approval(e, r)
	if e.Hook != nil {
		p.add("hook", e.Hook.Hook)
		p.add("point", string(e.Hook.Point))
		p.add("outcome", string(e.Hook.Outcome))
		p.add("reason", display.Shorten(e.Hook.Reason, 200))
	}
	p.control(e)
	if e.Step != nil {
		p.step(*e.Step)
	}
	if e.Timing != nil {
		p.timing(*e.Timing)
	}
	if e.Record != nil {
		p.record(*e.Record)
	}
	if e.Result != nil {
		p.add("outcome", string(e.Result.Outcome))
		p.add("limit", e.Result.Limit)
		p.number("turns", e.Result.Usage.Turns)
		p.number("calls", e.Result.Usage.Calls)
		p.number("failed", e.Result.Usage.Failed)
	}
	p.add("failure_type", string(e.FailureType))
	p.add("failure", display.Shorten(e.Failure, 300))
	if e.Type == api.EventRunStarted {
		p.add("run", e.WorkflowID)
	}
	return p.line(e, number)
}

// place adds the place of an event in a tree of runs, and returns its number.
func (p *pairs) place(e api.Event) string {
	if e.Type == api.EventAttemptFailed {
		return "-"
	}
	if e.TreeSequence == 0 {
		return strconv.Itoa(e.Sequence)
	}
	p.add("parent", e.Parent)
	return strconv.Itoa(e.TreeSequence)
}

// line formats an event. Events that are not in history have - as their number.
func (p *pairs) line(e api.Event, number string) string {
	return e.Time.UTC().Format("2006-01-02T15:04:05.000Z") + " " + number + " " + string(e.Type) +
		p.b.String()
}

func (p *pairs) step(s api.ModelResponse) {
	p.add("model", s.Model)
	p.number("input_tokens", s.Usage.InputTokens)
	p.number("output_tokens", s.Usage.OutputTokens)
	p.number("calls", len(s.Message.Calls))
	if s.Compacted != nil {
		p.number("compacted", s.Compacted.Messages)
		p.number("cut", s.Compacted.Cut)
	}
	p.add("text", display.Shorten(s.Message.Text, 120))
}

func (p *pairs) record(r api.Record) {
	p.add("summary", recordSummary(r))
	p.timing(r.Timing)
	if r.Child != nil {
		p.add("child", r.Child.WorkflowID)
		p.number("child_calls", r.Usage.Calls)
		p.number("child_tokens", r.Usage.InputTokens+r.Usage.OutputTokens)
	}
	if r.Error != nil {
		p.add("error", string(r.Error.Type))
		p.add("message", display.Shorten(r.Error.Message, 200))
	}
	p.add("notes", display.Shorten(strings.Join(ListNotes(r), "; "), 300))
}

func (p *pairs) timing(t api.Timing) {
	p.add("lane", t.Lane)
	p.number("attempts", t.Attempts)
	p.duration("wait", t.QueueWait.Std())
	p.duration("duration", t.Duration.Std())
}
