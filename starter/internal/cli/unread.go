package cli

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit/history"
	"go.temporal.io/api/serviceerror"
)

// UnreadRun is a run that could not be read, or not all of it, and why.
type UnreadRun struct {
	WorkflowID string `json:"workflow_id"`
	RunID      string `json:"run_id"`
	Reason     string `json:"reason"`
}

// Unread are runs that a command about many could not read. The others are given all the same.
type Unread []UnreadRun

// Take notes that a run cannot be read. It reports false where err is about more than that run.
func (u *Unread) Take(id, runID string, err error) bool {
	if !errors.Is(err, history.ErrUnreadable) && !errors.Is(err, history.ErrNotARun) {
		return false
	}
	*u = append(*u, UnreadRun{id, runID, UnreadReason(err)})
	return true
}

// UnreadReason is why a run cannot be read: the same for all that miss the same key.
func UnreadReason(err error) string {
	if missing, ok := errors.AsType[*serviceerror.FailedPrecondition](err); ok {
		return missing.Error()
	}
	return err.Error()
}

// Err is an error that tells of the runs; nil where there are none.
func (u Unread) Err() error {
	if len(u) == 0 {
		return nil
	}
	slices.SortStableFunc(u, func(x, y UnreadRun) int { return cmp.Compare(x.Reason, y.Reason) })
	return &unreadError{u}
}

// Or prints n things, unless nothing is known to be there and it cannot be said that there is
// nothing.
func (u Unread) Or(n int, print func() error) error {
	if n == 0 && len(u) > 0 {
		return nil
	}
	return print()
}

// Exit ends a command whose one JSON object, which err is about, tells of the runs.
func (u Unread) Exit(err error) error {
	if err == nil && len(u) > 0 {
		return Exit(ExitFailed)
	}
	return err
}

// unreadError ends a command with exit code 1 when what could be read has been given.
type unreadError struct{ runs Unread }

func (e *unreadError) Error() string {
	if len(e.runs) == 1 {
		return "1 run cannot be read; the output is incomplete"
	}
	return api.Plural(len(e.runs), "run") + " cannot be read; the output is incomplete"
}

// maxUnreadNames bounds the runs that are named for one reason.
const maxUnreadNames = 20

// lines are the reasons, each with its runs.
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
