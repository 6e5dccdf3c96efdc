package inspect

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit"
	"github.com/switchyard/switchyard/audit/history"
	"github.com/switchyard/switchyard/audit/stats"
	"github.com/switchyard/switchyard/internal/value/display"
	"github.com/switchyard/switchyard/starter/cli"
	"github.com/switchyard/switchyard/starter/internal/runlist"
	"go.temporal.io/sdk/client"
)

// summedConversation is the summary of a conversation.
type summedConversation struct {
	Conversation string `json:"conversation"`
	// Gone counts the runs whose histories the server has deleted. The figures exclude them.
	Gone int `json:"gone,omitempty"`
	// HasErrors is set if a run or a call of the conversation failed.
	HasErrors bool `json:"has_errors"`
	// MaxRetries is the most retries of one call.
	MaxRetries int `json:"max_retries"`
	// List holds the conversation's runs in order of their start, without sub-agents' runs, which
	// count as part of them.
	List []summedRun `json:"list"`
	stats.Report
	// Unread lists the runs that could not be read. The figures exclude them.
	Unread cli.Unread `json:"unread,omitempty"`
}

// summedRun is one run of a conversation.
type summedRun struct {
	WorkflowID string            `json:"workflow_id"`
	RunID      string            `json:"run_id"`
	Kind       history.RunKind   `json:"kind"`
	Name       string            `json:"name,omitempty"`
	Caller     string            `json:"caller,omitempty"`
	Status     history.RunStatus `json:"status"`
	// WaitsFor lists what an open run needs from people.
	WaitsFor []audit.Awaited `json:"waits_for,omitempty"`
	Outcome  api.Outcome     `json:"outcome,omitempty"`
	// Evaluation tells whether the run is solved, and EvaluatedBy who decided that.
	Evaluation  audit.Solved      `json:"evaluation"`
	EvaluatedBy audit.EvaluatedBy `json:"evaluated_by"`
	Started     time.Time         `json:"started"`
	Duration    api.Duration      `json:"duration"`
	// Calls counts all calls including sub-agents'. SuccessRate is the completed share of the
	// finished ones.
	Calls       int     `json:"calls"`
	SuccessRate float64 `json:"success_rate"`
	// HasErrors is set if the run or one of its calls failed.
	HasErrors bool `json:"has_errors"`
	// MaxRetries is the most retries of one of its calls.
	MaxRetries int       `json:"max_retries"`
	Usage      api.Usage `json:"usage"`
}

func conversationCommand(a *cli.App) *cobra.Command {
	var limit int
	cmd := &cobra.Command{
		Use: "conversation ID", GroupID: cli.GroupRuns,
		Short: "Show the runs of a conversation with usage and call statistics",
		Long: `Reads the histories of a conversation's runs and of the sub-agents below them. Shows each run in
order with its outcome, its calls and their success rate, and totals by tool and lane as in
starter report.

A run that was started without --conversation is a conversation of its own; the conversation has
the run's ID.`,
		Example: `  starter conversation support-42
  starter conversation support-42 --output json | jq .usage`,
		Args: cli.Arguments(1, "ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			s := runlist.Selection{Conversation: args[0], Limit: limit}
			if err := s.Check(cmd); err != nil {
				return err
			}
			return a.WithClient(cmd, func(ctx context.Context, c client.Client) error {
				list, err := runlist.Select(ctx, a, c, &s)
				if err != nil {
					return err
				}
				if len(list) == 0 {
					return cli.Errorf(cli.ExitFailed,
						"the conversation %q has no runs\nList runs with their conversations: %s",
						args[0], a.Connection.Invocation().Command("list", "--output", "json"))
				}
				slices.SortStableFunc(list,
					func(x, y runlist.Run) int { return x.Started.Compare(y.Started) })
				if err := runlist.AddEvaluations(ctx, a, c, list); err != nil {
					return err
				}
				result, err := sumUp(ctx, c, args[0], list)
				if err != nil {
					return err
				}
				return printConversation(a, result, len(list) == limit)
			})
		},
	}
	cmd.Flags().IntVar(&limit, "limit", 1000, "maximum number of `runs`, the newest first")
	return cmd
}

