package cli

import (
	"context"
	"errors"
	"regexp"
	"time"

	"github.com/switchyard/switchyard/audit/history"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/switchyard/switchyard/audit"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
)

// GiveUpAfter is how long a server may be unreachable while a run is followed.
const GiveUpAfter = 15 * time.Second

// RunRef names an existing run.
type RunRef struct {
	WorkflowID, RunID string
}

func (r *RunRef) Add(f *pflag.FlagSet) {
	f.StringVarP(&r.WorkflowID, "workflow-id", "w", "", "`ID` of the run, in place of the argument")
	f.StringVarP(&r.RunID, "run-id", "r", "", "`ID` of one execution (default: the latest)")
}

// resolve reads the run's ID from the argument or the flag.
func (r *RunRef) resolve(cmd *cobra.Command, args []string) (*RunRef, error) {
	switch {
	case r.RunID != "" && !executionID.MatchString(r.RunID):
		return nil, UsageError(cmd,
			"--run-id %q is not an execution ID, such as 01234567-89ab-cdef-0123-456789abcdef",
			r.RunID)
	case len(args) == 0 && r.WorkflowID == "":
		return nil, UsageError(cmd, "RUN is missing: pass the ID of a run; list them: %s list",
			cmd.Root().DisplayName())
	case len(args) == 1 && r.WorkflowID != "" && r.WorkflowID != args[0]:
		return nil, UsageError(cmd, "RUN %q and --workflow-id %q differ", args[0], r.WorkflowID)
	case len(args) == 1:
		r.WorkflowID = args[0]
	}
	return r, nil
}

// UseLatest sets the reference to the chain's last execution, the only one that accepts requests.
// The user may have named any of the chain. A reference without an execution already means the
// last.
func (r *RunRef) UseLatest(s history.Summary) {
	if r.RunID != "" && len(s.Parts) > 0 {
		r.RunID = s.Parts[len(s.Parts)-1].RunID
	}
}

var executionID = regexp.MustCompile(`^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`)

// OnRun resolves the run, connects, and calls f.
func (a *App) OnRun(ref *RunRef, f func(context.Context, client.Client,
	*RunRef) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		run, err := ref.resolve(cmd, args)
		if err != nil {
			return err
		}
		return a.WithClient(cmd, func(ctx context.Context, c client.Client) error {
			return f(ctx, c,
				run)
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

// LookupError explains why a run cannot be read.
func (a *App) LookupError(id, runID string, err error) error {
	if err == nil {
		return nil
	}
	r := a.Connection.Invocation()
	if errors.Is(err, audit.ErrIncomplete) {
		return Errorf(ExitFailed, "the run is incomplete: %w", err)
	}
	if gone := errors.Is(err, audit.ErrNotFound) || IsNotFound(err); gone && runID != "" {
		return Errorf(ExitFailed,
			"the run %[2]q has no execution %[1]q, or the server no longer has it\nLeave out --run-id for the latest execution",
			runID, id)
	} else if gone {
		return Errorf(ExitFailed,
			"there is no run %q, or the server no longer has it\nList the runs: %s", id,
			r.Command("list"))
	}
	if errors.Is(err, history.ErrNotARun) {
		return Errorf(ExitFailed, "the workflow %q is not a run of Switchyard\nList the runs: %s",
			id, r.Command("list"))
	}
	if Unreachable(err) {
		return Errorf(ExitUnserved,
			"lost the connection to the server (%w); the run is not affected\nFollow it again: %s",
			err, r.Command("watch", id))
	}
	return err
}

func IsNotFound(err error) bool {
	_, ok := errors.AsType[*serviceerror.NotFound](err)
	return ok
}
