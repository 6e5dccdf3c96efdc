package inspect

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"github.com/switchyard/switchyard"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit"
	"github.com/switchyard/switchyard/audit/history"
	"github.com/switchyard/switchyard/audit/html"
	"github.com/switchyard/switchyard/audit/stats"
	"github.com/switchyard/switchyard/internal/value/display"
	"github.com/switchyard/switchyard/starter/cli"
	"github.com/switchyard/switchyard/starter/internal/runlist"
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
				read, err := selectToRead(ctx, a, c, &runs, t)
				if err != nil {
					return err
				}
				page := html.Report{Of: cli.ChangedFlags(cmd, "html")}
				found, err := read.analyse(ctx, runs.Tool, page.AddRun)
				if err != nil {
					return err
				}
				page.Found, page.Notes, page.Now = found.Report(), read.notes(runs.Limit),
					time.Now()
				if asHTML != "" {
					return cli.WritePage(a, "--html", asHTML, page.Write, read.unread)
				}
				return printReport(a, page.Found, page.Notes, read.unread)
			})
		},
	}
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

// reading reads the histories of selected runs and of their sub-agents.
type reading struct {
	client      client.Client
	thresholds  stats.Thresholds
	runs        []switchyard.ListedRun
	evaluations map[string]*api.RunEvaluation
	// gone counts the runs that the server has deleted, unread lists those that cannot be decoded.
	gone   int
	unread cli.Unread
}

// selectToRead selects runs and reads people's evaluations of them.
func selectToRead(ctx context.Context, a *cli.App, c client.Client, s *runlist.Selection,
	t stats.Thresholds) (*reading, error) {
	runs, err := runlist.Select(ctx, a, c, s)
	if err != nil {
		return nil, err
	}
	evaluations, err := runlist.Evaluations(ctx, a, c, runs)
	return &reading{client: c, thresholds: t, runs: runs, evaluations: evaluations}, err
}

// analyse adds up the runs, or only those that called tool if it is set. It calls each with every
// run that counts.
func (r *reading) analyse(ctx context.Context, tool string,
	each func(history.Summary, audit.Solved)) (*stats.Analysis, error) {
	all := stats.NewAnalysis(r.thresholds)
	return all, r.each(ctx, func(i int, s history.Summary, one *stats.Analysis) {
		if tool != "" && !one.HasCall(tool) {
			return
		}
		all.Add(one)
		if one.Runs().All > 0 { // not a mistyped call
			decision, _ := audit.Evaluate(s, r.evaluations[r.runs[i].RunID])
			each(s, decision)
		}
	})
}

// each reads the runs concurrently and passes on each result, sequentially and in any order.
func (r *reading) each(ctx context.Context,
	each func(i int, s history.Summary, one *stats.Analysis)) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var mu sync.Mutex
	var readers sync.WaitGroup
	slots := make(chan struct{}, readAtOnce)
	for i, run := range r.runs {
		slots <- struct{}{}
		readers.Go(func() {
			defer func() { <-slots }()
			one := stats.NewAnalysis(r.thresholds)
			s, err := one.AddTree(ctx, r.client, run.WorkflowID, run.RunID)
			mu.Lock()
			defer mu.Unlock()
			switch {
			case errors.Is(err, audit.ErrNotFound):
				r.gone++
			case err != nil && !r.unread.Take(run.WorkflowID, run.RunID, err):
				cancel(err)
			case err == nil:
				one.AddRun(s, r.evaluations[run.RunID])
				each(i, s, one)
			}
		})
	}
	readers.Wait()
	slices.SortFunc(r.unread, func(x, y cli.UnreadRun) int {
		return cmp.Or(cmp.Compare(x.WorkflowID, y.WorkflowID), cmp.Compare(x.RunID, y.RunID))
	})
	return context.Cause(ctx)
}

// notes returns notes about the runs missing from the result.
func (r *reading) notes(limit int) (notes []string) {
	if len(r.runs) == limit {
		notes = append(notes, runlist.NewestOnly(limit))
	}
	if r.gone > 0 {
		notes = append(notes, cli.IsAre(r.gone, "run")+
			" not counted: the server no longer has the history")
	}
	if n := len(r.unread); n > 0 {
		notes = append(notes, cli.IsAre(n, "run")+" not counted: the history cannot be read here")
	}
	return notes
}

func printReport(a *cli.App, r stats.Report, notes []string, missing cli.Unread) error {
	for _, note := range notes {
		fmt.Fprintln(a.Err, note)
	}
	if a.Format.JSON() {
		return missing.Exit(cli.WriteJSON(a.Out, struct {
			stats.Report
			Unread cli.Unread `json:"unread,omitempty"`
		}{r, missing}, false))
	}
	if r.Runs.All == 0 && len(missing) > 0 {
		return missing.Err()
	}
	if r.Runs.All+r.Runs.Mistyped == 0 {
		fmt.Fprintln(a.Err, "no runs")
		return nil
	}
	writeReport(a.Out, a.PaletteFor(a.Out), r)
	return missing.Err()
}

