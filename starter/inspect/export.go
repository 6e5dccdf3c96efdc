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
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit"
	"github.com/switchyard/switchyard/audit/export"
	"github.com/switchyard/switchyard/internal/value/display"
	"github.com/switchyard/switchyard/starter/cli"
	"github.com/switchyard/switchyard/starter/internal/runlist"
	"go.temporal.io/sdk/client"
)

// recordSelection selects records of the selected runs.
type recordSelection struct {
	runlist.Selection
	callStatus string
}

// callStatuses lists the values of --call-status.
var callStatuses = []string{string(api.CallCompleted), string(api.CallFailed),
	string(api.CallRefused), string(api.CallCancelled), string(api.CallRunning)}

func (s *recordSelection) meets(r api.Record) bool {
	return (s.Tool == "" || r.Tool == s.Tool) && (s.callStatus == "" || string(r.Status) == s.callStatus)
}

// check rejects unknown statuses and file types.
func (s *recordSelection) check(cmd *cobra.Command, file string) error {
	if s.callStatus != "" && !slices.Contains(callStatuses, s.callStatus) {
		return cli.UsageError(cmd, "--call-status %q is not one of %s", s.callStatus, strings.Join(callStatuses, ", "))
	}
	if cmd.Flags().Changed("file") && exporters[fileKind(file)] == nil {
		return cli.UsageError(cmd, "--file %q does not end in .jsonl or .csv; --output json writes records to standard output, without a seal", file)
	}
	return nil
}

func recordsCommand(a *cli.App) *cobra.Command {
	var s recordSelection
	var follow followFlags
	var file string
	cmd := &cobra.Command{
		Use: "records", GroupID: cli.GroupRuns, Short: "Show or export the call records of many runs",
		Long: `Shows one record for each call of the selected runs and of the sub-agents below them, the newest
run first. With --output json each record is one line of JSON. Each record has the evaluation of
its selected run: whether it is solved, who decided and why, as in starter report.

With --file the records are written to a file: CSV (.csv) or JSON Lines (.jsonl). In JSON Lines
each line holds the digest of the line before it, and the command prints the seal of the whole
file. Store the seal elsewhere: starter audit --verify FILE --seal SEAL detects lines that were
changed, removed, inserted or cut off.

The flags select runs. --tool and --call-status also select calls of those runs.

With --follow the records of the calls and the summaries of all runs are written as they end, until
Ctrl-C: to standard output, with --file to a file of JSON Lines without a seal, or with --postgres
to tables. File and tables keep a position, from which the next start goes on: no entry is lost or
written twice. With --otlp-endpoint the spans of runs that have ended go to an OTLP collector; after
a crash some are sent again, with the same IDs. A new position begins with all runs that the server
has, or with those that ended after --since; standard output begins now.`,
		Example: `  starter records --since 24h --call-status failed
  starter records --conversation support-42 --tool refund
  starter records --agent librarian --file records.csv
  starter records --since 2026-01-01 --until 2026-02-01 --limit 100000 --file january.jsonl
  starter audit --verify january.jsonl
  starter records --follow --file stream.jsonl
  starter records --follow --postgres-dsn-file /run/secrets/postgres
  starter records --follow --otlp-endpoint http://localhost:4318 --position spans.position`,
		Args: cli.Arguments(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := cmp.Or(s.check(cmd, file), s.Selection.Check(cmd)); err != nil {
				return err
			}
			follow.file, follow.since = file, s.From()
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
	s.Maybe = true
	s.Add(cmd.Flags(), 100)
	f := cmd.Flags()
	f.StringVar(&s.callStatus, "call-status", "", "`status` of the calls: "+strings.Join(callStatuses, ", "))
	f.StringVar(&file, "file", "", "`file` to write the records to: .jsonl or .csv")
	follow.add(f)
	return cmd
}

// selectedRecords shows or exports the records of the selected runs.
func selectedRecords(ctx context.Context, a *cli.App, c client.Client, s *recordSelection,
	file string) error {
	list, err := runlist.Select(ctx, a, c, &s.Selection)
	if err != nil {
		return err
	}
	if err := runlist.AddEvaluations(ctx, a, c, list); err != nil {
		return err
	}
	var missing cli.Unread
	records := readRecords(ctx, a, c, list, s, &missing)
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

// readRecords yields the records of runs. It reports and skips runs whose histories the server has
// deleted, and adds unreadable runs to missing.
func readRecords(ctx context.Context, a *cli.App, c client.Client, list []runlist.Run,
	s *recordSelection, missing *cli.Unread) iter.Seq2[api.Record, error] {
	return func(yield func(api.Record, error) bool) {
		for _, run := range list {
			for r, err := range audit.EvaluatedTree(ctx, c, run.ID, run.RunID, run.Decision) {
				if errors.Is(err, audit.ErrNotFound) {
					fmt.Fprintf(a.Err, "run %s is incomplete: %v\n", run.ID, err)
					break
				}
				if err != nil && missing.Take(run.ID, run.RunID, err) {
					break
				}
				if (err != nil || s.meets(r)) && !yield(r, err) {
					return
				}
			}
		}
	}
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

// printManyRecords prints a table of the records of several runs, and one of their evaluations.
func printManyRecords(a *cli.App, records iter.Seq2[api.Record, error], missing *cli.Unread) error {
	p := a.PaletteFor(a.Out)
	t := cli.Table{Header: append([]string{"run"}, recordHeader...), Right: map[int]bool{5: true, 6: true, 7: true}}
	var evaluated []*api.EvaluatedResult
	for r, err := range records {
		if err != nil {
			return err
		}
		r.CallID = r.Path
		t.Add(append([]string{r.WorkflowID}, recordCells(r, p, time.Now())...)...)
		if n := len(evaluated); r.Evaluation != nil && (n == 0 || r.Evaluation != evaluated[n-1]) {
			evaluated = append(evaluated, r.Evaluation)
		}
	}
	if len(t.Rows) == 0 && len(*missing) > 0 {
		return nil
	}
	if len(t.Rows) == 0 {
		fmt.Fprintln(a.Err, "no calls")
		return nil
	}
	return a.Print(t.Text(p) + "\n" + evaluationTable(evaluated).Text(p))
}

// evaluationTable lists the runs' evaluations, with execution IDs where a run ID occurs more than
// once.
func evaluationTable(evaluated []*api.EvaluatedResult) *cli.Table {
	seen := map[string]bool{}
	for _, j := range evaluated {
		seen[j.WorkflowID] = true
	}
	if len(seen) == len(evaluated) {
		t := &cli.Table{Header: []string{"run", "evaluation"}}
		for _, j := range evaluated {
			t.Add(j.WorkflowID, evaluationCell(*j))
		}
		return t
	}
	t := &cli.Table{Header: []string{"run", "run id", "evaluation"}}
	for _, j := range evaluated {
		t.Add(j.WorkflowID, j.RunID, evaluationCell(*j))
	}
	return t
}

func evaluationCell(j api.EvaluatedResult) string {
	return cmp.Or(cli.OneLine(audit.EvaluationText(j)), "running")
}

// intact describes how many records of a broken export are unmodified.
func intact(records int) string {
	switch records {
	case 0:
		return ""
	case 1:
		return "\nThe first record is unchanged."
	}
	return fmt.Sprintf("\nThe first %s are unchanged.", display.Plural(records, "record"))
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
		return cli.Errorf(cli.ExitFailed, "%s: %w%s", path, err, intact(records))
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
