package inspect

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit"
	"github.com/switchyard/switchyard/internal/core/callview"
	"github.com/switchyard/switchyard/internal/value/display"
	"github.com/switchyard/switchyard/starter/cli"
	"github.com/switchyard/switchyard/starter/internal/terminal"
	"go.temporal.io/sdk/client"
)

func auditCommand(a *cli.App) *cobra.Command {
	var tree bool
	var verify, seal string
	cmd := &cobra.Command{
		Use: "audit RUN", GroupID: cli.GroupRuns, Short: "Show the record of every call of a run",
		Long: `Shows exactly one record for each call of a run, read from the run's history. With --output json
each record is one line of JSON with all its fields. Notes about calls follow the table.

With --tree the records of sub-agents follow those of the calls that started them, at every
depth.

With --verify no run is read. The command checks a file written by starter records --file for
changes.`,
		Example: `  starter audit demo-1a2b3c4d
  starter audit demo-1a2b3c4d --tree
  starter audit demo-1a2b3c4d --output json | jq 'select(.status != "completed")'
  starter audit --verify january.jsonl --seal 5f2c…`,
		Args: cli.Arguments(0, "RUN"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if (verify == "") == (len(args) == 0) {
				return cli.UsageError(cmd, "pass either RUN or --verify FILE")
			}
			if verify == "" {
				return a.OnRun(func(ctx context.Context, c client.Client,
					run *cli.RunRef) error {
					return auditRun(ctx, a, c, run, tree)
				})(cmd, args)
			}
			if kind := fileKind(verify); kind != sealed && exporters[kind] != nil {
				return cli.UsageError(cmd,
					"--verify %s: a %s file has no seal; only .jsonl exports can be verified",
					verify, kind)
			}
			return verifyExport(a, verify, seal)
		},
	}
	cmd.Flags().StringVar(&verify, "verify", "",
		"`file` of exported records to verify; - is standard input")
	cmd.Flags().StringVar(&seal, "seal", "", "seal printed by the export, a `digest`")
	cmd.Flags().BoolVar(&tree, "tree", false, "include the records of sub-agents below the run")
	return cmd
}

func auditRun(ctx context.Context, a *cli.App, c client.Client, run *cli.RunRef, tree bool) error {
	show := func(records iter.Seq2[api.Record, error], tree bool) error {
		if a.Format.JSON() {
			return writeRecords(a, records)
		}
		return printRecords(a, records, tree)
	}
	if !tree {
		return a.LookupError(run.WorkflowID, run.RunID,
			show(audit.Records(ctx, c, run.WorkflowID, run.RunID), false))
	}
	// Check that the run exists first, because child runs may have been deleted.
	if _, err := audit.Pending(ctx, c, run.WorkflowID, run.RunID); err != nil {
		return a.LookupError(run.WorkflowID, run.RunID, err)
	}
	err := show(audit.Tree(ctx, c, run.WorkflowID, run.RunID), true)
	if errors.Is(err, audit.ErrNotFound) {
		return cli.Errorf(cli.ExitFailed,
			"the records are incomplete, because the server no longer has the history of a sub-agent: %w",
			err)
	}
	return a.LookupError(run.WorkflowID, run.RunID, err)
}

// writeRecords streams records as JSON, one per line.
func writeRecords(a *cli.App, records iter.Seq2[api.Record, error]) error {
	for r, err := range records {
		if err != nil {
			return err
		}
		if err := cli.WriteJSON(a.Out, r, false); err != nil {
			return err
		}
	}
	return nil
}

// printRecords prints a table, including the records read before an error. Records of a tree of
// runs are already ordered and are labelled by path.
func printRecords(a *cli.App, records iter.Seq2[api.Record, error], tree bool) error {
	var rows []api.Record
	var failed error
	for r, err := range records {
		if failed = err; err != nil {
			break
		}
		r.Notes, r.Result = terminal.ListNotes(r), nil // no cell shows it, and runs can be long
		if tree {
			r.CallID = r.Path
		}
		rows = append(rows, r)
	}
	if failed != nil && len(rows) == 0 {
		return failed
	}
	if !tree {
		slices.SortStableFunc(rows, audit.ByCall)
	}
	p, t := a.PaletteFor(a.Out), newTable(len(recordHeader), recordHeader...)
	for _, r := range rows {
		t.Add(recordCells(r, p, time.Now())...)
	}
	err := a.Print(t.Text(p))
	printNotes(a, rows)
	return errors.Join(err, failed)
}

// printNotes prints the calls' notes, such as that an instance was replaced, and the problems of
// rejected calls, which the table does not show.
func printNotes(a *cli.App, rows []api.Record) {
	p := a.PaletteFor(a.Err)
	for _, r := range rows {
		for _, note := range r.Notes {
			fmt.Fprintln(a.Err, p.Warn("note:"), r.CallID, r.Tool+":", note)
		}
		for _, problem := range terminal.ProblemTexts(r.Error) {
			fmt.Fprintln(a.Err, p.Warn("note:"), r.CallID, r.Tool+":", problem)
		}
	}
}

// recordHeader names the columns of a record.
var recordHeader = []string{"call", "tool", "lane", "status", "attempts", "wait", "duration",
	"error", "arguments"}

func recordCells(r api.Record, p cli.Palette, now time.Time) []string {
	attempts, failed := "", ""
	if r.Attempts > 0 {
		attempts = strconv.Itoa(r.Attempts)
	}
	if r.Error != nil {
		failed = string(r.Error.Type)
	}
	wait, duration := "", ""
	if !r.Started.IsZero() {
		wait, duration = cli.ShortDuration(r.QueueWait.Std()), cli.ShortDuration(r.Duration.Std())
	}
	if r.Status == api.CallRunning {
		wait, duration = "", "waits" // for approval, or for its turn
		if since := cmp.Or(r.Started, r.Scheduled); !since.IsZero() {
			duration = "running " + cli.ShortDuration(now.Sub(since))
		}
	}
	arguments := strings.TrimSpace(callview.Line("", r.Arguments, nil))
	return []string{r.CallID, cli.PlainText(r.Tool), r.Lane, terminal.CallStatusText(p, r.Status),
		attempts, wait, duration, failed, display.Shorten(arguments, 80)}
}