func writeReport(w io.Writer, p cli.Palette, r stats.Report) {
	line := func(name, text string) {
		if text != "" {
			fmt.Fprintf(w, "%s %s\n", p.Bold(fmt.Sprintf("%-8s", name)), text)
		}
	}
	line("runs", runsText(p, r.Runs))
	line("tokens", tokensText(r.Usage))
	if r.TokensPerSuccessfulRun > 0 {
		line("success", fmt.Sprintf("%.0f tokens per successful run", r.TokensPerSuccessfulRun))
	}
	c := r.Calls
	line("calls", fmt.Sprintf("%d: %d completed (%.0f %%), %d failed, %d refused, %d cancelled, "+
		"%d running, %d batched, %d withheld in dry runs", c.Calls, c.Completed, 100*c.SuccessRate,
		c.Failed, c.Refused, c.Cancelled, c.Running, c.Batched, c.Withheld))
	line("time", fmt.Sprintf("%s on average, %s at most; %d slow; waited %s on average, %s at most",
		cli.ShortDuration(c.Average.Std()), cli.ShortDuration(c.Longest.Std()), c.Slow,
		cli.ShortDuration(c.AverageWait.Std()), cli.ShortDuration(c.LongestWait.Std())))
	line("slow", cli.OneLine(strings.Join(r.SlowTools, ", ")))
	line("waste", wasteText(r))
	if r.Violations > 0 {
		line("rules", display.Plural(r.Violations, "call")+
			" violated a policy, an execution plan, a budget or a hook")
	}
	line("errors", errorCounts(r.Errors))
	for _, t := range []*cli.Table{groupTable("tool", r.Tools), groupTable("lane", r.Lanes),
		agentTable("agent", r.Agents), agentTable("plan", r.Plans),
		agentTable("direct call", r.Direct), agentTable("sessions of", r.Sessions),
		wasteTable(r.Tools)} {
		if len(t.Rows) > 0 {
			fmt.Fprintln(w)
			fmt.Fprint(w, t.Text(p))
		}
	}
}

// runsText counts runs by their evaluation and by who evaluated them.
func runsText(p cli.Palette, r stats.RunCounts) string {
	text := fmt.Sprintf("%d: %s successful, %s failed", r.All, p.Good(fmt.Sprint(r.Successful)),
		p.Bad(fmt.Sprint(r.Failed)))
	if r.Open > 0 {
		text += fmt.Sprintf(", %d running", r.Open)
	}
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

func tokensText(u api.Usage) string {
	text := fmt.Sprintf("%d in, %d out, in %s", u.InputTokens, u.OutputTokens,
		display.Plural(u.Turns, "model step"))
	if u.Cost > 0 {
		text += fmt.Sprintf(", %s", dollars(u.Cost))
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

// wasteText compares the tokens of calls with their estimates. Empty if no call has an estimate.
func wasteText(r stats.Report) string {
	c, t := r.Calls, r.Thresholds
	if c.Estimated == 0 {
		return ""
	}
	return fmt.Sprintf("%d of %d calls took more than %g times the estimated tokens (%s tokens too "+
		"many); accuracy %.2f on average, %d under %g; %d without an estimate", c.Wasteful,
		c.Estimated, t.Waste, display.Thousands(c.WastedTokens), c.Accuracy, c.Inaccurate,
		t.Accuracy, c.Unestimated)
}

func groupTable(name string, list []stats.GroupStats) *cli.Table {
	t := newTable(1, name, "calls", "completed", "failed", "refused", "average", "longest", "wait",
		"slow", "retries", "result tokens")
	for _, g := range list {
		addRow(t, g.Name, g.Calls, g.Completed, g.Failed, g.Refused, g.Average, g.Longest,
			g.AverageWait, g.Slow, g.Retries, g.ResultTokens)
	}
	return t
}

// wasteTable compares the tokens of tools' calls with their estimates.
func wasteTable(list []stats.GroupStats) *cli.Table {
	t := newTable(1, "tool", "compared", "estimated", "actual", "accuracy", "wasteful",
		"wasted tokens", "inaccurate")
	for _, g := range list {
		if g.Estimated > 0 {
			addRow(t, g.Name, g.Estimated, g.EstimatedTokens, g.ActualTokens,
				fmt.Sprintf("%.2f", g.Accuracy), g.Wasteful, g.WastedTokens, g.Inaccurate)
		}
	}
	return t
}

// agentTable lists agents, plans or directly called tools with their own runs and all their calls.
func agentTable(name string, list []stats.AgentStats) *cli.Table {
	t := newTable(1, name, "runs", "successful", "failed", "tokens", "tokens/success", "cost",
		"calls", "completed", "failed", "refused", "average")
	for _, g := range list {
		each := unknown
		if g.Runs.Successful > 0 {
			each = fmt.Sprintf("%.0f", g.TokensPerSuccessfulRun)
		}
		addRow(t, g.Name, g.Runs.All, g.Runs.Successful, g.Runs.Failed,
			g.Usage.InputTokens+g.Usage.OutputTokens, each, dollars(g.Usage.Cost), g.Calls,
			g.Completed, g.Failed, g.Refused, g.Average)
	}
	return t
}
