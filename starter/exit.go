package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/toolspecs"
	"go.temporal.io/api/serviceerror"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// The exit codes (requirement C2).
const (
	exitDone      = 0
	exitFailed    = 1
	exitUsage     = 2
	exitCancelled = 3
	exitNoServer  = 4
)

// errInterrupted is the cause of a context that Ctrl-C ended, errTerminated that of one that another signal ended.
var (
	errInterrupted = errors.New("interrupted")
	errTerminated  = errors.New("terminated")
)

// exitError ends the command with a code of its own. Without an error everything has been said.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit code %d", e.code)
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

// exitWith ends the command with a code after everything has been said; zero gives nil.
func exitWith(code int) error {
	if code == exitDone {
		return nil
	}
	return &exitError{code: code}
}

func failure(code int, format string, args ...any) error {
	return &exitError{code: code, err: fmt.Errorf(format, args...)}
}

// usageError is a wrong command line.
func usageError(cmd *cobra.Command, format string, args ...any) error {
	return failure(exitUsage, "%s\nSee '%s --help'.", fmt.Sprintf(format, args...), cmd.CommandPath())
}

// report prints what went wrong, with what to do about it, and returns the exit code. As JSON it goes to standard
// output, where whoever asked for JSON reads.
func (a *app) report(err error) int {
	if err == nil {
		return exitDone
	}
	failed := failedCommand{}
	code := exitUsage
	if own, ok := errors.AsType[*exitError](err); ok {
		if own.err == nil {
			return own.code
		}
		code, failed.Error = own.code, own.Error()
	} else if faults, ok := errors.AsType[toolspecs.Faults](err); ok {
		failed.Error = api.Plural(len(faults), "fault")
		for _, f := range faults {
			failed.Faults = append(failed.Faults, writtenFault(f))
		}
	} else if u, ok := errors.AsType[*unreadError](err); ok {
		code, failed.Error, failed.Unread = exitFailed, u.Error(), u.runs
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

// failedCommand is why a command could not do what it was asked to.
type failedCommand struct {
	Error  string         `json:"error"`
	Faults []writtenFault `json:"faults,omitempty"`
	Hint   string         `json:"hint,omitempty"`
	// Unread are the runs that are missing from what was printed before, lines the same for people.
	Unread []unreadRun `json:"unread,omitempty"`
	lines  []string
}

func (a *app) tell(f failedCommand) {
	if a.format.json() {
		_ = writeJSON(a.Out, f, false) // nobody is left to tell
		return
	}
	for _, fault := range f.Faults {
		fmt.Fprintln(a.Err, toolspecs.Fault(fault).String())
	}
	if len(f.Faults) == 0 {
		fmt.Fprintln(a.Err, "starter: "+f.Error)
	}
	for _, line := range f.lines {
		fmt.Fprintln(a.Err, line)
	}
	if f.Hint != "" {
		fmt.Fprintln(a.Err, f.Hint)
	}
}

// explain maps an error of the server or of the way to it to an exit code and a message. It goes by types and codes.
func (a *app) explain(err error) (code int, message string) {
	if errors.Is(err, context.Canceled) {
		return exitCancelled, "interrupted"
	}
	if ns, ok := errors.AsType[*serviceerror.NamespaceNotFound](err); ok {
		return exitUsage, fmt.Sprintf("the server has no namespace %q: choose another with --namespace, or create it there", ns.Namespace)
	}
	if _, ok := errors.AsType[*serviceerror.NotFound](err); ok {
		return exitFailed, fmt.Sprintf("the server does not know it: %v\nList the runs: %s", err, a.connection.reach().command("list"))
	}
	if _, ok := errors.AsType[*serviceerror.PermissionDenied](err); ok {
		return exitNoServer, fmt.Sprintf("the server refuses access: %v\nCheck --namespace and --api-key, or the profile.", err)
	}
	if unreachable(err) {
		return exitNoServer, a.connection.unreachable(err)
	}
	return exitFailed, err.Error()
}

// unreachable reports whether err says that no server answered.
func unreachable(err error) bool {
	if errors.Is(err, context.DeadlineExceeded) {
		return true
	}
	switch codeOf(err) {
	case codes.Unavailable, codes.DeadlineExceeded, codes.Unauthenticated:
		return true
	}
	return false
}

func codeOf(err error) codes.Code {
	if s, ok := errors.AsType[serviceerror.ServiceError](err); ok {
		return s.Status().Code()
	}
	if s, ok := errors.AsType[interface {
		error
		GRPCStatus() *status.Status
	}](err); ok {
		return s.GRPCStatus().Code()
	}
	return codes.Unknown
}
