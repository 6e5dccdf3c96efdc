package runs

import (
	"context"
	"fmt"
	"strings"

	"github.com/switchyard/switchyard/audit"
	"github.com/switchyard/switchyard/internal/core/callview"
	"github.com/switchyard/switchyard/internal/value/display"
	"github.com/switchyard/switchyard/starter/cli"
)

// printWithheld lists the calls that a dry run and its sub-agents withheld.
func printWithheld(ctx context.Context, a *cli.App, f *follower) error {
	t := cli.Table{Header: []string{"call", "tool", "arguments"}}
	withheld := 0
	for r, err := range audit.Tree(ctx, f.client, f.id, f.run) {
		if err != nil {
			return a.LookupError(f.id, f.run, err)
		}
		if r.DryRun {
			withheld++
			arguments := strings.TrimSpace(callview.Line("", r.Arguments, nil))
			t.Add(r.CallID, r.Tool, display.Shorten(arguments, 80))
		}
	}
	p := a.PaletteFor(a.Out)
	if withheld == 0 {
		return a.Println("\n" + p.Bold("dry run ") + "  no call was withheld")
	}
	return a.Print(fmt.Sprintf("\n%s  withheld calls:\n%s", p.Bold("dry run "), t.Text(p)))
}
