package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/test/bfcl"
)

const (
	// statefulRuns is the number of runs at once, statefulWorkers that of workers.
	statefulRuns    = 4
	statefulWorkers = 2
	// statefulCall is how long the server takes for a call.
	statefulCall = 2 * time.Millisecond
)

// casesPath returns the path of a file of the public test cases.
func casesPath(name string) (string, error) {
	path, err := filepath.Abs(filepath.Join(os.Getenv("SWITCHYARD_CASES"), name))
	if err == nil {
		_, err = os.Stat(path)
	}
	if err != nil {
		return "", fmt.Errorf("%w: set SWITCHYARD_CASES to the folder of the public test cases: %w",
			errMissingInput, err)
	}
	return path, nil
}

// measureStateful replays recorded conversations with a stateful MCP server as it is imported.
func measureStateful(ctx context.Context, l *lab) (map[string]float64, error) {
	return replayCases(ctx, l, 1)
}

// replayCases replays one of every few cases.
func replayCases(ctx context.Context, l *lab, every int) (map[string]float64, error) {
	corpus, chosen, err := chosenCases(every)
	if err != nil {
		return nil, err
	}
	ctx, y, err := newYard(ctx, l, "lanes: {}")
	if err != nil {
		return nil, err
	}
	defer y.close()
	replay := &bfcl.Replay{Client: l.client, TaskQueue: yardQueue, AtOnce: statefulRuns,
		Cases: chosen, Ledger: filepath.Join(y.dir, "ledger")}
	if err := importMCP(ctx, filepath.Join(l.bin, "starter"), filepath.Join(y.dir, "tools"),
		bfcl.Argv(corpus, replay.Ledger, statefulCall)); err != nil {
		return nil, err
	}
	for range statefulWorkers {
		if _, err := y.start(api.LaneGeneral); err != nil {
			return nil, err
		}
	}
	evaluations, err := replay.Run(ctx)
	if err != nil {
		return nil, err
	}
	return map[string]float64{statefulShare: shareOfRight(evaluations)}, nil
}

// chosenCases returns the path of the recorded conversations and one of every few of them.
func chosenCases(every int) (corpus string, chosen []bfcl.Case, err error) {
	if corpus, err = casesPath(bfcl.File); err != nil {
		return "", nil, err
	}
	all, err := bfcl.Load(corpus)
	for i := 0; i < len(all); i += every {
		chosen = append(chosen, all[i])
	}
	return corpus, chosen, err
}

// shareOfRight returns the percentage of right conversations, and prints the others.
func shareOfRight(evaluations []bfcl.Evaluation) float64 {
	right := 0
	for _, v := range evaluations {
		if v.Outcome == bfcl.Right {
			right++
			continue
		}
		fmt.Fprintf(os.Stderr, "%s is %s: %s\n", v.Case, v.Outcome, v.Why)
	}
	return 100 * float64(right) / float64(len(evaluations))
}

// importMCP imports the tools of an MCP server, as users do.
func importMCP(ctx context.Context, starter, tools string, server []string) error {
	args := append([]string{"tools", "import", "mcp", "--out", tools, "--prefix", bfcl.Prefix,
		"--"}, server...)
	if out, err := exec.CommandContext(ctx, starter, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("import the tools of the MCP server: %w: %s", err, out)
	}
	return nil
}
