package inspect

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"github.com/switchyard/switchyard"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit/history"
	"github.com/switchyard/switchyard/audit/stats"
	"github.com/switchyard/switchyard/internal/value/display"
	"github.com/switchyard/switchyard/starter/cli"
	"github.com/switchyard/switchyard/starter/internal/runlist"
	"go.temporal.io/sdk/client"
)

// conversationRuns bounds the runs that the summary of a conversation reads.
const conversationRuns = 1000

func conversationCommand(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use: "conversation ID", GroupID: cli.GroupRuns,
		Short: "Show the runs of a conversation with usage and call statistics",
		Long: `Reads the histories of a conversation's runs, the newest 1,000, and of the sub-agents below them.
Shows each run in order with its outcome and usage, and totals by tool and lane as in starter
report.

A run that was started without --conversation is a conversation of its own; the conversation has
the run's ID.`,
		Example: `  starter conversation support-42
  starter conversation support-42 --output json | jq .usage`,
		Args: cli.Arguments(1, "ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			s := runlist.Selection{RunQuery: switchyard.RunQuery{Conversation: args[0]},
				Limit: conversationRuns}
			return a.WithClient(cmd, func(ctx context.Context, c client.Client) error {
				read, err := selectToRead(ctx, a, c, &s, stats.Thresholds{})
				if err != nil {
					return err
				}
				if len(read.runs) == 0 {
					return cli.Errorf(cli.ExitFailed,
						"the conversation %q has no runs\nList runs with their conversations: %s",
						args[0], a.Connection.Invocation().Command("list", "--output", "json"))
				}
				return printConversation(ctx, a, args[0], read)
			})
		},
	}
}

// printConversation reads the runs of a conversation and prints them, and what they add up to.
func printConversation(ctx context.Context, a *cli.App, id string, read *reading) error {
	sum := stats.NewAnalysis(stats.Thresholds{})
	var runs []history.Summary
	if err := read.each(ctx, func(_ int, s history.Summary, one *stats.Analysis) {
		sum.Add(one)
		runs = append(runs, s)
	}); err != nil {
		return err
	}
	slices.SortFunc(runs, func(x, y history.Summary) int { return x.Started.Compare(y.Started) })
	for _, note := range read.notes(conversationRuns) {
		fmt.Fprintln(a.Err, note)
	}
	if a.Format.JSON() {
		return read.unread.Exit(cli.WriteJSON(a.Out, struct {
			Conversation string            `json:"conversation"`
			List         []history.Summary `json:"list"`
			stats.Report
			Unread cli.Unread `json:"unread,omitempty"`
		}{id, runs, sum.Report(), read.unread}, false))
	}
	if len(runs) == 0 {
		return read.unread.Err()
	}
	if err := a.Print(conversationTable(a, runs) + "\n"); err != nil {
		return err
	}
	writeReport(a.Out, a.PaletteFor(a.Out), sum.Report())
	return read.unread.Err()
}

func conversationTable(a *cli.App, runs []history.Summary) string {
	p, now := a.PaletteFor(a.Out), time.Now()
	t := newTable(6, "started", "run id", "name", "caller", "status", "outcome", "turns", "calls",
		"tokens", "cost", "duration")
	for _, r := range runs {
		end, outcome := cmp.Or(r.Closed, now), api.Outcome("")
		if r.Result != nil {
			outcome = r.Result.Outcome
		}
		addRow(t, a.Format.When(r.Started, now), r.Run, cli.PlainText(r.Name),
			cli.PlainText(r.Caller.ID), runlist.RunStatusText(p, r.Status), outcome, r.Usage.Turns,
			r.Usage.Calls, display.Thousands(r.Usage.InputTokens+r.Usage.OutputTokens),
			dollars(r.Usage.Cost), api.Duration(end.Sub(r.Started)))
	}
	return t.Text(p)
}
