package main

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit"
)

// view shows a run while it is followed. Its methods are called by one goroutine.
type view interface {
	event(api.Event) error
	// pending takes what runs or waits now.
	pending([]audit.Running)
	// below takes what the sub-agents below the run ask people: the open questions, and the calls that wait for approval.
	below([]audit.RunQuestion, []audit.RunApproval)
	// note takes a message about the run that is no event.
	note(string)
	close()
}

// newView returns the view for progress that goes to w.
func (a *app) newView(w io.Writer) view {
	switch below := a.tellsBelow(); {
	case a.format.json():
		return &jsonView{out: w, tellsBelow: below}
	case isTerminal(w):
		return newLiveView(w, a.paletteFor(w), below.reach)
	default:
		return &plainView{out: w, tellsBelow: below}
	}
}

func (a *app) tellsBelow() tellsBelow { return tellsBelow{notes: a.Err, reach: a.connection.reach()} }

// jsonView writes each event as one line of JSON.
type jsonView struct {
	out io.Writer
	tellsBelow
}

func (v *jsonView) event(e api.Event) error { return writeJSON(v.out, e, false) }
func (v *jsonView) pending([]audit.Running) {}
func (v *jsonView) note(text string)        { fmt.Fprintln(v.notes, "starter: "+text) }
func (v *jsonView) close()                  {}

// plainView writes each event as one line: time, number, type, and name=value pairs.
type plainView struct {
	out io.Writer
	tellsBelow
	said wholeLines
}

func (v *plainView) event(e api.Event) error {
	lines := v.said.take(e)
	if e.Type != api.EventStepDelta {
		lines = append(lines, plainLine(e, v.reach))
	}
	for _, line := range lines {
		if _, err := fmt.Fprintln(v.out, line); err != nil {
			return err
		}
	}
	return nil
}
func (v *plainView) pending([]audit.Running) {}
func (v *plainView) note(text string)        { fmt.Fprintln(v.notes, "starter: "+text) }
func (v *plainView) close()                  {}

// pairs collects name=value pairs; empty values are left out, and quoted where they need it.
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
		p.add(name, brief(d))
	}
}

// plainLine is an event as a line of a log. Its form is stable: fields are only ever added.
func plainLine(e api.Event, r reach) string {
	var p pairs
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
		p.add("did", string(e.Hook.Outcome))
		p.add("reason", api.Shorten(e.Hook.Reason, 200))
	}
	p.controlled(e)
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
	p.add("failure", api.Shorten(e.Failure, 300))
	if e.Type == api.EventRunStarted {
		p.add("run", e.WorkflowID)
	}
	return p.line(e, strconv.Itoa(e.Sequence))
}

// line is the line of an event; what is not in history has - for a number.
func (p *pairs) line(e api.Event, number string) string {
	return e.Time.UTC().Format("2006-01-02T15:04:05.000Z") + " " + number + " " + string(e.Type) + p.b.String()
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
	p.add("text", api.Shorten(s.Message.Text, 120))
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
		p.add("message", api.Shorten(r.Error.Message, 200))
	}
	p.add("notes", api.Shorten(strings.Join(notesOf(r), "; "), 300))
}

func (p *pairs) timing(t api.Timing) {
	p.add("lane", t.Lane)
	p.number("attempts", t.Attempts)
	p.duration("wait", t.QueueWait.Std())
	p.duration("duration", t.Duration.Std())
}
