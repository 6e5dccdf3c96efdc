package inspect

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit"
	"github.com/switchyard/switchyard/audit/history"
	"github.com/switchyard/switchyard/audit/html"
	"github.com/switchyard/switchyard/audit/stats"
	"github.com/switchyard/switchyard/internal/value/display"
	"github.com/switchyard/switchyard/starter/cli"
	"github.com/switchyard/switchyard/starter/internal/runlist"
	"github.com/switchyard/switchyard/starter/internal/terminal"
	"go.temporal.io/sdk/client"
)

// readAtOnce bounds the histories that are read concurrently.
const readAtOnce = 16

const reportHelp = `Reads the histories of the selected runs and their sub-agents and adds them up: how many runs
are successful, their usage, tokens per successful run (all input and output tokens divided by
the number of successful runs), and the results, durations and waiting times of calls by tool,
lane and agent.

A run is successful if a person evaluated it as solved (starter evaluate), else if the agent's
checker did, else if its agent answered or all of its calls succeeded. A run that failed, was
cancelled or reached a limit is not successful; its usage is included. Direct calls of unknown
tools or with wrong arguments are not counted as runs.

If a toolspec estimates the tokens of a result (expected_tokens), calls are compared with it:
wasteful calls exceed the estimate for arguments and result by the factor of --waste; inaccurate
calls miss it by more than --accuracy allows.

With --html the report is a self-contained page with charts, by agent and over time.`

func reportCommand(a *cli.App) *cobra.Command {
	var runs runlist.Selection
	var t stats.Thresholds
	var asHTML string
	var slow time.Duration
	cmd := &cobra.Command{
		Use: "report", GroupID: cli.GroupRuns,
		Short: "Show cost, success, and slow or wasteful calls of runs",
		Long:  reportHelp,
		Example: `  starter report --since 24h
  starter report --agent librarian --limit 200
  starter report --caller ada --tool refund --slow 2s
  starter report --since 24h --waste 1.5 --accuracy 0.6
  starter report --since 168h --html week.html
  starter report --output json | jq .tokens_per_successful_run`,
		Args: cli.Arguments(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			t.Slow = api.Duration(slow)
			if err := cmp.Or(runs.Check(cmd), checkThresholds(cmd, t), cli.CheckPage(cmd, "--html",
				asHTML)); err != nil {
				return err
			}
			return a.WithClient(cmd, func(ctx context.Context, c client.Client) error {
				list, err := runlist.Select(ctx, a, c, &runs)
				if err != nil {
					return err
				}
				if err := runlist.AddEvaluations(ctx, a, c, list); err != nil {
					return err
				}
				page := html.Report{Of: cli.ChangedFlags(cmd, "html")}
				found, missed, err := analyse(ctx, c, list, runs.Tool, t, page.AddRun)
				if err != nil {
					return err
				}
				page.Found, page.Notes, page.Now = found.Report(), notIn(list, runs.Limit, missed),
					time.Now()
				if asHTML != "" {
					return cli.WritePage(a, "--html", asHTML, page.Write, missed.unread)
				}
				return printAnalysis(a, page.Found, page.Notes, missed.unread)
			})
		},
	}
	runs.Maybe = true
	runs.Add(cmd.Flags(), 1000)
	cmd.Flags().DurationVar(&slow, "slow", 5*time.Second,
		"`duration` from which calls count as slow")
	cmd.Flags().Float64Var(&t.Waste, "waste", 1.2,
		"`factor` over the estimated tokens from which calls count as wasteful")
	cmd.Flags().Float64Var(&t.Accuracy, "accuracy", 0.8,
		"minimum `ratio` of the smaller to the larger of estimated and actual tokens; calls below it are inaccurate")
	cmd.Flags().StringVar(&asHTML, "html", "",
		"write an HTML page with charts to `file`; - is standard output")
	return cmd
}

