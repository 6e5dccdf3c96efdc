package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/switchyard/switchyard/internal/connection"
	"github.com/switchyard/switchyard/internal/value/display"
	"github.com/switchyard/switchyard/toolspecs"
	"go.temporal.io/api/serviceerror"
	"google.golang.org/grpc/codes"
)

// The exit codes (requirement C2).
const (
	ExitDone      = 0
	ExitFailed    = 1
	ExitUsage     = 2
	ExitCancelled = 3
	// ExitUnserved means that no server answers, or that no worker serves a run.
	ExitUnserved = 4
)

// ErrInterrupted is the cause of a context that Ctrl-C cancelled, ErrTerminated of one that another
// signal cancelled.
var (
	errInterrupted = errors.New("interrupted")
	ErrTerminated  = errors.New("terminated")
)

// ExitError ends the command with an exit code. A nil error prints nothing more.
type ExitError struct {
	Code int
	err  error
	// workflowID and runID name a run that stays open; empty for none.
	workflowID, runID string
}

func (e *ExitError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit code %d", e.Code)
	}
	return e.err.Error()
}

func (e *ExitError) Unwrap() error { return e.err }

// Exit returns an error that ends the command with a code and prints nothing. Code 0 returns nil.
func Exit(code int) error {
	if code == ExitDone {
		return nil
	}
	return &ExitError{Code: code}
}

func Errorf(code int, format string, args ...any) error {
	return &ExitError{Code: code, err: fmt.Errorf(format, args...)}
}

// UnservedError returns the error of a command that no longer waits for a run, because no worker
// serves
// it. The run stays open. runID is empty if it is not known.
func UnservedError(workflowID, runID, format string, args ...any) error {
	return &ExitError{Code: ExitUnserved, err: fmt.Errorf(format, args...),
		workflowID: workflowID, runID: runID}
}

// UsageError returns an error about a wrong command line.
func UsageError(cmd *cobra.Command, format string, args ...any) error {
	return Errorf(ExitUsage, "%s\nSee '%s --help'.", fmt.Sprintf(format, args...),
		cmd.CommandPath())
}

// Report prints an error with its hint and returns the exit code. With --output json the error goes
// to standard output.
func (a *App) Report(err error) int {
	if err == nil {
		return ExitDone
	}
	failed := failedCommand{}
	code := ExitUsage
	if own, ok := errors.AsType[*ExitError](err); ok {
		if own.err == nil {
			return own.Code
		}
		code, failed.Error = own.Code, own.Error()
		failed.WorkflowID, failed.RunID = own.workflowID, own.runID
	} else if faults, ok := errors.AsType[toolspecs.Faults](err); ok {
		failed.Error = display.Plural(len(faults), "fault")
		for _, f := range faults {
			failed.Faults = append(failed.Faults, Fault(f))
		}
	} else if u, ok := errors.AsType[*unreadError](err); ok {
		code, failed.Error, failed.Unread = ExitFailed, u.Error(), u.runs
		failed.lines = u.lines()
	} else {
		code, failed.Error = a.explain(err)
	}
	if h, ok := errors.AsType[*hinted](err); ok {
		failed.Hint = h.hint
	}
	a.tell(failed)
	return code
}

// failedCommand is the JSON form of a command's error.
type failedCommand struct {
	Error string `json:"error"`
	// WorkflowID and RunID name a run that stays open.
	WorkflowID string  `json:"workflow_id,omitempty"`
	RunID      string  `json:"run_id,omitempty"`
	Faults     []Fault `json:"faults,omitempty"`
	Hint       string  `json:"hint,omitempty"`
	// Unread lists the runs missing from the output. lines holds the same as text.
	Unread []UnreadRun `json:"unread,omitempty"`
	lines  []string
}

func (a *App) tell(f failedCommand) {
	if a.Format.JSON() {
		_ = WriteJSON(a.Out, f, false) // the terminal is closed
		return
	}
	for _, fault := range f.Faults {
		fmt.Fprintln(a.Err, Visible(toolspecs.Fault(fault).String()))
	}
	if len(f.Faults) == 0 {
		fmt.Fprintln(a.Err, "starter: "+Visible(f.Error))
	}
	for _, line := range f.lines {
		fmt.Fprintln(a.Err, Visible(line))
	}
	if f.Hint != "" {
		fmt.Fprintln(a.Err, Visible(f.Hint))
	}
}

// explain maps a server or connection error to an exit code and a message, by error types and
// codes.
func (a *App) explain(err error) (code int, message string) {
	if errors.Is(err, context.Canceled) {
		return ExitCancelled, "interrupted"
	}
	err = a.Connection.server().Explain(context.Background(), err)
	if fault, ok := errors.AsType[*connection.Fault](err); ok {
		if fault.NoNamespace {
			return ExitUsage, fault.Error()
		}
		return ExitUnserved, fault.Error()
	}
	if _, ok := errors.AsType[*serviceerror.NotFound](err); ok {
		return ExitFailed, fmt.Sprintf("not found on the server: %v\nList the runs: %s", err,
			a.Connection.Invocation().Command("list"))
	}
	return ExitFailed, err.Error()
}

// Unreachable reports whether err means that the server did not answer.
func Unreachable(err error) bool {
	if errors.Is(err, context.DeadlineExceeded) {
		return true
	}
	switch connection.Code(err) {
	case codes.Unavailable, codes.DeadlineExceeded, codes.Unauthenticated:
		return true
	}
	return false
}

// ErrStackLost is the cause of a context that is cancelled because a part of 'starter dev' has
// exited for good.
var ErrStackLost = errors.New("the server or its worker has exited")
