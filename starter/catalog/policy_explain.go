package catalog

import (
	"context"
	"fmt"
	"iter"
	"strings"

	"github.com/spf13/cobra"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit"
	"github.com/switchyard/switchyard/internal/core/policyrules"
	"github.com/switchyard/switchyard/internal/value/display"
	"github.com/switchyard/switchyard/starter/cli"
	"github.com/switchyard/switchyard/starter/internal/terminal"
	"go.temporal.io/sdk/client"
)

func policyExplainCommand(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use: "explain RUN CALL", Short: "Explain what policies did to a call",
		Long: `Shows the rules that matched a call at its check: the action of each rule with its message, the
call's arguments without sensitive values, where values that rules asked about occurred before, the
labels of the run at that time, and the labels that the call or its approval cleared. Everything is
read from the run's history, because the rules may have changed since.`,
		Example: `  starter policy explain demo-1a2b3c4d 2.1
  starter policy explain demo-1a2b3c4d 2.1 --output json`,
		Args: cli.Arguments(1, "RUN", "CALL"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) < 2 {
				return cli.UsageError(cmd, "CALL is missing; list the run's calls: %s",
					a.Connection.Invocation().Command("audit", args[0]))
			}
			return a.OnRun(func(ctx context.Context, c client.Client, run *cli.RunRef) error {
				explained, err := explain(audit.Records(ctx, c, run.WorkflowID, run.RunID), args[1])
				if err != nil {
					return a.LookupError(run.WorkflowID, run.RunID, err)
				}
				if explained == nil {
					return cli.Errorf(cli.ExitUsage,
						"the run %[2]s has no finished call %[1]q\nList its calls: %[3]s", args[1],
						run.WorkflowID, a.Connection.Invocation().Command("audit", run.WorkflowID))
				}
				return printExplained(a, *explained)
			})(cmd, args)
		},
	}
}

// explain returns the record of a call, or nil if there is no such call.
func explain(records iter.Seq2[api.Record, error], call string) (*api.Record, error) {
	for r, err := range records {
		if err != nil {
			return nil, err
		}
		if r.CallID == call {
			return &r, nil
		}
	}
	return nil, nil
}

// sourcesLine says where a value occurred before.
func sourcesLine(v api.ValueSources) string {
	texts := make([]string, len(v.Sources))
	for i, s := range v.Sources {
		texts[i] = s.String()
	}
	name := v.Value
	if v.Short {
		name += " (short)"
	}
	return name + ": " + strings.Join(texts, ", ")
}

func printExplained(a *cli.App, e api.Record) error {
	if a.Format.JSON() {
		return cli.WriteJSON(a.Out, e, true)
	}
	p := a.PaletteFor(a.Out)
	var b strings.Builder
	field := func(name, value string) {
		fmt.Fprintf(&b, "%s  %s\n",
			p.Bold(fmt.Sprintf("%-10s", name)), value)
	}
	field("call", e.CallID+" "+e.Tool)
	status := terminal.CallStatusText(p, e.Status)
	if e.Error != nil {
		status += p.Faint(" (" + string(e.Error.Type) + ")")
	}
	field("status", status)
	if len(e.Arguments) > 0 {
		field("arguments", display.Shorten(string(e.Arguments), 1000))
	}
	for _, v := range e.Sources {
		field("source", cli.PlainText(sourcesLine(v)))
	}
	if cleared := policyrules.ClearedLabels(e); len(cleared) > 0 {
		field("cleared", policyrules.DescribeClearings(cleared))
	}
	if len(e.Policies) == 0 {
		field("policies", "no rule matched the call")
		return a.Print(b.String())
	}
	labels := "none"
	if len(e.Labels) > 0 {
		labels = strings.Join(e.Labels, ", ")
	}
	field("labels", labels)
	for _, met := range e.Policies {
		field("policy", policyLine(met))
	}
	return a.Print(b.String())
}
