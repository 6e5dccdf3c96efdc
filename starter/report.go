package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit/stats"
)

// report is what is told of a run when it has ended.
type report struct {
	id      string
	started time.Time
	end     api.Event
	records []api.Record
	ui      string
	reach   reach
	// each has the results of all calls told, whatever the run itself returns.
	each bool
	// usage is the run's where its end does not say it.
	usage api.Usage
}

func (a *app) newReport(f *follower) report {
	return report{id: f.id, started: f.started, end: f.last, records: f.records, usage: f.usage, each: f.each,
		ui: a.connection.runURL(f.id, f.last.RunID), reach: a.connection.reach()}
}

// text tells the answer, how the run ended, what it used, its calls by lane, its failures and where to see it.
func (r report) text(p palette) string {
	w := &strings.Builder{}
	if result := r.end.Result; result != nil {
		if text := r.told(*result); text != "" {
			fmt.Fprintf(w, "\n%s\n", text)
		}
	}
	fmt.Fprintf(w, "\n%s  %s %s in %s\n", p.bold("run     "), r.id, r.outcome(p), brief(r.end.Time.Sub(r.started)))
	if earlier := r.reach.showing(r.end.Continues); earlier != "" {
		fmt.Fprintf(w, "%s  %s\n", p.bold("after   "), earlier)
	}
	r.writeUsage(w, p)
	if checked := r.checked(); checked != "" {
		fmt.Fprintf(w, "%s  %s\n", p.bold("checker "), checked)
	}
	if len(r.records) > 0 {
		fmt.Fprintln(w)
		writeLanes(w, p, stats.Lanes(slices.Values(r.records)))
	}
	r.writeFailures(w, p)
	if r.end.Result != nil {
		writeUndone(w, p, r.end.Result.Undone, r.reach.command("audit", r.id))
	}
	if r.ui != "" {
		fmt.Fprintf(w, "\n%s  %s\n", p.bold("Web UI  "), r.ui)
	}
	return w.String()
}

// told is what the run returned, or where they are wanted the results of all of its calls.
func (r report) told(result api.RunResult) string {
	if !r.each {
		return resultText(result)
	}
	var results []string
	for _, record := range r.records {
		if record.Result != nil && record.Error == nil {
			results = append(results, string(quotedJSON(record.CallID))+":"+string(record.Result.Output))
		}
	}
	if len(results) == 0 {
		return ""
	}
	return readable(json.RawMessage("{" + strings.Join(results, ",") + "}"))
}

// checked is what the agent's checker says of the run; empty where it has none.
func (r report) checked() string {
	if r.end.Result == nil || r.end.Result.Checked == nil {
		return ""
	}
	c := r.end.Result.Checked
	text := c.Tool + " says that it is not solved"
	switch {
	case c.Problem != "":
		return oneLine(c.Tool + " gave no verdict: " + c.Problem)
	case c.Solved:
		text = c.Tool + " says that it is solved"
	}
	if c.Reason != "" {
		text += ": " + c.Reason
	}
	return oneLine(text)
}

// oneLine is a text of several lines in one.
func oneLine(text string) string { return plainText(strings.Join(strings.Fields(text), " ")) }

func (r report) outcome(p palette) string {
	switch {
	case r.end.Type == api.EventRunCancelled:
		return p.warn("cancelled")
	case r.end.Type == api.EventRunFailed:
		return p.bad("failed")
	case r.end.Result != nil && r.end.Result.Limit != "":
		return p.warn("reached its limit of " + r.end.Result.Limit)
	case r.end.Result != nil:
		return p.good(string(r.end.Result.Outcome))
	}
	return string(r.end.Type)
}

func (r report) writeUsage(w *strings.Builder, p palette) {
	fmt.Fprintf(w, "%s  %s\n", p.bold("used    "), usageText(r.used()))
}

// used is what the run says that it used, or else what was counted.
func (r report) used() api.Usage {
	if r.end.Result != nil && r.end.Result.Usage != (api.Usage{}) {
		return r.end.Result.Usage
	}
	return r.usage
}

