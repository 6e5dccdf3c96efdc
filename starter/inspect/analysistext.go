package inspect

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/switchyard/switchyard/audit/stats"
	"github.com/switchyard/switchyard/internal/value/display"
	"github.com/switchyard/switchyard/starter/cli"
)

// checkThresholds rejects thresholds that flag nothing or everything.
func checkThresholds(cmd *cobra.Command, t stats.Thresholds) error {
	switch {
	case t.Slow <= 0:
		return cli.UsageError(cmd, "--slow %s is not above zero", t.Slow)
	case !(t.Waste >= 1):
		return cli.UsageError(cmd, "--waste %v is below 1", t.Waste)
	case !(t.Accuracy > 0 && t.Accuracy <= 1):
		return cli.UsageError(cmd, "--accuracy %v is not above 0 and at most 1", t.Accuracy)
	}
	return nil
}

// evaluatedCounts describes how many runs were evaluated by a person or a checker rather than by
// their outcome, and how many calls are not counted as runs.
func evaluatedCounts(r stats.RunCounts) (text string) {
	if r.ByPeople > 0 {
		text += fmt.Sprintf("; %d evaluated by people", r.ByPeople)
	}
	if r.ByCheckers > 0 {
		text += fmt.Sprintf("; %d evaluated by checkers", r.ByCheckers)
	}
	if r.Mistyped > 0 {
		text += "; " + display.Plural(r.Mistyped, "mistyped call") + " not counted"
	}
	return text
}

// maxNamed bounds the tools named in one line of a report.
const maxNamed = 10

// slowTools names the tools with slow calls. Empty if there are none.
func slowTools(r stats.Report) string {
	return namedTools(r.SlowTools, r.Tools, func(s stats.CallStats) string {
		return fmt.Sprintf("%d of %d over %s", s.Slow, s.Calls,
			cli.ShortDuration(r.Thresholds.Slow.Std()))
	})
}

// namedTools lists tools, each with its text.
func namedTools(names []string, tools []stats.GroupStats,
	what func(stats.CallStats) string) string {
	stats := map[string]stats.CallStats{}
	for _, g := range tools {
		stats[g.Name] = g.CallStats
	}
	var parts []string
	for _, name := range names[:min(len(names), maxNamed)] {
		parts = append(parts, cli.PlainText(name)+" ("+what(stats[name])+")")
	}
	if more := len(names) - maxNamed; more > 0 {
		parts = append(parts, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(parts, ", ")
}

// wasteText compares the tokens of calls with their estimates. Empty if no call has an estimate.
func wasteText(r stats.Report) string {
	c, t := r.Calls, r.Thresholds
	if c.Estimated == 0 {
		return ""
	}
	text := fmt.Sprintf("%d of %d calls took more than %g times the estimated tokens (%s tokens too many); accuracy %.2f on average, %d under %g",
		c.Wasteful, c.Estimated, t.Waste, display.Thousands(c.WastedTokens), c.Accuracy,
		c.Inaccurate,
		t.Accuracy)
	if c.Unestimated > 0 {
		text += "; " + cli.IsAre(c.Unestimated, "call") + " without an estimate"
	}
	return text
}

// wasteTable compares calls' tokens with their estimates, in total and by group.
func wasteTable(name string, list []stats.GroupStats) *cli.Table {
	t := &cli.Table{Header: []string{name, "compared", "estimated", "actual", "accuracy", "wasteful",
		"wasted tokens", "inaccurate"},
		Right: map[int]bool{1: true, 2: true, 3: true, 4: true, 5: true, 6: true, 7: true}}
	for _, g := range list {
		if g.Estimated > 0 {
			t.Add(cli.PlainText(g.Name), strconv.Itoa(g.Estimated), strconv.Itoa(g.EstimatedTokens),
				strconv.Itoa(g.ActualTokens), fmt.Sprintf("%.2f", g.Accuracy),
				strconv.Itoa(g.Wasteful), strconv.Itoa(g.WastedTokens), strconv.Itoa(g.Inaccurate))
		}
	}
	return t
}

// agentTable lists agents, plans or directly called tools with their own runs and all their calls.
func agentTable(name string, list []stats.AgentStats) *cli.Table {
	t := &cli.Table{Header: []string{name, "runs", "successful", "failed", "tokens", "tokens/success",
		"cost", "calls", "completed", "failed", "refused", "average"},
		Right: map[int]bool{1: true, 2: true, 3: true, 4: true, 5: true, 6: true, 7: true, 8: true,
			9: true, 10: true, 11: true}}
	for _, g := range list {
		t.Add(cli.PlainText(g.Name), strconv.Itoa(g.Runs.All), strconv.Itoa(g.Runs.Successful),
			strconv.Itoa(g.Runs.Failed), strconv.Itoa(g.Usage.InputTokens+g.Usage.OutputTokens),
			perSuccessful(g), fmt.Sprintf("$%.4f", g.Usage.Cost), strconv.Itoa(g.Calls),
			strconv.Itoa(g.Completed), strconv.Itoa(g.Failed),
			strconv.Itoa(g.Refused), cli.ShortDuration(g.Average.Std()))
	}
	return t
}

// perSuccessful formats the tokens per successful run, or - if there is none.
func perSuccessful(g stats.AgentStats) string {
	if g.Runs.Successful == 0 {
		return unknown
	}
	return fmt.Sprintf("%.0f", g.TokensPerSuccessfulRun)
}

// reportLine is one line of a report.
type reportLine struct{ name, text string }

// optionalLines returns the lines of a report that only some reports have.
func optionalLines(r stats.Report) (lines []reportLine) {
	broken := ""
	if r.Violations > 0 {
		broken = display.Plural(r.Violations, "call") +
			" violated a policy, an execution plan, a budget or a hook"
	}
	for _, l := range []reportLine{{"slow", slowTools(r)}, {"waste", wasteText(r)}, {"rules", broken},
		{"errors", errorCounts(r.Errors)}} {
		if l.text != "" {
			lines = append(lines, l)
		}
	}
	return lines
}
