package html

import (
	"io"
	"slices"
	"strings"
	"time"

	"github.com/switchyard/switchyard/audit"
	"github.com/switchyard/switchyard/audit/history"
	"github.com/switchyard/switchyard/audit/stats"
	"github.com/switchyard/switchyard/internal/value/display"
)

// Report is the page about many runs: the result of their analysis, and the runs.
type Report struct {
	// Found is the result of the analysis of the runs.
	Found stats.Report
	// Of says which runs were selected; empty for all.
	Of string
	// Notes say what is missing, such as runs whose histories are deleted. They have no full stop.
	Notes []string
	// Now is when the runs were read.
	Now  time.Time
	runs []reportedRun
}

// reportedRun is a run whose start the page shows.
type reportedRun struct {
	began    time.Time
	decision audit.Solved
}

// AddRun adds a run with its evaluation to those over time. Found has to count it, too.
func (r *Report) AddRun(s history.Summary, decision audit.Solved) {
	r.runs = append(r.runs, reportedRun{s.Started, decision})
}

// reportPage is the data of pages/report.html.
type reportPage struct {
	frame
	Words  []string
	Tiles  []tile
	Groups []tableGroup
}

// tile is one figure with its name.
type tile struct{ Figure, Name, Note string }

// tableGroup is a group of tables with a headline.
type tableGroup struct {
	Title  string
	Tables []table
}

// Write writes the page.
func (r *Report) Write(w io.Writer) error {
	slices.SortStableFunc(r.runs, func(x, y reportedRun) int { return x.began.Compare(y.began) })
	p := reportPage{frame: newFrame("Report of "+display.Plural(r.Found.Runs.All, "run"),
		"starter report, "+clock(r.Now), ""), Words: r.words(), Tiles: r.tiles(),
		Groups: nonEmptyGroups(tableGroup{"Runs", r.runTables()},
			tableGroup{"Tokens and cost", r.tokenTables()}, tableGroup{"Calls", r.callTables()},
			tableGroup{"Time", r.timeTables()})}
	return write(w, "report.html", p)
}

// dated returns the runs whose start is known. Deleted histories do not have it.
func (r *Report) dated() []reportedRun {
	first := slices.IndexFunc(r.runs, func(run reportedRun) bool { return !run.began.IsZero() })
	if first < 0 {
		return nil
	}
	return r.runs[first:]
}

// words say which runs the page is about.
func (r *Report) words() []string {
	words := sentences(r.Of, nil)
	if dated := r.dated(); len(dated) > 0 {
		const minute = "2006-01-02 15:04"
		words = append(words, "They started between "+dated[0].began.UTC().Format(minute)+" and "+
			dated[len(dated)-1].began.UTC().Format(minute)+" UTC.")
	}
	return append(words, sentences("", r.Notes)...)
}

// tiles returns the figures of all runs. A new figure is one line.
func (r *Report) tiles() []tile {
	f, c := r.Found, r.Found.Calls
	runs := display.Thousands(f.Runs.Successful) + " successful, " + display.Thousands(f.Runs.Failed) +
		" failed"
	if f.Runs.Open > 0 {
		runs += ", " + display.Thousands(f.Runs.Open) + " running"
	}
	calls := display.Thousands(c.Completed) + " completed, " + display.Thousands(c.Failed) + " failed, " +
		display.Thousands(c.Refused) + " refused"
	if c.Withheld > 0 {
		calls += ", " + display.Thousands(c.Withheld) + " withheld"
	}
	list := []tile{
		{display.Thousands(f.Runs.All), "runs", runs},
		{ratio(f.Runs.Successful, f.Runs.Successful+f.Runs.Failed), "successful",
			"of the finished runs" +
				byWhom(f.Runs)},
		{figure(unitCount, f.TokensPerSuccessfulRun), "tokens per successful run",
			"all tokens ÷ successful runs"},
		{figure(unitCount, float64(f.Usage.InputTokens+f.Usage.OutputTokens)), "tokens",
			display.Thousands(f.Usage.InputTokens) + " in, " + display.Thousands(f.Usage.OutputTokens) +
				" out, " + display.Plural(f.Usage.Turns, "model step")},
		{money(f.Usage.Cost), "cost", "of models with a price"},
		{display.Thousands(c.Calls), "calls", calls},
		{ratio(c.Completed, c.Calls-c.Running-c.Withheld), "of calls completed",
			display.Plural(c.Retries, "retry")},
		{shortDuration(c.Average.Std()), "average call", shortDuration(c.Longest.Std()) + " at most"},
		{shortDuration(c.AverageWait.Std()), "average wait", "for a worker; " +
			shortDuration(c.LongestWait.Std()) + " at most"},
		{display.Thousands(c.Slow), "slow calls", "longer than " + shortDuration(f.Thresholds.Slow.Std())},
		{display.Thousands(f.Violations), "violations", "of policies, plans, budgets, hooks"},
		{display.Thousands(c.Batched), "batched", "with other calls of their turn"},
	}
	if c.Estimated > 0 {
		list = append(list, tile{display.Thousands(c.WastedTokens), "wasted tokens",
			"above the estimates of " + display.Plural(c.Wasteful, "call")},
			tile{figure(unitPercent, 100*c.Accuracy), "accuracy of estimates", "on average over " +
				display.Plural(c.Estimated, "call") + "; " + display.Thousands(c.Inaccurate) +
				" inaccurate"})
	}
	if f.TokensPerSuccessfulRun == 0 {
		list[2].Figure = "–"
	}
	return list
}

// byWhom says how many runs people and checkers evaluated.
func byWhom(r stats.RunCounts) (text string) {
	if r.ByPeople > 0 {
		text += "; " + display.Thousands(r.ByPeople) + " evaluated by people"
	}
	if r.ByCheckers > 0 {
		text += "; " + display.Thousands(r.ByCheckers) + " evaluated by checkers"
	}
	if r.Mistyped > 0 {
		text += "; " + display.Plural(r.Mistyped, "mistyped call") + " not counted"
	}
	return text
}

// ratio returns a part of a whole in percent; – if the whole is zero.
func ratio(part, whole int) string {
	if whole <= 0 {
		return "–"
	}
	return figure(unitPercent, 100*float64(part)/float64(whole))
}

// nonEmptyGroups returns the groups without tables that have nothing to show.
func nonEmptyGroups(all ...tableGroup) (groups []tableGroup) {
	for _, g := range all {
		if g.Tables = slices.DeleteFunc(g.Tables, table.empty); len(g.Tables) > 0 {
			groups = append(groups, g)
		}
	}
	return groups
}

// sentences say what was selected, and the notes.
func sentences(of string, notes []string) []string {
	words := []string{}
	if of != "" {
		words = append(words, "Selected: "+of+".")
	}
	for _, note := range nonEmpty(notes) {
		words = append(words, strings.ToUpper(note[:1])+note[1:]+".")
	}
	return words
}
