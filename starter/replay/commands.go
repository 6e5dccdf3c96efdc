package replay

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/spf13/cobra"
	"github.com/switchyard/switchyard/internal/value/display"
	"github.com/switchyard/switchyard/starter/cli"
	"go.temporal.io/sdk/client"
)

// Commands returns the commands of this package.
func Commands(a *cli.App) []*cobra.Command {
	return []*cobra.Command{replayCommand(a)}
}

// source selects the histories to replay: those of one run, of a query, or of files.
type source struct {
	query string
	files []string
	limit int
}

func replayCommand(a *cli.App) *cobra.Command {
	var s source
	cmd := &cobra.Command{
		Use: "replay [RUN]", GroupID: cli.GroupServer,
		Short: "Replay recorded histories against the workflows of this build",
		Long: `Replays histories of runs with the workflows that this build of starter contains, and reports those
whose recorded decisions it would not repeat. Run it before you deploy the workers of the same
build: a run that does not replay stops with a non-determinism error until you roll back.

Pass a run, whose executions are all replayed, a visibility query for executions of Switchyard's
workflows, those of lanes included, or files with exported histories. Nothing is executed, and the
runs are not affected. Workflows of your own application are skipped.

The exit code is 1 if a history does not replay or cannot be read.`,
		Example: `  starter replay demo-1a2b3c4d
  starter replay --query 'ExecutionStatus = "Running"' --limit 1000
  starter replay --file history.json
  starter replay --query 'ExecutionStatus = "Running"' --output json | jq 'select(.status != "ok")'`,
		Args: cli.Arguments(0, "RUN"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := s.check(cmd, args); err != nil {
				return err
			}
			switch {
			case len(s.files) > 0:
				return report(a, s.fromFiles(cmd.Context(), a))
			case s.query != "":
				return a.WithClient(cmd, func(ctx context.Context, c client.Client) error {
					return report(a, s.fromQuery(ctx, a, c))
				})
			}
			return a.OnRun(func(ctx context.Context, c client.Client, run *cli.RunRef) error {
				return report(a, fromRun(ctx, a, c, run))
			})(cmd, args)
		},
	}
	cmd.Flags().StringVarP(&s.query, "query", "q", "",
		"Temporal visibility `query` for executions, in place of RUN")
	cmd.Flags().StringArrayVar(&s.files, "file", nil,
		"`file` with a history as JSON, in place of RUN; can be repeated, - is standard input")
	cmd.Flags().IntVar(&s.limit, "limit", 100,
		"maximum number of `executions` of --query, the newest first")
	return cmd
}

// check rejects command lines that select nothing, or in two ways.
func (s *source) check(cmd *cobra.Command, args []string) error {
	given := 0
	for _, is := range []bool{len(args) > 0, s.query != "",
		len(s.files) > 0} {
		if is {
			given++
		}
	}
	switch {
	case given == 0:
		return cli.UsageError(cmd, "nothing to replay: pass RUN, --query or --file")
	case given > 1:
		return cli.UsageError(cmd, "pass one of RUN, --query and --file")
	case s.limit < 1:
		return cli.UsageError(cmd, "--limit %d is below 1", s.limit)
	}
	return nil
}

// report replays histories and prints one line for each. It returns an error if one did not replay
// or could not be read.
func report(a *cli.App, all iter.Seq2[recorded, error]) error {
	count := map[status]int{}
	for r, err := range all {
		if err != nil {
			return err
		}
		result := r.replay()
		count[result.Status]++
		if err := printResult(a, result); err != nil {
			return err
		}
	}
	return summarize(a, count)
}

func printResult(a *cli.App, r replayed) error {
	if a.Format.JSON() {
		return cli.WriteJSON(a.Out, r, false)
	}
	line := fmt.Sprintf("%s  %s  %s  %s  %s", r.Status, cli.PlainText(r.WorkflowID), r.RunID,
		r.WorkflowType, display.Plural(r.HistoryEvents, "event"))
	if r.Reason != "" {
		line += ": " + cli.OneLine(r.Reason)
	}
	if r.Remedy != "" {
		line += "; " + r.Remedy
	}
	return a.Println(line)
}

// summarize returns the exit code for the outcomes, with a sentence unless the output is JSON.
func summarize(a *cli.App, count map[status]int) error {
	bad := count[statusNondeterministic] + count[statusUnreadable]
	all := bad + count[statusOK] + count[statusSkipped]
	switch {
	case bad > 0 && a.Format.JSON():
		return cli.Exit(cli.ExitFailed)
	case count[statusNondeterministic] > 0:
		return cli.Errorf(cli.ExitFailed, "%d of %s would stop on this build",
			count[statusNondeterministic], display.Plural(all, "execution"))
	case bad > 0:
		return cli.Errorf(cli.ExitFailed, "%d of %s could not be read", bad,
			display.Plural(all, "execution"))
	case all == 0 && !a.Format.JSON():
		fmt.Fprintln(a.Err, "no executions")
	}
	return nil
}

// unreadable reports whether an error concerns one history only: it was deleted, or its payloads
// cannot be decoded.
func unreadable(err error) bool {
	return err != nil && !cli.Unreachable(err) && !errors.Is(err, context.Canceled)
}
