package cli

import (
	"context"
	"errors"
	"regexp"
	"time"

	"github.com/spf13/cobra"
	"github.com/switchyard/switchyard"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit"
	"github.com/switchyard/switchyard/audit/history"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
)

// GiveUpAfter is how long a server may be unreachable while a run is followed.
const GiveUpAfter = 15 * time.Second

// RunRef names an existing run, and one execution of it if RunID is set.
type RunRef struct {
	WorkflowID, RunID string
}

// executionForm is the form of RUN:RUN_ID.
var executionForm = regexp.MustCompile(
	`^(.+):([0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12})$`)

// ParseRun reads the argument RUN: the ID of a run, or RUN:RUN_ID for one of its executions, which
// runs of a conversation have to be told apart by.
func ParseRun(argument string) *RunRef {
	if parts := executionForm.FindStringSubmatch(argument); parts != nil {
		return &RunRef{WorkflowID: parts[1], RunID: parts[2]}
	}
	return &RunRef{WorkflowID: argument}
}

// String returns the argument that names the run.
func (r *RunRef) String() string {
	if r.RunID == "" {
		return r.WorkflowID
	}
	return r.WorkflowID + ":" + r.RunID
}

// OnRun connects and calls f with the run that the first argument names.
func (a *App) OnRun(f func(context.Context, client.Client,
	*RunRef) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		return a.WithClient(cmd, func(ctx context.Context, c client.Client) error {
			return f(ctx, c, ParseRun(args[0]))
		})
	}
}

// WithClient connects, calls f, and closes the connection.
func (a *App) WithClient(cmd *cobra.Command, f func(context.Context, client.Client) error) error {
	ctx := cmd.Context()
	c, err := a.Connect(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	return f(ctx, c)
}

// LookupError explains why a run cannot be read, or why it refuses a request. It returns nil for
// nil.
func (a *App) LookupError(id, runID string, err error) error {
	if refused := a.refusal(id, err); refused != nil || err == nil {
		return refused
	}
	r := a.Connection.Invocation()
	switch {
	case errors.Is(err, audit.ErrIncomplete):
		return Errorf(ExitFailed, "the run is incomplete: %w", err)
	case errors.Is(err, audit.ErrNotFound) || errors.Is(err, runNotFound) || IsNotFound(err):
		return goneError(r, id, runID)
	case errors.Is(err, history.ErrNotARun):
		return Errorf(ExitFailed, "the workflow %q is not a run of Switchyard\nList the runs: %s",
			id, r.Command("list"))
	case Unreachable(err):
		return Errorf(ExitUnserved, "lost the connection to the server (%w); the run is not "+
			"affected\nFollow it again: %s", err, r.Command("watch", id))
	}
	return err
}

// goneError says that the server does not have a run or an execution of it.
func goneError(r Invocation, id, runID string) error {
	if runID != "" {
		return Errorf(ExitFailed, "the run %q has no execution %q, or the server no longer has it\n"+
			"Show the latest execution: %s", id, runID, r.Command("show", id))
	}
	return Errorf(ExitFailed, "there is no run %q, or the server no longer has it\n"+
		"List the runs: %s", id, r.Command("list"))
}

// refusal explains why a run refuses a request; nil if err does not say that.
func (a *App) refusal(id string, err error) error {
	r := a.Connection.Invocation()
	if refused, ok := ControlRefusal(err); ok && !errors.Is(err, requestInvalid) {
		return Errorf(ExitFailed, "run %s: %s", id, refused.Message)
	}
	switch {
	case errors.Is(err, requestInvalid):
		return Errorf(ExitUsage, "%w", err)
	case errors.Is(err, runUnanswered):
		return Errorf(ExitFailed, "%w\nCheck its status: %s", err, r.Command("show", id))
	case errors.Is(err, runEnded):
		return Errorf(ExitFailed, "%w\nSee its outcome: %s", err, r.Command("show", id))
	}
	return nil
}

// Errors of the client that commands explain.
var (
	requestInvalid = &switchyard.RequestError{Type: switchyard.RequestInvalid}
	runNotFound    = &switchyard.RequestError{Type: switchyard.RunNotFound}
	runUnanswered  = &switchyard.RequestError{Type: switchyard.RunUnanswered}
	runEnded       = &switchyard.RequestError{Type: switchyard.RunEnded}
)

// ControlRefusal returns why a run refused a message, a pause or another request.
func ControlRefusal(err error) (refused api.ControlError, ok bool) {
	e, ok := errors.AsType[*api.ControlError](err)
	if ok {
		refused = *e
	}
	return refused, ok
}

func IsNotFound(err error) bool {
	_, ok := errors.AsType[*serviceerror.NotFound](err)
	return ok
}
