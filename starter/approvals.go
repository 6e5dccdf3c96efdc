package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit"
	"go.temporal.io/sdk/client"
)

// listedApproval is a call that waits for approval as JSON.
type listedApproval struct {
	audit.RunApproval
	// Approve and Deny are the commands that decide.
	Approve string `json:"approve"`
	Deny    string `json:"deny"`
}

func (r reach) listedApprovals(open []audit.RunApproval) []listedApproval {
	list := make([]listedApproval, len(open))
	for i, a := range open {
		list[i] = listedApproval{RunApproval: a, Approve: r.howToApprove(a), Deny: r.command("deny", a.WorkflowID, a.Call) + " --reason TEXT"}
	}
	return list
}

// howToApprove is the command line that approves a call, when it has been looked at.
func (r reach) howToApprove(a audit.RunApproval) string {
	command := r.command("approve", a.WorkflowID, a.Call)
	if a.Limit != "" {
		command += " --grant " + a.Limit + "=AMOUNT"
	}
	return command
}

func (a *app) approvalsCommand() *cobra.Command {
	var ref runReference
	cmd := &cobra.Command{
		Use: "approvals [RUN]", Short: "List the calls that wait for a person's approval",
		Long: `Lists the calls of a run and of the sub-agents below it that wait until a person has approved them, or those of all runs
that run now, the oldest first, each with the commands that decide. Nothing of such a call runs meanwhile; other calls go on,
and no program needs to stay connected. The digest stands for exactly this call: a decision is bound to it.`,
		Example: `  starter approvals
  starter approvals demo-1a2b3c4d
  starter approvals --output json | jq -r '[.workflow_id, .call, .digest] | @tsv'`,
		Args: arguments(0, "RUN"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 && ref.workflowID == "" {
				return a.connected(cmd, func(ctx context.Context, c client.Client) error {
					open, missing, err := inAllRuns(ctx, a, c, audit.Approvals)
					if err != nil {
						return err
					}
					slices.SortStableFunc(open, func(x, y audit.RunApproval) int { return x.Asked.Compare(y.Asked) })
					return cmp.Or(missing.or(len(open), func() error { return a.printApprovals(open) }), missing.err())
				})
			}
			return a.onRun(&ref, func(ctx context.Context, c client.Client, run *runReference) error {
				open, err := audit.Approvals(ctx, c, run.workflowID, run.runID)
				if err != nil {
					return a.lookupError(run.workflowID, run.runID, err)
				}
				return a.printApprovals(open)
			})(cmd, args)
		},
	}
	ref.add(cmd.Flags())
	return cmd
}

func (a *app) printApprovals(open []audit.RunApproval) error {
	return printBlocks(a, a.connection.reach().listedApprovals(open), "no call waits for approval", func(l listedApproval) {
		a.format.writeApproval(a.Out, a.paletteFor(a.Out), l, time.Now())
	})
}

// writeApproval shows a call that waits with all that is needed to decide about it.
func (f *formatFlags) writeApproval(w io.Writer, p palette, a listedApproval, now time.Time) {
	head := []string{p.bold(a.WorkflowID + " " + a.Call), cmp.Or(a.Tool, a.Limit), "asked " + f.when(a.Asked, now)}
	if !a.Until.IsZero() {
		head = append(head, "open for "+brief(a.Until.Sub(now)))
	}
	if a.Escalated {
		head = append(head, p.warn("escalated"))
	}
	fmt.Fprintln(w, strings.Join(head, " · "))
	for line := range strings.SplitSeq(a.Text, "\n") {
		fmt.Fprintln(w, "  "+plainText(line))
	}
	why := a.Reason
	if a.Rule != "" {
		why += " (rule " + a.Rule + ")"
	}
	fmt.Fprintln(w, p.faint("  because "+api.Shorten(why, maxSchemaText)+" · digest "+a.Digest))
	fmt.Fprintln(w, "  "+a.Approve)
	fmt.Fprintln(w, "  "+a.Deny)
}

// approvalNote tells of a call that waits in two lines.
func (r reach) approvalNote(a audit.RunApproval) string {
	waits, what := "waits", "call "+a.Call+" of "+a.Tool
	if a.Escalated {
		waits = "still waits"
	}
	if a.Limit != "" {
		what = "more of its limit of " + a.Limit
	}
	return fmt.Sprintf("run %s %s for approval of %s: %s\n  look and decide: %s", a.WorkflowID, waits, what,
		api.Shorten(strings.Join(strings.Fields(a.Text), " "), 300), r.howToApprove(a))
}

// approval adds what an event says of an approval.
func (p *pairs) approval(e api.Event, r reach) {
	if e.Approval != nil {
		p.add("text", api.Shorten(e.Approval.Text, 300))
		p.add("because", api.Shorten(e.Approval.Reason, 200))
		p.add("approve", r.howToApprove(audit.RunApproval{WorkflowID: e.WorkflowID, Approval: *e.Approval}))
	}
	if e.Decided != nil {
		p.add("decision", e.Decided.Note())
	}
}

// approvalEvent takes an event that is about an approval, and returns its line; of others it does nothing.
func (t *tracker) approvalEvent(e api.Event) []string {
	switch e.Type {
	case api.EventApprovalRequested:
		t.approvals = append(slices.Clip(t.approvals), audit.RunApproval{WorkflowID: e.WorkflowID, Approval: *e.Approval})
	case api.EventApprovalDecided:
		t.approvals = slices.DeleteFunc(slices.Clone(t.approvals), func(a audit.RunApproval) bool { return a.Call == e.CallID })
		if e.Decided.By != "" {
			return []string{t.palette.bold("call "+e.CallID) + " " + plainText(e.Decided.Note())}
		}
	case api.EventApprovalEscalated:
		t.approvals = slices.Clone(t.approvals)
		for i, a := range t.approvals {
			if a.Call == e.CallID {
				t.approvals[i].Approval = *e.Approval
			}
		}
		return []string{t.palette.warn("! ") + "nobody has decided about call " + plainText(e.CallID) + " in time; it stays open for as long again"}
	case api.EventApprovalRefused:
		return []string{t.palette.warn("! ") + "a decision about call " + plainText(e.CallID) + " did not count: " + api.Shorten(e.Failure, 300)}
	}
	return nil
}

// approvalLines show the calls that wait for approval, three lines each, of the run and of the sub-agents below it; at most
// limit lines.
func (t *tracker) approvalLines(limit int) []string {
	var lines []string
	for _, a := range slices.Concat(t.approvals, t.approvalsBelow) {
		if len(lines)+3 > limit {
			break
		}
		text := strings.Join(strings.Fields(a.Text), " ")
		lines = append(lines, t.palette.warn("? ")+a.Call+" waits for approval: "+api.Shorten(text, 300),
			"  "+t.palette.bold(t.reach.howToApprove(a)), "  "+t.palette.bold(t.reach.command("deny", a.WorkflowID, a.Call)+" --reason TEXT"))
	}
	return lines
}
