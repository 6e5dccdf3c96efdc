package main

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"strings"

	"github.com/spf13/cobra"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit"
	"go.temporal.io/sdk/client"
)

func (a *app) policyExplainCommand() *cobra.Command {
	var ref runReference
	cmd := &cobra.Command{
		Use: "explain RUN CALL", Short: "Explain what policies did to a call",
		Long: `Shows the rules that a call met when it was checked: what each did, with its message, the call's arguments without sensitive
values, and the labels that the run had seen by then. All of it is read from the run's history: the rules may have changed since.`,
		Example: `  starter policy explain demo-1a2b3c4d 2.1
  starter policy explain demo-1a2b3c4d 2.1 --output json`,
		Args: arguments(0, "RUN", "CALL"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 && ref.workflowID == "" {
				ref.workflowID, args = args[0], args[1:]
			}
			if len(args) != 1 && ref.workflowID != "" {
				return usageError(cmd, "CALL is missing; the calls of a run are shown by: %s", a.connection.reach().command("audit", ref.workflowID))
			}
			return a.onRun(&ref, func(ctx context.Context, c client.Client, run *runReference) error {
				explained, err := explain(audit.Records(ctx, c, run.workflowID, run.runID), args[0])
				if err != nil {
					return a.lookupError(run.workflowID, run.runID, err)
				}
				if explained == nil {
					return failure(exitUsage, "no call %q of the run %s is over; its calls are shown by: %s", args[0], run.workflowID, a.connection.reach().command("audit", run.workflowID))
				}
				return a.printExplained(*explained)
			})(cmd, nil)
		},
	}
	ref.add(cmd.Flags())
	return cmd
}

// explained is what policies did to a call, as JSON too.
type explained struct {
	Call      string             `json:"call_id"`
	Tool      string             `json:"tool"`
	Status    api.CallStatus     `json:"status"`
	Error     *api.Error         `json:"error,omitempty"`
	Arguments json.RawMessage    `json:"arguments,omitempty"`
	Labels    []string           `json:"labels,omitempty"`
	Policies  []api.PolicyAction `json:"policies"`
}

// explain returns what policies did to one of the calls; nil where there is no such call.
func explain(records iter.Seq2[api.Record, error], call string) (*explained, error) {
	for r, err := range records {
		if err != nil {
			return nil, err
		}
		if r.CallID == call {
			met := r.Policies
			if met == nil {
				met = []api.PolicyAction{}
			}
			return &explained{Call: r.CallID, Tool: r.Tool, Status: r.Status, Error: r.Error, Arguments: r.Arguments, Labels: r.Labels, Policies: met}, nil
		}
	}
	return nil, nil
}

func (a *app) printExplained(e explained) error {
	if a.format.json() {
		return writeJSON(a.Out, e, true)
	}
	p := a.paletteFor(a.Out)
	var b strings.Builder
	field := func(name, value string) { fmt.Fprintf(&b, "%s  %s\n", p.bold(fmt.Sprintf("%-10s", name)), value) }
	field("call", e.Call+" "+e.Tool)
	status := p.call(e.Status)
	if e.Error != nil {
		status += p.faint(" (" + string(e.Error.Type) + ")")
	}
	field("status", status)
	if len(e.Arguments) > 0 {
		field("arguments", api.Shorten(string(e.Arguments), 1000))
	}
	if len(e.Policies) == 0 {
		field("policies", "no rule held when the call was checked")
		return a.print(b.String())
	}
	labels := "none"
	if len(e.Labels) > 0 {
		labels = strings.Join(e.Labels, ", ")
	}
	field("labels", labels)
	for _, met := range e.Policies {
		field("policy", policyLine(met))
	}
	return a.print(b.String())
}
