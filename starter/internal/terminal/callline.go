package terminal

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit"
	"github.com/switchyard/switchyard/audit/history"
	"github.com/switchyard/switchyard/internal/value/display"
	"github.com/switchyard/switchyard/starter/cli"
)

// longWait is the shortest wait for a worker that is shown.
const longWait = 100 * time.Millisecond

// shownWait is how long a task must have waited before the wait is shown, because starts are
// reported with that delay.
const shownWait = 2 * PendingPace

// callLine formats one call of a turn. now and spinner apply to open calls.
func (t *Tracker) callLine(r *callRow, now time.Time, spinner string) string {
	switch {
	case r.record != nil:
		return t.endedLine(*r.record, r.text)
	case r.running != nil:
		parts := append([]string{"  " + spinner + " " + r.id + " " + r.text},
			t.RunningParts(*r.running, now)...)
		return strings.Join(parts, " · ")
	}
	return t.Palette.Faint("  · " + r.id + " " + r.text)
}

func (t *Tracker) endedLine(r api.Record, text string) string {
	parts := []string{"  " + t.mark(r.Status) + " " + r.CallID + " " + text}
	if r.Duration > 0 {
		parts = append(parts, cli.ShortDuration(r.Duration.Std()))
	}
	if r.QueueWait.Std() >= longWait {
		parts = append(parts, t.Palette.Faint("waited "+cli.ShortDuration(r.QueueWait.Std())))
	}
	if r.Lane != "" && r.Lane != api.LaneGeneral {
		parts = append(parts, t.Palette.Faint("lane "+r.Lane))
	}
	if r.Attempts > 1 {
		parts = append(parts, t.Palette.Warn(fmt.Sprintf("%d attempts", r.Attempts)))
	}
	if r.Child != nil {
		parts = append(parts, t.Palette.Faint(ChildText(*r.Child)+", "+UsageText(r.Usage)))
	}
	if r.Error != nil {
		parts = append(parts, t.Palette.Bad(ErrorLine(r.Error)))
	}
	return strings.Join(parts, " · ")
}

// mark returns the symbol of a finished call.
func (t *Tracker) mark(s api.CallStatus) string {
	switch s {
	case api.CallFailed, api.CallRefused:
		return t.Palette.Bad("✗")
	case api.CallCancelled:
		return t.Palette.Warn("■")
	}
	return t.Palette.Good("✓")
}

// ChildText names the run of a sub-agent.
func ChildText(c api.ChildRun) string { return "run " + c.WorkflowID }

// ErrorLine formats a call's error in one line.
func ErrorLine(e *api.Error) string {
	return string(e.Type) + ": " + display.Shorten(e.Message, 160) + NearLine(e)
}

// detailLines returns the notes and error details below a call's line, such as a replaced instance
// or the difference between a remote tool and the accepted one.
func (t *Tracker) detailLines(r *callRow) []string {
	if r.record == nil {
		return nil
	}
	var lines []string
	for _, note := range NotesBesideError(*r.record) {
		lines = append(lines, t.Palette.Faint("      note: "+display.Shorten(note, 300)))
	}
	if r.record.Error == nil {
		return lines
	}
	for _, problem := range ProblemTexts(r.record.Error) {
		lines = append(lines, t.Palette.Faint("      "+problem))
	}
	for _, detail := range r.record.Error.Details {
		lines = append(lines, t.Palette.Faint("      "+display.Shorten(detail, 1000)))
	}
	return lines
}

// maxProblems bounds the listed problems of a failed call.
const maxProblems = 5

// ProblemTexts returns an error's first problems, one per line.
func ProblemTexts(e *api.Error) (texts []string) {
	if e == nil {
		return nil
	}
	for _, p := range e.Problems[:min(len(e.Problems), maxProblems)] {
		texts = append(texts, display.Shorten(p.String(), 300))
	}
	if more := len(e.Problems) - maxProblems; more > 0 {
		texts = append(texts, fmt.Sprintf("and %d more", more))
	}
	return texts
}

// NearLine suggests similar names.
func NearLine(e *api.Error) string {
	switch {
	case len(e.Near) == 0:
		return ""
	case e.Type == api.ErrToolNotActive:
		return "; active tools: " + strings.Join(e.Near, ", ")
	}
	return "; did you mean " + strings.Join(e.Near, ", ") + "?"
}

// RunningParts describes open work: duration, lane, attempt, and the reason for a retry.
func (t *Tracker) RunningParts(r audit.Running, now time.Time) []string {
	var parts []string
	if !r.Since.IsZero() && now.After(r.Since) {
		parts = append(parts, cli.ShortDuration(now.Sub(r.Since)))
	}
	switch r.State {
	case audit.StateWaiting:
		if r.Kind == audit.KindCall && waitsLong(r, now) {
			parts = append(parts, t.Palette.Faint("waits for a worker of the lane "+
				cli.LaneName(r.Lane)))
		}
	case audit.StateBackingOff:
		parts = append(parts, t.Palette.Warn("next attempt in "+
			cli.ShortDuration(r.NextAttempt.Sub(now))))
	case audit.StateAwaitingAnswer:
		parts = append(parts, t.Palette.Warn(audit.StatusText(history.RunRunning,
			[]audit.Awaited{audit.AwaitsAnswer})))
	case audit.StateCancelling, audit.StatePaused:
		parts = append(parts, t.Palette.Warn(string(r.State)))
	}
	return append(parts, t.furtherParts(r)...)
}

// furtherParts describes open work's progress, attempt, and child run.
func (t *Tracker) furtherParts(r audit.Running) []string {
	var parts []string
	if r.Progress != nil {
		parts = append(parts, progressText(*r.Progress))
	}
	if r.Attempt > 1 {
		parts = append(parts, t.Palette.Warn(attemptText(r)))
	}
	if r.Child != nil {
		parts = append(parts, t.Palette.Faint(ChildText(*r.Child)))
	}
	return parts
}

// progressText formats a tool's progress: "37 of 100 · reading pages".
func progressText(p api.Progress) string {
	text := strconv.FormatFloat(p.Done, 'f', -1, 64)
	if p.Total > 0 {
		text += " of " + strconv.FormatFloat(p.Total, 'f', -1, 64)
	}
	if message := display.Shorten(p.Message, 80); message != "" {
		text += " · " + message
	}
	return text
}

// waitsLong reports whether a wait exceeds the normal start delay.
func waitsLong(r audit.Running, now time.Time) bool {
	return r.State == audit.StateWaiting && now.Sub(r.Since) >= shownWait
}

func attemptText(r audit.Running) string {
	text := "attempt " + strconv.Itoa(r.Attempt)
	if r.MaxAttempts > 0 {
		text += " of " + strconv.Itoa(r.MaxAttempts)
	}
	if r.LastFailure != "" {
		text += " after: " + display.Shorten(r.LastFailure, 80)
	}
	return text
}

// PendingPace is the interval for querying pending work. History records a start only when the
// activity ends.
const PendingPace = 300 * time.Millisecond
