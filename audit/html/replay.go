package html

import (
	"cmp"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/switchyard/switchyard/internal/value/display"
)

// PolicyReplay is the page about what rules would have done to recorded calls.
type PolicyReplay struct {
	// Calls is the number of calls that rules are for, Runs that of their runs. Same, Changed and
	// Undecided divide the calls.
	Calls, Runs, Same, Changed, Undecided int
	Changes                               []PolicyChange
	Rules                                 []PolicyRule
	// Of says which files and runs were selected. Notes say what is missing. They have no full
	// stop.
	Of    string
	Notes []string
	// Now is when the calls were read.
	Now time.Time
}

// PolicyChange are calls of a tool that would be decided otherwise, by the same rule.
type PolicyChange struct {
	Was, Would, Tool, Rule string
	Calls, Runs            int
	// First names the first such call.
	First string
}

// PolicyRule counts the calls that a rule would match.
type PolicyRule struct {
	Rule, Then                 string
	Matched, Failed, Undecided int
}

// replayPage is the data of pages/replay.html.
type replayPage struct {
	frame
	Words   []string
	Tiles   []tile
	Changes []PolicyChange
	Rules   []PolicyRule
	Groups  []chartGroup
	Data    []chart
}

// Write writes the page.
func (r *PolicyReplay) Write(w io.Writer) error {
	p := replayPage{frame: newFrame("Replay of rules on "+display.Plural(r.Calls, "call"),
		"starter policy replay, "+clock(r.Now), "page.js", "report.js"), Words: sentences(r.Of,
		r.Notes), Tiles: r.tiles(), Changes: r.Changes, Rules: r.Rules}
	p.Groups, p.Data = numbered(chartGroup{"Calls", []chart{
		r.changes("tool", func(c PolicyChange) string { return c.Tool }),
		r.changes("rule", func(c PolicyChange) string { return cmp.Or(c.Rule, "no rule") }),
		r.matches()}})
	return write(w, "replay.html", p)
}

func (r *PolicyReplay) tiles() []tile {
	return []tile{
		{display.Thousands(r.Calls), "calls", "of " + display.Plural(r.Runs, "run")},
		{display.Thousands(r.Changed), "decided otherwise", ratio(r.Changed, r.Calls) + " of the calls"},
		{display.Thousands(r.Same), "decided as before", ratio(r.Same, r.Calls) + " of the calls"},
		{display.Thousands(r.Undecided), "undecided", "the rules read what records do not have"},
	}
}

// changes returns the chart of the calls that would be decided otherwise, by what name returns.
func (r *PolicyReplay) changes(of string, name func(PolicyChange) string) chart {
	c := chart{Title: "Changed decisions by " + of, Of: of, Unit: unitCount, Names: []string{}}
	counts := map[string]map[string]int{}
	for _, change := range r.Changes {
		n := name(change)
		if counts[n] == nil {
			counts[n] = map[string]int{}
			c.Names = append(c.Names, n)
		}
		counts[n][change.Would] += change.Calls
	}
	for _, s := range []struct{ would, name, tone string }{
		{"deny", "would be denied", "failed"}, {"ask", "would need approval", "person"},
		{"warn", "would have a warning", "tried"}, {"allow", "would be allowed", "runs"},
	} {
		add(&c, s.name, s.tone, c.Names,
			func(n string) float64 { return float64(counts[n][s.would]) })
	}
	return c
}

// matches returns the chart of the calls that each rule matches.
func (r *PolicyReplay) matches() chart {
	c := chart{Title: "Calls by rule", Note: "a rule that fails denies the call", Of: "rule",
		Unit: unitCount, Names: []string{}}
	for _, rule := range r.Rules {
		c.Names = append(c.Names, rule.Rule)
	}
	add(&c, "matched", "runs", r.Rules, func(p PolicyRule) float64 { return float64(p.Matched) })
	add(&c, "failed", "failed", r.Rules, func(p PolicyRule) float64 { return float64(p.Failed) })
	add(&c, "undecided", "cancelled", r.Rules,
		func(p PolicyRule) float64 { return float64(p.Undecided) })
	return c
}

// numbered returns the groups without empty charts, and the charts in the order of their indices.
func numbered(all ...chartGroup) (groups []chartGroup, charts []chart) {
	charts = []chart{}
	for _, g := range all {
		g.Charts = slices.DeleteFunc(g.Charts, chart.empty)
		for i := range g.Charts {
			g.Charts[i].Index = len(charts)
			charts = append(charts, g.Charts[i])
		}
		if len(g.Charts) > 0 {
			groups = append(groups, g)
		}
	}
	return groups, charts
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