// sumUp reads the runs of a conversation.
func sumUp(ctx context.Context, c client.Client, id string,
	list []runlist.Run) (result summedConversation, err error) {
	sum, runs := stats.NewAnalysis(stats.Thresholds{}), make([]*summedRun, len(list))
	result.Conversation = id
	missed, err := readEach(ctx, c, list, stats.Thresholds{}, func(i int, s history.Summary,
		one *stats.Analysis) {
		run := newSummedRun(list[i], s, one.Report().Calls)
		runs[i] = &run
		sum.Add(one)
	})
	for _, run := range runs {
		if run != nil {
			result.List = append(result.List, *run)
			result.HasErrors = result.HasErrors || run.HasErrors
			result.MaxRetries = max(result.MaxRetries, run.MaxRetries)
		}
	}
	result.Report, result.Gone, result.Unread = sum.Report(), missed.gone, missed.unread
	return result, err
}

// newSummedRun returns one run with its call counts.
func newSummedRun(listed runlist.Run, s history.Summary, calls stats.CallStats) summedRun {
	r := summedRun{WorkflowID: listed.ID, RunID: listed.RunID, Kind: listed.Kind, Name: s.Name,
		Caller: listed.Caller, Status: listed.Status, WaitsFor: listed.WaitsFor,
		Started:  listed.Started,
		Duration: listed.Duration, Calls: calls.Calls, SuccessRate: calls.SuccessRate,
		HasErrors:  calls.Failed+calls.Refused > 0 || s.Status == history.RunFailed,
		MaxRetries: calls.MaxRetries, Usage: s.Usage}
	r.Evaluation, r.EvaluatedBy = audit.Evaluate(s, listed.Decision)
	if s.Result != nil {
		r.Outcome = s.Result.Outcome
	}
	r.Outcome = cmp.Or(r.Outcome, listed.Outcome)
	return r
}

func printConversation(a *cli.App, result summedConversation, more bool) error {
	if more {
		fmt.Fprintln(a.Err, runlist.NewestOnly(len(result.List)+result.Gone+len(result.Unread)))
	}
	if result.Gone > 0 {
		fmt.Fprintf(a.Err, "of %s more the server keeps the histories no longer\n",
			display.Plural(result.Gone, "run"))
	}
	if a.Format.JSON() {
		return result.Unread.Exit(cli.WriteJSON(a.Out, result, false))
	}
	if len(result.List) == 0 && len(result.Unread) > 0 {
		return result.Unread.Err()
	}
	p, now := a.PaletteFor(a.Out), time.Now()
	t := cli.Table{Header: []string{"started", "run id", "name", "caller", "status", "outcome",
		"evaluation", "turns", "calls", "succeeded", "tokens", "cost", "duration"},
		Right: map[int]bool{7: true, 8: true, 9: true, 10: true, 11: true, 12: true}}
	for _, r := range result.List {
		t.Add(a.Format.When(r.Started, now), r.RunID, r.Name, r.Caller,
			runlist.RunStateText(p, r.Status, r.WaitsFor), string(r.Outcome), string(r.Evaluation),
			strconv.Itoa(r.Usage.Turns), strconv.Itoa(r.Calls), r.formatSuccessRate(),
			display.Thousands(r.Usage.InputTokens+r.Usage.OutputTokens),
			fmt.Sprintf("$%.4f", r.Usage.Cost), cli.ShortDuration(r.Duration.Std()))
	}
	if err := a.Print(t.Text(p) + "\n"); err != nil {
		return err
	}
	writeAnalysis(a.Out, p, result.Report)
	return result.Unread.Err()
}

// formatSuccessRate formats the share of completed calls. Empty without calls.
func (r summedRun) formatSuccessRate() string {
	if r.Calls == 0 {
		return ""
	}
	return fmt.Sprintf("%.0f %%", 100*r.SuccessRate)
}
