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

// ListNotes returns a call's notes from its start and its result.
func ListNotes(r api.Record) []string {
	notes := slices.Clone(r.Notes)
	if r.Result != nil {
		notes = append(notes, r.Result.Notes...)
	}
	for _, h := range r.Hooks {
		if h.Outcome == api.HookBlocked {
			h.Reason = "" // the error says it
		}
		notes = append(notes, hookNote(h))
	}
	if note := approvalNote(r); note != "" {
		notes = append(notes, note)
	}
	slices.Sort(notes)
	return slices.Compact(notes)
}

// approvalNote describes a person's decision about a call. For an edit it returns only the reason,
// because the call's own note has the rest.
func approvalNote(r api.Record) string {
	switch d := r.Approval; {
	case d == nil:
		return ""
	case d.Decision != api.DecisionEdit || len(r.Notes) == 0:
		return people.DecidedNote(*d)
	case d.Reason == "":
		return ""
	default:
		return "reason for the changed arguments: " + d.Reason
	}
}

// NotesBesideError returns the notes of a call whose error is shown too, without the approval note
// of a denied call, which the error repeats.
func NotesBesideError(r api.Record) []string {
	notes := ListNotes(r)
	if r.Error == nil || r.Error.Type != api.ErrApprovalDenied || r.Approval == nil {
		return notes
	}
	said := approvalNote(r)
	return slices.DeleteFunc(notes, func(note string) bool { return note == said })
}

// CallStatusText colours a call's status.
func CallStatusText(p cli.Palette, s api.CallStatus) string {
	switch s {
	case api.CallCompleted:
		return p.Good(string(s))
	case api.CallFailed, api.CallRefused:
		return p.Bad(string(s))
	case api.CallCancelled:
		return p.Warn(string(s))
	}
	return string(s)
}

// UsageText formats a run's usage in one line.
func UsageText(u api.Usage) string {
	var parts []string
	if u.Turns > 0 {
		parts = append(parts, display.Plural(u.Turns, "turn"))
	}
	calls := display.Plural(u.Calls, "call")
	if u.Failed > 0 {
		calls += fmt.Sprintf(" (%d failed or refused)", u.Failed)
	}
	parts = append(parts, calls)
	if u.InputTokens+u.OutputTokens > 0 {
		parts = append(parts, fmt.Sprintf("%s tokens in, %s out", display.Thousands(u.InputTokens),
			display.Thousands(u.OutputTokens)))
	}
	if u.Cost > 0 {
		parts = append(parts, fmt.Sprintf("$%.4f", u.Cost))
	}
	return strings.Join(parts, ", ")
}

// ResultText formats a run's answer or output as text.
func ResultText(r api.RunResult) string {
	if r.Answer != "" {
		return cli.Visible(r.Answer)
	}
	return cli.ReadableJSON(r.Output)
}

// NoLane is shown as the lane of rejected calls, which have none.
const NoLane = "-"

// StandsStill explains why a run with a failing workflow task makes no progress, and what to do.
func StandsStill(r audit.Running) string {
	return fmt.Sprintf("the run is blocked: its workers fail the workflow task (attempt %d): %s\n  it is retried and continues when a worker succeeds: check the workers' logs, keys and last deployment",
		r.Attempt, r.LastFailure)
}
