package html

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/people"
	"github.com/switchyard/switchyard/internal/value/display"
)

// maxText bounds one text of a page in bytes. The arguments of a call may have a megabyte, and a
// page may have thousands of calls.
const maxText = 4000

// cut returns text, shortened to maxText.
func cut(text string) string {
	return display.Cut(text, maxText, "starter audit RUN --output json has them")
}

// line is a line of details: its name and its text.
func line(name, text string) [2]string { return [2]string{name, cut(text)} }

// details returns the lines that have a text.
func details(lines ...[2]string) [][2]string {
	list := [][2]string{}
	for _, l := range lines {
		if l[1] != "" {
			list = append(list, l)
		}
	}
	return list
}

// callDetails returns the details of a call, the most important first.
func callDetails(r api.Record) [][2]string {
	list := details(
		line("status", statusText(r)),
		line("error", errorText(r.Error)),
		line("arguments", indented(r.Arguments)),
	)
	list = append(list, timingDetails(r.Timing)...)
	list = append(list, details(
		line("lane", r.Lane),
		line("priority", string(r.Priority)),
		line("tokens", tokensText(r)),
		line("approval", approvalText(r.Approval)),
		line("rules", policiesText(r.Policies)),
		line("notes", strings.Join(r.Notes, "\n")),
		line("tool", strings.TrimSpace(r.Tool+" "+r.Version)),
		line("run", r.WorkflowID),
	)...)
	if r.Child != nil {
		list = append(list, details(line("sub-agent's run", r.Child.WorkflowID))...)
	}
	return list
}

func timingDetails(t api.Timing) [][2]string {
	wait, duration := "", ""
	if !t.Started.IsZero() {
		if t.QueueWait > 0 {
			wait = shortDuration(t.QueueWait.Std())
		}
		if t.Duration > 0 {
			duration = shortDuration(t.Duration.Std())
		}
	}
	attempts := ""
	if t.Attempts > 0 {
		attempts = strconv.Itoa(t.Attempts)
	}
	return details(
		line("took", duration),
		line("waited for a worker", wait),
		line("attempts", attempts),
		line("previous attempt", t.LastFailure),
		line("worker", t.Worker),
		line("scheduled", clock(t.Scheduled)),
		line("started", clock(t.Started)),
		line("ended", clock(t.Closed)),
	)
}

// stepDetails returns the details of a model step.
func stepDetails(e api.Event, t api.Timing) [][2]string {
	var list [][2]string
	if s := e.Step; s != nil {
		u := s.Usage
		cached := ""
		if u.CachedTokens > 0 {
			cached = display.Thousands(u.CachedTokens) + " input tokens from the provider's cache"
		}
		var calls []string
		for _, c := range s.Message.Calls {
			calls = append(calls, c.ID+" "+c.Tool)
		}
		list = details(
			line("text", s.Message.Text),
			line("calls", strings.Join(calls, ", ")),
			line("stop reason", string(s.Stop)),
			line("model", s.Model),
			line("used", usedText(u)),
			line("cached", cached),
		)
	}
	return append(append(list, details(line("lane", t.Lane))...), timingDetails(t)...)
}

func statusText(r api.Record) string {
	text := string(r.Status)
	if r.DryRun {
		text = "withheld (dry run)"
	}
	if r.Status == api.CallRunning && r.Started.IsZero() {
		text = "waiting"
	}
	if r.Phase != "" && r.Status != api.CallCompleted {
		text += " (phase " + string(r.Phase) + ")"
	}
	return text
}

func errorText(e *api.Error) string {
	if e == nil {
		return ""
	}
	lines := []string{strings.TrimSpace(string(e.Type) + ": " + e.Message)}
	for _, p := range e.Problems {
		lines = append(lines, p.String())
	}
	if len(e.Near) > 0 {
		lines = append(lines, "near: "+strings.Join(e.Near, ", "))
	}
	return strings.Join(append(lines, e.Details...), "\n")
}

func tokensText(r api.Record) string {
	var parts []string
	if n := r.ArgumentTokens(); n > 0 {
		parts = append(parts, display.Thousands(n)+" for the arguments")
	}
	if r.ResultTokens > 0 {
		parts = append(parts, display.Thousands(r.ResultTokens)+" for the result")
	}
	if r.ExpectedTokens > 0 {
		parts = append(parts, display.Thousands(r.ExpectedTokens)+" expected of the result")
	}
	if used := r.Usage.InputTokens + r.Usage.OutputTokens; used > 0 {
		parts = append(parts, display.Thousands(used)+" used by the sub-agent")
	}
	return strings.Join(parts, ", ")
}

func approvalText(d *api.Decided) string {
	if d == nil {
		return ""
	}
	text := people.DecidedNote(*d)
	if !d.At.IsZero() {
		text += ", at " + clock(d.At)
	}
	if d.Why != "" {
		text += "\nreason: " + d.Why
	}
	return text
}

func policiesText(list []api.PolicyAction) string {
	var lines []string
	for _, p := range list {
		lines = append(lines, p.Rule+" "+joined(string(p.Effect), p.Message, p.Failure))
	}
	return strings.Join(lines, "\n")
}

// joined joins the texts that are not empty with ": ".
func joined(texts ...string) string {
	return strings.Join(nonEmpty(texts), ": ")
}

// listed joins the texts that are not empty with commas.
func listed(texts ...string) string { return strings.Join(nonEmpty(texts), ", ") }

// nonEmpty returns the texts that are not empty.
func nonEmpty(texts []string) (kept []string) {
	for _, t := range texts {
		if t != "" {
			kept = append(kept, t)
		}
	}
	return kept
}

// clock formats a time in UTC, because readers of a page may be in another time zone.
func clock(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02 15:04:05.000 UTC")
}

// money formats US dollars, with more digits for smaller amounts.
func money(dollars float64) string {
	if dollars >= 1 || dollars == 0 {
		return fmt.Sprintf("$%.2f", dollars)
	}
	return fmt.Sprintf("$%.4f", dollars)
}

// shortDuration formats a duration with about three digits: 340 µs, 12 ms, 1.25 s, 2 min 05 s, 3 h
// 07 min, 2 d 4 h.
func shortDuration(d time.Duration) string {
	switch {
	case d <= 0:
		return "0 s"
	case d < time.Millisecond:
		return fmt.Sprintf("%d µs", d.Round(time.Microsecond).Microseconds())
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Round(time.Millisecond).Milliseconds())
	case d < 10*time.Second:
		return fmt.Sprintf("%.2f s", d.Seconds())
	case d < time.Minute:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case d < time.Hour:
		return fmt.Sprintf("%d min %02d s", d/time.Minute, d%time.Minute/time.Second)
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h %02d min", d/time.Hour, d%time.Hour/time.Minute)
	}
	return fmt.Sprintf("%d d %d h", d/(24*time.Hour), d%(24*time.Hour)/time.Hour)
}

var zeros = strings.NewReplacer(" 00 s", "", " 00 min", "", ".00 s", " s", ".0 s", " s", " 0 h", "")

// evenDuration formats a duration without digits that are zero.
func evenDuration(d time.Duration) string {
	if d <= 0 {
		return "0 s"
	}
	return zeros.Replace(shortDuration(d))
}

// formatElapsed formats a time since the start of the first run.
func formatElapsed(d time.Duration) string { return "+" + evenDuration(d) }
