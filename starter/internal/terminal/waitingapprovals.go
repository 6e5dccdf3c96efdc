package terminal

import (
	"fmt"
	"slices"
	"strings"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit"
	"github.com/switchyard/switchyard/internal/core/people"
	"github.com/switchyard/switchyard/internal/value/display"
	"github.com/switchyard/switchyard/starter/cli"
)

// approvalWaitNote describes a waiting call in two lines.
func approvalWaitNote(r cli.Invocation, a audit.RunApproval) string {
	what := "call " + a.Call + " of " + a.Tool
	if a.Limit != "" {
		what = "a higher limit of " + a.Limit
	}
	return fmt.Sprintf("run %s waits for approval of %s: %s\n  review and decide: %s", a.WorkflowID,
		what, display.Shorten(strings.Join(strings.Fields(a.Text), " "), 300), r.HowToApprove(a))
}

// approval adds the fields of an approval event.
func (p *pairs) approval(e api.Event, r cli.Invocation) {
	if e.Approval != nil {
		p.add("text", display.Shorten(e.Approval.Text, 300))
		p.add("because", display.Shorten(e.Approval.Reason, 200))
		p.add("approve", r.HowToApprove(audit.RunApproval{WorkflowID: e.WorkflowID,
			Approval: *e.Approval}))
	}
	if e.Decided != nil {
		p.add("decision", people.DecidedNote(*e.Decided))
	}
}

// approvalEvent handles an approval event and returns its line. It ignores other events.
func (t *Tracker) approvalEvent(e api.Event) []string {
	switch e.Type {
	case api.EventApprovalRequested:
		t.approvals = append(slices.Clip(t.approvals), audit.RunApproval{WorkflowID: e.WorkflowID,
			Approval: *e.Approval})
	case api.EventApprovalDecided:
		t.approvals = slices.DeleteFunc(slices.Clone(t.approvals),
			func(a audit.RunApproval) bool { return a.Call == e.CallID })
		if e.Decided.By != "" {
			return []string{t.Palette.Bold("call "+e.CallID) + " " +
				cli.PlainText(people.DecidedNote(*e.Decided))}
		}
	case api.EventApprovalRefused:
		return []string{t.Palette.Warn("! ") + "a decision on call " + cli.PlainText(e.CallID) +
			" was rejected: " + display.Shorten(e.Failure, 300)}
	}
	return nil
}

// approvalLines returns the pending approvals of the run and its sub-agents, three lines each, at
// most limit lines.
func (t *Tracker) approvalLines(limit int) []string {
	var lines []string
	for _, a := range slices.Concat(t.approvals, t.childApprovals) {
		if len(lines)+3 > limit {
			break
		}
		text := strings.Join(strings.Fields(a.Text), " ")
		lines = append(lines, t.Palette.Warn("? ")+a.Call+" waits for approval: "+
			display.Shorten(text, 300),
			"  "+t.Palette.Bold(t.invocation.HowToApprove(a)), "  "+
				t.Palette.Bold(t.invocation.HowToDeny(a)))
	}
	return lines
}
