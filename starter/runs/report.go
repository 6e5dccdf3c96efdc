package runs

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit/stats"
	"github.com/switchyard/switchyard/internal/value/display"
	"github.com/switchyard/switchyard/starter/cli"
	"github.com/switchyard/switchyard/starter/internal/terminal"
)

// report is the summary of a finished run.
type report struct {
	id         string
	started    time.Time
	end        api.Event
	records    []api.Record
	ui         string
	invocation cli.Invocation
	// usage is the counted usage, for runs whose end does not report it.
	usage api.Usage
}

func newReport(a *cli.App, f *follower) report {
	return report{id: f.id, started: f.started, end: f.last, records: f.records, usage: f.usage,
		ui: a.Connection.RunURL(f.id, f.last.RunID), invocation: a.Connection.Invocation()}
}

// text formats the answer, outcome, usage, calls by lane, failures, and the run's address.
func (r report) text(p cli.Palette) string {
	w := &strings.Builder{}
	if result := r.end.Result; result != nil {
		if text := terminal.ResultText(*result); text != "" {
			fmt.Fprintf(w, "\n%s\n", text)
		}
	}
	fmt.Fprintf(w, "\n%s  %s %s in %s\n", p.Bold("run     "), r.id, r.outcome(p),
		cli.ShortDuration(r.end.Time.Sub(r.started)))
	if earlier := r.invocation.ShowCommand(r.end.Continues); earlier != "" {
		fmt.Fprintf(w, "%s  %s\n", p.Bold("after   "), earlier)
	}
	r.writeUsage(w, p)
	if checked := r.describeCheck(); checked != "" {
		fmt.Fprintf(w, "%s  %s\n", p.Bold("checker "), checked)
	}
	if len(r.records) > 0 {
		fmt.Fprintln(w)
		r.writeLanes(w, p)
	}
	r.writeFailures(w, p)
	if r.end.Result != nil {
		terminal.WriteUndone(w, p, r.end.Result.Undone, r.invocation.Command("audit", r.id))
	}
	if r.ui != "" {
		fmt.Fprintf(w, "\n%s  %s\n", p.Bold("Web UI  "), r.ui)
	}
	return w.String()
}

// describeCheck describes the checker's evaluation of the run. It is empty without a checker.
func (r report) describeCheck() string {
	if r.end.Result == nil || r.end.Result.Checked == nil {
		return ""
	}
	c := r.end.Result.Checked
	text := c.Tool + ": not solved"
	switch {
	case c.Problem != "":
		return cli.OneLine(c.Tool + ": no evaluation: " + c.Problem)
	case c.Solved:
		text = c.Tool + ": solved"
	}
	if c.Reason != "" {
		text += ": " + c.Reason
	}
	return cli.OneLine(text)
}

func (r report) outcome(p cli.Palette) string {
	switch {
	case r.end.Type == api.EventRunCancelled:
		return p.Warn("cancelled")
	case r.end.Type == api.EventRunFailed:
		return p.Bad("failed")
	case r.end.Result != nil && r.end.Result.Limit != "":
		return p.Warn("reached the limit of " + r.end.Result.Limit)
	case r.end.Result != nil:
		return p.Good(string(r.end.Result.Outcome))
	}
	return string(r.end.Type)
}

func (r report) writeUsage(w *strings.Builder, p cli.Palette) {
	fmt.Fprintf(w, "%s  %s\n", p.Bold("used    "), terminal.UsageText(r.findUsage()))
}

// findUsage returns the usage that the run reports, or else the counted usage.
func (r report) findUsage() api.Usage {
	if r.end.Result != nil && r.end.Result.Usage != (api.Usage{}) {
		return r.end.Result.Usage
	}
	return r.usage
}

func (r report) writeLanes(w *strings.Builder, p cli.Palette) {
	a := stats.NewAnalysis(stats.Thresholds{})
	for _, record := range r.records {
		a.AddCall(record)
	}
	t := cli.Table{Header: []string{"lane", "calls", "failed", "refused", "average", "longest",
		"wait", "longest wait"},
		Right: map[int]bool{1: true, 2: true, 3: true, 4: true, 5: true, 6: true, 7: true}}
	for _, l := range a.Report().Lanes {
		t.Add(cmp.Or(l.Name, terminal.NoLane), display.Thousands(l.Calls),
			display.Thousands(l.Failed), display.Thousands(l.Refused),
			cli.ShortDuration(l.Average.Std()), cli.ShortDuration(l.Longest.Std()),
			cli.ShortDuration(l.AverageWait.Std()), cli.ShortDuration(l.LongestWait.Std()))
	}
	w.WriteString(t.Text(p))
}

// maxFailures bounds the failed calls that a report lists.
const maxFailures = 20

func (r report) writeFailures(w *strings.Builder, p cli.Palette) {
	if r.end.Failure != "" {
		fmt.Fprintf(w, "\n%s  %s\n", p.Bold("failure "),
			strings.Join(cli.NonEmpty([]string{p.Bad(string(r.end.FailureType)),
				cli.Visible(r.end.Failure)}),
				": "))
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
	fmt.Fprintf(w, "\n%s\n", p.Bold("failed and refused calls"))
	for _, record := range failed[:min(len(failed), maxFailures)] {
		fmt.Fprintf(w, "  %s %s %s%s\n", record.CallID, record.Tool,
			p.Bad(terminal.ErrorLine(record.Error)), attemptsText(record))
	}
	if more := len(failed) - maxFailures; more > 0 {
		fmt.Fprintf(w, "  … and %d more: %s\n", more, r.invocation.Command("audit", r.id))
	}
}

// attemptsText returns how many attempts a call took; empty for one.
func attemptsText(r api.Record) string {
	if r.Attempts < 2 {
		return ""
	}
	return fmt.Sprintf(", %d attempts", r.Attempts)
}

// shortText describes a direct call's outcome and address in one or two lines.
func (r report) shortText(p cli.Palette) string {
	line := r.id + " " + r.outcome(p) + " in " + cli.ShortDuration(r.end.Time.Sub(r.started))
	for _, record := range r.records {
		if record.Started.IsZero() {
			continue // never started
		}
		line += " · " + record.Tool + " took " + cli.ShortDuration(record.Duration.Std())
		line += attemptsText(record)
	}
	failed := r.end.Failure
	for _, record := range r.records {
		if record.Error != nil {
			failed += terminal.NearLine(record.Error)
		}
	}
	lines := []string{line, p.Bad(cli.Visible(failed)), p.Faint(r.ui)}
	return strings.Join(cli.NonEmpty(lines), "\n") + "\n"
}
