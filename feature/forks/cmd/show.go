package cmd

import (
	"context"
	"fmt"
	"strings"

	"github.com/switchyard/switchyard/audit/history"
	"github.com/switchyard/switchyard/feature/forks"
	"github.com/switchyard/switchyard/feature/forks/read"
	"github.com/switchyard/switchyard/internal/value/display"
	"github.com/switchyard/switchyard/starter/cli"
	"go.temporal.io/sdk/client"
)

// show shows the source of a forked run, and the forks of a run.
func show(ctx context.Context, a *cli.App, c client.Client, run history.Summary) (s cli.Shown,
	err error) {
	source, err := forks.Source(run.Features)
	if err != nil {
		return s, err
	}
	list, err := read.Forks(ctx, c, a.Connection.ResolvedNamespace, run.WorkflowID, run.Run)
	if err != nil {
		return s, err
	}
	i := a.Connection.Invocation()
	if source != nil {
		s.Lines = append(s.Lines, cli.Line{Name: "forked from", Text: sourceText(i, *source)})
	}
	for _, f := range list {
		s.Lines = append(s.Lines, cli.Line{Name: "fork",
			Text: "at " + f.At + ": " + i.Command("show", f.WorkflowID)})
	}
	if len(list) > 0 {
		s.Values = map[string]any{"forks": list}
	}
	return s, nil
}

// sourceText describes the source of a forked run.
func sourceText(i cli.Invocation, from forks.Fork) string {
	text := fmt.Sprintf("%s at %s; %s taken over", from.WorkflowID, from.At,
		display.Plural(from.Calls, "result"))
	if len(from.Edited) > 0 {
		text += "; edited: " + strings.Join(from.Edited, ", ")
	}
	return cli.OneLine(text) + ": " + i.Command("show", from.WorkflowID)
}
