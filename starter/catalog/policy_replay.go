package catalog

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"sync"

	"github.com/spf13/cobra"
	"github.com/switchyard/switchyard"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit"
	"github.com/switchyard/switchyard/audit/export"
	"github.com/switchyard/switchyard/internal/value/display"
	"github.com/switchyard/switchyard/starter/cli"
	"github.com/switchyard/switchyard/starter/internal/runlist"
	"github.com/switchyard/switchyard/starter/internal/specfiles"
	"github.com/switchyard/switchyard/toolspecs/policies"
	"go.temporal.io/sdk/client"
)

// replayedAtOnce bounds the histories that are read concurrently.
const replayedAtOnce = 16

const policyReplayHelp = `Applies rules to the recorded calls of the selected runs and their sub-agents and compares the
results with what the rules in force did then: which calls the rules would have denied, asked
about or allowed instead. No tool is called and nothing is changed.

Give all files whose rules would apply. Without --from the histories are read from the server;
with --from an export in JSON Lines (starter records --file calls.jsonl), which needs no server.

The labels of a run, its earlier calls and the time are reconstructed from the records. Effects,
labels and tags of tools are those of --tools now. Rules that depend on the budget, on what people
wrote, on variables or on sensitive arguments cannot be decided and are counted as undecided.

With --exit-code the exit code is 1 if a call is decided otherwise, for use in CI.`

// policyReplay is the flags of the command.
type policyReplay struct {
	runs     runlist.Selection
	catalog  specfiles.Flags
	from     string
	exitCode bool
}

func policyReplayCommand(a *cli.App) *cobra.Command {
	p := &policyReplay{}
	cmd := &cobra.Command{
		Use: "replay FILE…", Short: "Show what rules would have done to recorded calls",
		Long: policyReplayHelp,
		Example: `  starter policy replay policies.yaml --tools ./tools --since 720h
  starter policy replay policies.yaml --tools ./tools --agent clerk --limit 10000
  starter policy replay policies.yaml --tools ./tools --from january.jsonl --exit-code
  starter policy replay policies.yaml --tools ./tools --output json | jq .changes`,
		Args: cli.Arguments(1, "FILE…"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := p.runs.Check(cmd); err != nil {
				return err
			}
			replay, err := p.replay(args)
			if err != nil {
				return err
			}
			if p.from != "" {
				return p.ofExport(cmd, a, replay)
			}
			return a.WithClient(cmd, func(ctx context.Context, c client.Client) error {
				return p.ofServer(ctx, a, c, replay)
			})
		},
	}
	p.runs.Add(cmd.Flags(), 1000)
	addTools(cmd.Flags(), &p.catalog, "that were called")
	cmd.Flags().StringVar(&p.from, "from", "", "read the calls from an export `file` in JSON Lines")
	cmd.Flags().BoolVar(&p.exitCode, "exit-code", false,
		"exit with 1 if a call is decided otherwise")
	return cmd
}

// replay loads rules and tools.
func (p *policyReplay) replay(files []string) (*policies.Replay, error) {
	var rules []api.PolicyRule
	var tables []*policies.Set
	for _, file := range files {
		set, err := policies.Load(file)
		if err != nil {
			return nil, cli.FileError(file, err)
		}
		rules, tables = append(rules, set.Rules()...), append(tables, set)
	}
	p.catalog.UseDefault()
	tools, err := p.catalog.Load()
	if err != nil {
		return nil, err
	}
	find, err := findTools(tools, tables...)
	if err != nil {
		return nil, err
	}
	return policies.NewReplay(policies.NewSet(rules...), find), nil
}

func (p *policyReplay) ofExport(cmd *cobra.Command, a *cli.App, replay *policies.Replay) error {
	for _, flag := range []string{"since", "until", "agent", "conversation", "caller", "query",
		"status", "outcome", "waiting", "limit", "tool"} {
		if cmd.Flags().Changed(flag) {
			return cli.UsageError(cmd, "--%s selects runs of the server; --from replays all calls "+
				"of the export", flag)
		}
	}
	file, err := os.Open(p.from)
	if err != nil {
		return cli.FileError(p.from, err)
	}
	defer func() { _ = file.Close() }()
	for record, err := range export.Read(file) {
		if err != nil {
			return cli.FileError(p.from, err)
		}
		replay.Add(record)
	}
	return p.report(a, replay, nil)
}

