package inspect

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/switchyard/switchyard"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit"
	"github.com/switchyard/switchyard/audit/export"
	"github.com/switchyard/switchyard/internal/value/display"
	"github.com/switchyard/switchyard/starter/cli"
	"github.com/switchyard/switchyard/starter/internal/runlist"
	"go.temporal.io/sdk/client"
)

func recordsCommand(a *cli.App) *cobra.Command {
	var s runlist.Selection
	var follow followFlags
	var file string
	cmd := &cobra.Command{
		Use: "records", GroupID: cli.GroupRuns, Short: "Show or export the call records of many runs",
		Long: `Shows one record for each call of the selected runs and of the sub-agents below them, the newest
run first. With --output json each record is one line of JSON, with the evaluation of its selected
run: whether it is solved, who decided and why, as in starter report.

With --file the records are written to a file: CSV (.csv) or JSON Lines (.jsonl). In JSON Lines
each line holds the digest of the line before it, and the command prints the seal of the whole
file. Store the seal elsewhere: starter audit --verify FILE --seal SEAL detects lines that were
changed, removed, inserted or cut off.

The flags select runs. --tool also selects calls of those runs.

With --follow the records of the calls and the summaries of all runs are written as they end, until
Ctrl-C: as JSON Lines to standard output, with --file to a file without a seal, or with --postgres
to tables. File and tables keep a position, from which the next start goes on: no entry is lost or
written twice. With --otlp-endpoint the spans of runs that have ended go to an OTLP collector; after
a crash some are sent again, with the same IDs. A new position begins with all runs that the server
has, or with those that ended after --since; standard output begins now.`,
		Example: `  starter records --conversation support-42 --tool refund
  starter records --since 24h --output json | jq 'select(.status == "failed")'
  starter records --since 2026-01-01 --limit 100000 --file january.jsonl
  starter audit --verify january.jsonl
  starter records --follow --file stream.jsonl
  starter records --follow --otlp-endpoint http://localhost:4318 --position spans.position`,
		Args: cli.Arguments(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := s.Check(cmd); err != nil {
				return err
			}
			if cmd.Flags().Changed("file") && exporters[fileKind(file)] == nil {
				return cli.UsageError(cmd, "--file %q does not end in .jsonl or .csv; --output "+
					"json writes records to standard output, without a seal", file)
			}
			follow.file, follow.since = file, s.Since
			if err := follow.check(cmd); err != nil {
				return err
			}
			return a.WithClient(cmd, func(ctx context.Context, c client.Client) error {
				if follow.follow {
					return followRecords(ctx, a, c, &follow)
				}
				return selectedRecords(ctx, a, c, &s, file)
			})
		},
	}
	s.Add(cmd.Flags(), 100)
	f := cmd.Flags()
	f.StringVar(&file, "file", "", "`file` to write the records to: .jsonl or .csv")
	follow.add(f)
	return cmd
}

// selectedRecords shows or exports the records of the selected runs.
func selectedRecords(ctx context.Context, a *cli.App, c client.Client, s *runlist.Selection,
	file string) error {
	list, err := runlist.Select(ctx, a, c, s)
	if err != nil {
		return err
	}
	evaluations, err := runlist.Evaluations(ctx, a, c, list)
	if err != nil {
		return err
	}
	var missing cli.Unread
	records := func(yield func(api.Record, error) bool) {
		for _, run := range list {
			if !yieldRecords(a, run, s.Tool, &missing, audit.EvaluatedTree(ctx, c, run.WorkflowID,
				run.RunID, evaluations[run.RunID]), yield) {
				return
			}
		}
	}
	if len(list) == s.Limit {
		fmt.Fprintln(a.Err, runlist.NewestOnly(s.Limit))
	}
	switch {
	case file != "":
		return exportRecords(a, file, records, &missing)
	case a.Format.JSON():
		return cmp.Or(writeRecords(a, records), missing.Err())
	}
	return cmp.Or(printManyRecords(a, records, &missing), missing.Err())
}

