package catalog

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit"
	"github.com/switchyard/switchyard/audit/history"
	"github.com/switchyard/switchyard/starter/cli"
	"go.temporal.io/sdk/client"
)

// pinnedRun is an open run that is pinned to a tool.
type pinnedRun struct {
	WorkflowID string    `json:"workflow_id"`
	RunID      string    `json:"run_id"`
	Started    time.Time `json:"started"`
	Tool       string    `json:"tool"`
	Version    string    `json:"version"`
	Digest     string    `json:"digest"`
}

// listPinned prints the open runs that are pinned to a tool, given as NAME or NAME@VERSION.
func listPinned(a *cli.App, cmd *cobra.Command, wanted string) error {
	tool, version, one := strings.Cut(wanted, "@")
	if err := api.CheckToolName(tool); err != nil {
		return cli.UsageError(cmd, "--pinned %q: %v", tool, err)
	}
	if one && version == "" {
		return cli.UsageError(cmd, "--pinned: the version after %s@ is missing", tool)
	}
	return a.WithClient(cmd, func(ctx context.Context, c client.Client) error {
		return findPinned(ctx, a, c, tool, version)
	})
}

// findPinned prints the open runs that are pinned to a tool. An empty version is any.
func findPinned(ctx context.Context, a *cli.App, c client.Client, tool, version string) error {
	read := func(ctx context.Context, c client.Client, workflowID,
		runID string) ([]pinnedRun, error) {
		s, err := audit.Describe(ctx, c, workflowID, runID)
		if err != nil && !errors.Is(err, audit.ErrIncomplete) { // each history names the tools
			return nil, err
		}
		return pinnedIn(s, runID, tool, version), nil
	}
	list, err := audit.OfOpenRuns(ctx, c, a.Connection.ResolvedNamespace, read)
	missing, err := cli.UnreadFromError(err)
	if err != nil {
		return err
	}
	slices.SortStableFunc(list, func(x, y pinnedRun) int { return x.Started.Compare(y.Started) })
	print := func() error { return printPinned(a, list, tool, time.Now()) }
	return cmp.Or(missing.Or(len(list), print), missing.Err())
}

// pinnedIn returns the run of a summary if it is pinned to a tool.
func pinnedIn(s history.Summary, runID, tool, version string) []pinnedRun {
	for _, t := range slices.Concat(s.Tools, s.DescendantTools) {
		if t.Name == tool && (version == "" || t.Version == version) {
			return []pinnedRun{{WorkflowID: s.WorkflowID, RunID: runID, Started: s.Started,
				Tool: t.Name, Version: t.Version, Digest: t.Digest}}
		}
	}
	return nil
}

func printPinned(a *cli.App, list []pinnedRun, tool string, now time.Time) error {
	if a.Format.JSON() {
		return cli.WriteJSONLines(a.Out, list)
	}
	if len(list) == 0 {
		fmt.Fprintln(a.Err, "no open run is pinned to "+tool)
		return nil
	}
	t := cli.Table{Header: []string{"run", "run id", "started", "version", "digest"}}
	for _, r := range list {
		t.Add(r.WorkflowID, r.RunID, a.Format.When(r.Started, now), r.Version, r.Digest)
	}
	return a.Print(t.Text(a.PaletteFor(a.Out)))
}