// analyse reads runs concurrently and aggregates them, or only those that called tool if it is set.
// It calls each with every aggregated run.
func analyse(ctx context.Context, c client.Client, list []runlist.Run, tool string,
	t stats.Thresholds, each func(history.Summary, audit.Solved)) (all *stats.Analysis,
	missed missedRuns, err error) {
	all = stats.NewAnalysis(t)
	missed, err = readEach(ctx, c, list, t, func(i int, s history.Summary, one *stats.Analysis) {
		if tool == "" || one.HasCall(tool) {
			all.Add(one)
			if one.Runs().All == 0 { // a mistyped call
				return
			}
			decision, _ := audit.Evaluate(s, list[i].Decision)
			each(s, decision)
		}
	})
	return all, missed, err
}

// missedRuns describes listed runs that are not aggregated. gone counts those that the server has
// deleted.
type missedRuns struct {
	gone   int
	unread cli.Unread
}

// readEach reads runs and their sub-agents concurrently and passes on each result, sequentially and
// in any order.
func readEach(ctx context.Context, c client.Client, list []runlist.Run, t stats.Thresholds,
	each func(i int, s history.Summary, one *stats.Analysis)) (missed missedRuns, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var mu sync.Mutex
	var readers sync.WaitGroup
	slots := make(chan struct{}, readAtOnce)
	for i, run := range list {
		readers.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			one := stats.NewAnalysis(t)
			s, err := one.AddTree(ctx, c, run.ID, run.RunID)
			mu.Lock()
			defer mu.Unlock()
			switch {
			case errors.Is(err, audit.ErrNotFound):
				missed.gone++
			case err != nil && missed.unread.Take(run.ID, run.RunID, err):
			case err != nil:
				cancel(err)
			default:
				one.AddRun(s, run.Decision)
				each(i, s, one)
			}
		})
	}
	readers.Wait()
	slices.SortFunc(missed.unread, func(x, y cli.UnreadRun) int {
		return cmp.Or(cmp.Compare(x.WorkflowID, y.WorkflowID), cmp.Compare(x.RunID, y.RunID))
	})
	return missed, context.Cause(ctx)
}

// notIn returns notes about the runs missing from the report.
func notIn(list []runlist.Run, limit int, missed missedRuns) (notes []string) {
	if len(list) == limit {
		notes = append(notes, runlist.NewestOnly(limit))
	}
	if missed.gone > 0 {
		notes = append(notes, cli.IsAre(missed.gone, "run")+
			" not counted: the server no longer has the history")
	}
	if n := len(missed.unread); n > 0 {
		notes = append(notes, cli.IsAre(n, "run")+" not counted: the history cannot be read here")
	}
	return notes
}

// analysedRuns is the JSON output of report.
type analysedRuns struct {
	stats.Report
	Unread cli.Unread `json:"unread,omitempty"`
}

func printAnalysis(a *cli.App, r stats.Report, notes []string, missing cli.Unread) error {
	for _, note := range notes {
		fmt.Fprintln(a.Err, note)
	}
	if a.Format.JSON() {
		return missing.Exit(cli.WriteJSON(a.Out, analysedRuns{r, missing}, false))
	}
	if r.Runs.All == 0 && len(missing) > 0 {
		return missing.Err()
	}
	if r.Runs.All+r.Runs.Mistyped == 0 {
		fmt.Fprintln(a.Err, "no runs")
		return nil
	}
	writeAnalysis(a.Out, a.PaletteFor(a.Out), r)
	return missing.Err()
}