func (p *policyReplay) ofServer(ctx context.Context, a *cli.App, c client.Client,
	replay *policies.Replay) error {
	list, err := runlist.Select(ctx, a, c, &p.runs)
	if err != nil {
		return err
	}
	if len(list) == p.runs.Limit {
		fmt.Fprintln(a.Err, runlist.NewestOnly(p.runs.Limit))
	}
	var missing cli.Unread
	// The newest run is first; the labels of a conversation come from its earlier runs.
	for batch := range slices.Chunk(list, replayedAtOnce) {
		for i, read := range readTrees(ctx, c, batch) {
			for _, record := range read.list {
				replay.Add(record)
			}
			switch {
			case errors.Is(read.err, audit.ErrNotFound):
				fmt.Fprintf(a.Err, "run %s is incomplete: %v\n", batch[i].WorkflowID, read.err)
			case read.err != nil && !missing.Take(batch[i].WorkflowID, batch[i].RunID, read.err):
				return read.err
			}
		}
	}
	return p.report(a, replay, missing)
}

// readRun is the records of a run and its sub-agents.
type readRun struct {
	list []api.Record
	err  error
}

// readTrees returns the records of several runs, which it reads at once.
func readTrees(ctx context.Context, c client.Client, runs []switchyard.ListedRun) []readRun {
	read := make([]readRun, len(runs))
	var readers sync.WaitGroup
	for i, run := range runs {
		readers.Go(func() { read[i] = readTree(ctx, c, run) })
	}
	readers.Wait()
	return read
}

func readTree(ctx context.Context, c client.Client, run switchyard.ListedRun) (out readRun) {
	for record, err := range audit.Tree(ctx, c, run.WorkflowID, run.RunID) {
		if err != nil {
			out.err = err
			break
		}
		out.list = append(out.list, record)
	}
	return out
}

// replayedRuns is the JSON output.
type replayedRuns struct {
	*policies.ReplayReport
	Unread cli.Unread `json:"unread,omitempty"`
}

func (p *policyReplay) report(a *cli.App, replay *policies.Replay, missing cli.Unread) error {
	report := replay.Report()
	var err error
	if a.Format.JSON() {
		err = cli.WriteJSON(a.Out, replayedRuns{report, missing}, true)
	} else {
		writeReplay(a.Out, a.PaletteFor(a.Out), report)
	}
	if err == nil && p.exitCode && report.Changed > 0 {
		err = cli.Errorf(cli.ExitFailed, "%s would be decided otherwise",
			display.Plural(report.Changed, "call"))
	}
	return cmp.Or(err, missing.Err())
}

func writeReplay(w io.Writer, p cli.Palette, r *policies.ReplayReport) {
	fmt.Fprintf(w, "%s of %s: %d decided as before, %d otherwise, %d undecided\n",
		display.Plural(r.Calls, "call"), display.Plural(r.Runs, "run"), r.Same, r.Changed, r.Undecided)
	if len(r.Changes) > 0 {
		t := &cli.Table{Header: []string{"was", "would", "tool", "rule", "calls", "runs", "first"},
			Right: map[int]bool{4: true, 5: true}}
		for _, c := range r.Changes {
			t.Add(string(c.Was), string(c.Would), cli.PlainText(c.Tool), cli.PlainText(c.Rule),
				strconv.Itoa(c.Calls), strconv.Itoa(c.Runs), cli.PlainText(c.WorkflowID)+" "+c.Call)
		}
		fmt.Fprint(w, "\n", t.Text(p))
	}
	t := &cli.Table{Header: []string{"rule", "then", "matched", "failed", "undecided"},
		Right: map[int]bool{2: true, 3: true, 4: true}}
	for _, rule := range r.Rules {
		t.Add(rule.Rule, string(rule.Then), strconv.Itoa(rule.Matched), strconv.Itoa(rule.Failed),
			strconv.Itoa(rule.Undecided))
	}
	fmt.Fprint(w, "\n", t.Text(p))
}
