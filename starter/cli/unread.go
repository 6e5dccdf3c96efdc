package cli

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/switchyard/switchyard"
	"github.com/switchyard/switchyard/audit/history"
	"github.com/switchyard/switchyard/internal/value/display"
	"go.temporal.io/api/serviceerror"
)

// UnreadRun is a run that could not be read completely, with the reason.
type UnreadRun struct {
	WorkflowID string `json:"workflow_id"`
	RunID      string `json:"run_id"`
	Reason     string `json:"reason"`
}

// Unread lists runs that a command over many runs could not read. The other runs are still
// processed.
type Unread []UnreadRun

// Take records an unreadable run. It reports false if err concerns more than that run.
func (u *Unread) Take(id, runID string, err error) bool {
	if !errors.Is(err, history.ErrUnreadable) && !errors.Is(err, history.ErrNotARun) {
		return false
	}
	*u = append(*u, UnreadRun{id, runID, UnreadReason(err)})
	return true
}

// UnreadFromError returns the runs that err says could not be read, and the error if it says more.
func UnreadFromError(err error) (u Unread, _ error) {
	unread, ok := errors.AsType[*switchyard.UnreadError](err)
	if !ok {
		return nil, err
	}
	for _, run := range unread.Runs {
		u = append(u, UnreadRun{run.WorkflowID, run.RunID, UnreadReason(run.Err)})
	}
	return u, nil
}

// UnreadReason returns why a run cannot be read. Runs that miss the same key share a reason.
func UnreadReason(err error) string {
	if missing, ok := errors.AsType[*serviceerror.FailedPrecondition](err); ok {
		return missing.Error()
	}
	return err.Error()
}

// Err returns an error that lists the runs. It is nil if there are none.
func (u Unread) Err() error {
	if len(u) == 0 {
		return nil
	}
	slices.SortStableFunc(u, func(x, y UnreadRun) int { return cmp.Compare(x.Reason, y.Reason) })
	return &unreadError{u}
}

// Or calls print for n results. It returns the error instead if n is 0 and runs could not be read.
func (u Unread) Or(n int, print func() error) error {
	if n == 0 && len(u) > 0 {
		return nil
	}
	return print()
}

// Exit ends a command whose JSON object already lists the unread runs that err is about.
func (u Unread) Exit(err error) error {
	if err == nil && len(u) > 0 {
		return Exit(ExitFailed)
	}
	return err
}

// unreadError ends a command with exit code 1 after it has printed the readable runs.
type unreadError struct{ runs Unread }

func (e *unreadError) Error() string {
	if len(e.runs) == 1 {
		return "1 run cannot be read; the output is incomplete"
	}
	return display.Plural(len(e.runs), "run") + " cannot be read; the output is incomplete"
}

// maxUnreadNames bounds the run names listed per reason.
const maxUnreadNames = 20

// lines returns the reasons, each with its runs.
func (e *unreadError) lines() (lines []string) {
	names := map[string][]string{}
	for _, run := range e.runs {
		if names[run.Reason] == nil {
			lines = append(lines, run.Reason)
		}
		names[run.Reason] = append(names[run.Reason], PlainText(run.WorkflowID))
	}
	for i, reason := range lines {
		named := names[reason]
		text := strings.Join(named[:min(len(named), maxUnreadNames)], ", ")
		if more := len(named) - maxUnreadNames; more > 0 {
			text += fmt.Sprintf(" and %d more", more)
		}
		lines[i] = "  " + text + ": " + PlainText(reason)
	}
	return lines
}