// yieldRecords yields the records of a run, or those of calls of tool if it is set. It reports and
// skips a run whose history the server has deleted, and adds an unreadable one to missing. It
// returns false to stop.
func yieldRecords(a *cli.App, run switchyard.ListedRun, tool string, missing *cli.Unread,
	records iter.Seq2[api.Record, error], yield func(api.Record, error) bool) bool {
	for r, err := range records {
		if errors.Is(err, audit.ErrNotFound) {
			fmt.Fprintf(a.Err, "run %s is incomplete: %v\n", run.WorkflowID, err)
			return true
		}
		if err != nil && missing.Take(run.WorkflowID, run.RunID, err) {
			return true
		}
		if (err != nil || tool == "" || r.Tool == tool) && !yield(r, err) {
			return false
		}
	}
	return true
}

// sealed is the extension of files with hash-chained lines.
const sealed = ".jsonl"

// exporters maps file extensions to the record formats.
var exporters = map[string]func(io.Writer) export.Exporter{sealed: export.NewJSON, ".csv": export.NewCSV}

// fileKind returns a file's extension as exporters spells it.
func fileKind(path string) string { return strings.ToLower(filepath.Ext(path)) }

// exportRecords writes records to a file atomically.
func exportRecords(a *cli.App, path string, records iter.Seq2[api.Record, error],
	missing *cli.Unread) error {
	var n int
	var seal string
	err := cli.StreamWhole("--file", path, 0o600, func(w io.Writer) (err error) {
		n, seal, err = exportTo(exporters[fileKind(path)](w), records)
		return err
	})
	if err != nil {
		return err
	}
	if a.Format.JSON() {
		written := map[string]any{"file": path, "records": n, "seal": seal}
		if len(*missing) > 0 {
			written["unread"] = *missing
		}
		return missing.Exit(cli.WriteJSON(a.Out, written, false))
	}
	text := fmt.Sprintf("%s written to %s", display.Plural(n, "record"), path)
	if seal != "" {
		text += "\nseal " + seal
	}
	return cmp.Or(a.Println(text), missing.Err())
}

func exportTo(x export.Exporter, records iter.Seq2[api.Record, error]) (n int, seal string,
	err error) {
	for r, err := range records {
		if err != nil {
			return n, "", err
		}
		if err := x.Write(r); err != nil {
			return n, "", err
		}
		n++
	}
	seal, err = x.Close()
	return n, seal, err
}

// printManyRecords prints a table of the records of several runs.
func printManyRecords(a *cli.App, records iter.Seq2[api.Record, error], missing *cli.Unread) error {
	p := a.PaletteFor(a.Out)
	t := newTable(len(recordHeader)+1, append([]string{"run"}, recordHeader...)...)
	for r, err := range records {
		if err != nil {
			return err
		}
		r.CallID = r.Path
		t.Add(append([]string{r.WorkflowID}, recordCells(r, p, time.Now())...)...)
	}
	if len(t.Rows) > 0 {
		return a.Print(t.Text(p))
	}
	if len(*missing) == 0 {
		fmt.Fprintln(a.Err, "no calls")
	}
	return nil
}

// verifyExport checks an existing export. seal is the expected seal; empty skips that comparison.
func verifyExport(a *cli.App, path, seal string) error {
	source := io.Reader(a.In)
	if path != "-" {
		file, err := os.Open(path)
		if err != nil {
			return cli.Errorf(cli.ExitUsage, "--verify %s: %w", path, cli.PathError(path, err))
		}
		defer file.Close()
		source = file
	}
	records, found, err := export.Verify(source)
	switch {
	case errors.Is(err, export.ErrChain):
		return cli.Errorf(cli.ExitFailed, "%s: %w\nUnchanged before it: %s", path, err,
			display.Plural(records, "record"))
	case err != nil:
		return cli.Errorf(cli.ExitUsage, "--verify %s: %w", path, cli.PathError(path, err))
	case seal != "" && seal != found:
		return cli.Errorf(cli.ExitFailed, "%s is intact, but the seal belongs to another export\nIts own seal is %s.", path, found)
	}
	if a.Format.JSON() {
		return cli.WriteJSON(a.Out, map[string]any{"file": path, "records": records, "seal": found}, false)
	}
	text := fmt.Sprintf("%s is unchanged: %s", path, display.Plural(records, "record"))
	if seal == "" {
		text += "\nseal " + found + "\nOnly a seal that was stored elsewhere proves that the whole file was not rewritten."
	}
	return a.Println(text)
}