// usageText says what a run used, in one line.
func usageText(u api.Usage) string {
	var parts []string
	if u.Turns > 0 {
		parts = append(parts, api.Plural(u.Turns, "turn"))
	}
	calls := api.Plural(u.Calls, "call")
	if u.Failed > 0 {
		calls += fmt.Sprintf(" (%d failed or refused)", u.Failed)
	}
	parts = append(parts, calls)
	if u.InputTokens+u.OutputTokens > 0 {
		parts = append(parts, fmt.Sprintf("%s tokens in, %s out", api.Thousands(u.InputTokens), api.Thousands(u.OutputTokens)))
	}
	if u.Cost > 0 {
		parts = append(parts, fmt.Sprintf("$%.4f", u.Cost))
	}
	return strings.Join(parts, ", ")
}

// noLane stands for the lane of calls that never came to one: they were refused.
const noLane = "-"

func writeLanes(w *strings.Builder, p palette, lanes []stats.LaneUse) {
	t := table{header: []string{"lane", "calls", "failed", "refused", "total", "average", "longest", "wait", "longest wait"},
		right: map[int]bool{1: true, 2: true, 3: true, 4: true, 5: true, 6: true, 7: true, 8: true}}
	for _, l := range lanes {
		t.add(cmp.Or(l.Lane, noLane), api.Thousands(l.Calls), api.Thousands(l.Failed), api.Thousands(l.Refused), brief(l.Total.Std()), brief(l.Average.Std()),
			brief(l.Max.Std()), brief(l.WaitAverage.Std()), brief(l.WaitMax.Std()))
	}
	w.WriteString(t.text(p))
}

// maxFailures bounds the failed calls that a report lists.
const maxFailures = 20

func (r report) writeFailures(w *strings.Builder, p palette) {
	if r.end.Failure != "" {
		fmt.Fprintf(w, "\n%s  %s\n", p.bold("failure "), strings.Join(nonEmpty([]string{p.bad(string(r.end.FailureType)), r.end.Failure}), ": "))
	}
	var failed []api.Record
	for _, record := range r.records {
		if record.Error != nil {
			failed = append(failed, record)
		}
	}
	if len(failed) == 0 {
		return
	}
	fmt.Fprintf(w, "\n%s\n", p.bold("failed and refused calls"))
	for _, record := range failed[:min(len(failed), maxFailures)] {
		fmt.Fprintf(w, "  %s %s %s\n", record.CallID, record.Tool, p.bad(errorLine(record.Error)))
	}
	if more := len(failed) - maxFailures; more > 0 {
		fmt.Fprintf(w, "  … and %d more: %s\n", more, r.reach.command("audit", r.id))
	}
}

// resultText is a run's answer or output for people.
func resultText(r api.RunResult) string {
	if r.Answer != "" {
		return r.Answer
	}
	return readable(r.Output)
}

// readable is a JSON value for people: a string as it is, anything else indented.
func readable(output json.RawMessage) string {
	text := api.PlainText(output)
	var b bytes.Buffer
	if len(output) > 0 && output[0] != '"' && json.Indent(&b, []byte(text), "", "  ") == nil {
		return b.String()
	}
	return text
}

// brief tells, for a direct call, in one or two lines how it ended and where to see it.
func (r report) brief(p palette) string {
	line := r.id + " " + r.outcome(p) + " in " + brief(r.end.Time.Sub(r.started))
	for _, record := range r.records {
		if record.Started.IsZero() {
			continue // it never ran
		}
		line += " · " + record.Tool + " took " + brief(record.Duration.Std())
		if record.Attempts > 1 {
			line += fmt.Sprintf(", %d attempts", record.Attempts)
		}
	}
	failed := r.end.Failure
	for _, record := range r.records {
		if record.Error != nil {
			failed += nearLine(record.Error)
		}
	}
	lines := []string{line, p.bad(failed), p.faint(r.ui)}
	return strings.Join(nonEmpty(lines), "\n") + "\n"
}