func writeAnalysis(w io.Writer, p cli.Palette, r stats.Report) {
	line := func(name, text string) {
		fmt.Fprintf(w, "%s %s\n", p.Bold(fmt.Sprintf("%-8s", name)),
			text)
	}
	runs := fmt.Sprintf("%d: %s successful, %s failed", r.Runs.All,
		p.Good(strconv.Itoa(r.Runs.Successful)),
		p.Bad(strconv.Itoa(r.Runs.Failed)))
	if r.Runs.Open > 0 {
		runs += fmt.Sprintf(", %d running", r.Runs.Open)
	}
	line("runs", runs+evaluatedCounts(r.Runs))
	tokens := fmt.Sprintf("%d in, %d out, in %s", r.Usage.InputTokens, r.Usage.OutputTokens,
		display.Plural(r.Usage.Turns, "model step"))
	if r.Usage.Cost > 0 {
		tokens += fmt.Sprintf(", $%.4f", r.Usage.Cost)
	}
	line("tokens", tokens)
	if r.TokensPerSuccessfulRun > 0 {
		line("success", fmt.Sprintf("%.0f tokens per successful run", r.TokensPerSuccessfulRun))
	}
	c := r.Calls
	line("calls", fmt.Sprintf(
		"%d: %d completed (%.0f %%), %d failed, %d refused, %d cancelled, %d running", c.Calls,
		c.Completed, 100*c.SuccessRate, c.Failed, c.Refused, c.Cancelled, c.Running)+asideCounts(c))
	line("time", fmt.Sprintf("%s on average, %s at most; %d slow; waited %s on average, %s at most",
		cli.ShortDuration(c.Average.Std()), cli.ShortDuration(c.Longest.Std()), c.Slow,
		cli.ShortDuration(c.AverageWait.Std()), cli.ShortDuration(c.LongestWait.Std())))
	for _, l := range optionalLines(r) {
		line(l.name, l.text)
	}
	writeTables(w, p, r)
}

// writeTables writes the figures by tool, lane and agent.
func writeTables(w io.Writer, p cli.Palette, r stats.Report) {
	for _, t := range []*cli.Table{groupTable("tool", r.Tools), groupTable("lane", r.Lanes),
		agentTable("agent", r.Agents), agentTable("plan", r.Plans),
		agentTable("direct call", r.Direct), agentTable("sessions of", r.Sessions),
		wasteTable("tool", r.Tools), wasteTable("lane", r.Lanes)} {
		if len(t.Rows) > 0 {
			fmt.Fprintln(w)
			fmt.Fprint(w, t.Text(p))
		}
	}
}

// asideCounts describes batched and otherwise separately counted calls.
func asideCounts(c stats.CallStats) (text string) {
	if c.Batched > 0 {
		text += fmt.Sprintf("; %d batched with others", c.Batched)
	}
	if c.Withheld > 0 {
		text += fmt.Sprintf("; %d withheld in dry runs", c.Withheld)
	}
	return text
}

// errorCounts lists error types by descending frequency.
func errorCounts(counts map[api.ErrorType]int) string {
	var parts []string
	for _, t := range stats.ErrorTypes(counts) {
		parts = append(parts, fmt.Sprintf("%d %s", counts[t], t))
	}
	return strings.Join(parts, ", ")
}

func groupTable(name string, list []stats.GroupStats) *cli.Table {
	t := &cli.Table{Header: []string{name, "calls", "completed", "failed", "refused", "average",
		"longest", "wait", "slow", "retries", "result tokens"},
		Right: map[int]bool{1: true, 2: true, 3: true, 4: true, 5: true, 6: true, 7: true, 8: true,
			9: true, 10: true}}
	for _, g := range list {
		t.Add(cmp.Or(cli.PlainText(g.Name), terminal.NoLane), strconv.Itoa(g.Calls),
			strconv.Itoa(g.Completed), strconv.Itoa(g.Failed), strconv.Itoa(g.Refused),
			cli.ShortDuration(g.Average.Std()), cli.ShortDuration(g.Longest.Std()),
			cli.ShortDuration(g.AverageWait.Std()), strconv.Itoa(g.Slow), strconv.Itoa(g.Retries),
			strconv.Itoa(g.ResultTokens))
	}
	return t
}
