package main

import (
	"cmp"
	"context"
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/switchyard/switchyard"
	"github.com/switchyard/switchyard/audit"
	"go.temporal.io/sdk/client"
)

func (a *app) auditCommand() *cobra.Command {
	var ref runReference
	cmd := &cobra.Command{
		Use: "audit RUN", Short: "Show the record of every call of a run",
		Long: `Shows one record for every call of a run, none missing and none twice, read from the run's history. With --output json
every record is one line of JSON with all its fields.`,
		Example: `  starter audit demo-1a2b3c4d
  starter audit demo-1a2b3c4d --output json | jq 'select(.status != "completed")'`,
		Args: arguments(0, "RUN"),
		RunE: a.onRun(&ref, func(ctx context.Context, c client.Client, run *runReference) error {
			records := audit.Records(ctx, c, run.workflowID, run.runID)
			if a.format.json() {
				return lookupError(run.workflowID, run.runID, a.writeRecords(records))
			}
			return lookupError(run.workflowID, run.runID, a.printRecords(records))
		}),
	}
	ref.add(cmd.Flags())
	return cmd
}

func (a *app) writeRecords(records iter.Seq2[switchyard.Record, error]) error {
	for r, err := range records {
		if err != nil {
			return err
		}
		if err := writeJSON(a.Out, r, false); err != nil {
			return err
		}
	}
	return nil
}

func (a *app) printRecords(records iter.Seq2[switchyard.Record, error]) error {
	p := a.paletteFor(a.Out)
	t := table{header: []string{"call", "tool", "lane", "status", "attempts", "wait", "duration", "error", "arguments"},
		right: map[int]bool{4: true, 5: true, 6: true}}
	var rows []switchyard.Record
	for r, err := range records {
		if err != nil {
			return err
		}
		r.Result = nil // no cell shows it, and runs can be long
		rows = append(rows, r)
	}
	slices.SortStableFunc(rows, audit.ByCall)
	for _, r := range rows {
		t.add(recordCells(r, p, time.Now())...)
	}
	return a.print(t.text(p))
}

func recordCells(r switchyard.Record, p palette, now time.Time) []string {
	attempts, failed := "", ""
	if r.Attempts > 0 {
		attempts = strconv.Itoa(r.Attempts)
	}
	if r.Error != nil {
		failed = string(r.Error.Type)
	}
	wait, duration := "", ""
	if !r.Started.IsZero() {
		wait, duration = brief(r.QueueWait.Std()), brief(r.Duration.Std())
	}
	if r.Status == switchyard.CallRunning {
		wait, duration = "", "running "+brief(now.Sub(cmp.Or(r.Started, r.Scheduled)))
	}
	status := string(r.Status)
	switch r.Status {
	case switchyard.CallCompleted:
		status = p.good(status)
	case switchyard.CallFailed, switchyard.CallRefused:
		status = p.bad(status)
	case switchyard.CallCancelled:
		status = p.warn(status)
	}
	arguments := strings.TrimSpace(switchyard.Summary("", r.Arguments, nil))
	return []string{r.CallID, r.Tool, r.Lane, status, attempts, wait, duration, failed, switchyard.Shorten(arguments, 80)}
}
