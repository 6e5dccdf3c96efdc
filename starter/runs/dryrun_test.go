package runs

import (
	"io"
	"strings"
	"testing"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/starter/internal/cli"
)

// The plan of a dry run has a fixed id. A second start points to the run of the first one. Plans of
// other runs may have any id.
func TestDryRunPlan_RunsOnce(t *testing.T) {
	for _, flag := range []string{"--id=again", "-w=again"} {
		var out strings.Builder
		code := runsProgram.Run(t.Context(), []string{"plan", "--from-dry-run", "x", "--by", "ada",
			flag}, cli.Stdio{Out: io.Discard, Err: &out})
		if code != cli.ExitUsage || !strings.Contains(out.String(), "leave out --id") {
			t.Errorf("%s: exit code %d with %q", flag, code, out.String())
		}
	}
	var out strings.Builder
	if code := runsProgram.Run(t.Context(), []string{"plan", "--from-dry-run", "x", "--by", " "},
		cli.Stdio{Out: io.Discard, Err: &out}); code != cli.ExitUsage ||
		!strings.Contains(out.String(), "--by is empty") {
		t.Errorf("without --by: exit code %d with %q", code, out.String())
	}
	plan := &start{id: "x-plan"}
	if text := plan.taken("starter show x-plan").Error(); !strings.Contains(text, "another --id") {
		t.Error(text)
	}
	plan.input.FromDryRun = &api.FromDryRun{}
	if text := plan.taken("starter show x-plan").Error(); strings.Contains(text, "--id") ||
		!strings.Contains(text, "starter show x-plan") {
		t.Error(text)
	}
}
