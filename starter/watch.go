package main

import (
	"context"
	"regexp"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/switchyard/switchyard/audit"
	"github.com/switchyard/switchyard/audit/history"
	"go.temporal.io/sdk/client"
)

// runReference names a run that exists.
type runReference struct {
	workflowID, runID string
}

func (r *runReference) add(f *pflag.FlagSet) {
	f.StringVarP(&r.workflowID, "workflow-id", "w", "", "`id` of the run, in place of the argument")
	f.StringVarP(&r.runID, "run-id", "r", "", "`id` of one execution, where a run's id was used more than once")
}

// goOnAs makes the reference one of the chain's last execution, the only one that takes requests; any of the chain may have been
// named. One without an execution means the last anyway.
func (r *runReference) goOnAs(s history.Summary) {
	if r.runID != "" && len(s.Parts) > 0 {
		r.runID = s.Parts[len(s.Parts)-1].RunID
	}
}

var executionID = regexp.MustCompile(`^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`)

// resolve takes the run's id from the argument or the flag.
func (r *runReference) resolve(cmd *cobra.Command, args []string) (*runReference, error) {
	switch {
	case r.runID != "" && !executionID.MatchString(r.runID):
		return nil, usageError(cmd, "--run-id %q is not an execution's id, which looks like 01234567-89ab-cdef-0123-456789abcdef", r.runID)
	case len(args) == 0 && r.workflowID == "":
		return nil, usageError(cmd, "RUN is missing: name a run by its id; list them: %s list", cmd.Root().DisplayName())
	case len(args) == 1 && r.workflowID != "" && r.workflowID != args[0]:
		return nil, usageError(cmd, "two runs are named, %q and %q", args[0], r.workflowID)
	case len(args) == 1:
		r.workflowID = args[0]
	}
	return r, nil
}

// onRun is what a command does that is about one run: it names the run, connects, and calls f.
func (a *app) onRun(ref *runReference, f func(context.Context, client.Client, *runReference) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		run, err := ref.resolve(cmd, args)
		if err != nil {
			return err
		}
		return a.connected(cmd, func(ctx context.Context, c client.Client) error { return f(ctx, c, run) })
	}
}

// connected calls f with a connection and closes it.
func (a *app) connected(cmd *cobra.Command, f func(context.Context, client.Client) error) error {
	ctx := cmd.Context()
	c, err := a.connect(ctx, cmd.Flags())
	if err != nil {
		return err
	}
	defer c.Close()
	return f(ctx, c)
}

func (a *app) watchCommand() *cobra.Command {
	var ref runReference
	cmd := &cobra.Command{
		Use: "watch RUN", Short: "Follow a run until it ends",
		Long: `Follows a run from its first event to its last, whether it runs or has ended. On a terminal the open turn is drawn with
its calls and what the model says; elsewhere every event is one line, and so is every line of an answer that is under way. The
exit code is that of the run: 0 done, 1 failed, 3 cancelled.

Ctrl-C ends the watching, not the run.`,
		Example: `  starter watch demo-1a2b3c4d
  starter watch demo-1a2b3c4d --output json | jq -c 'select(.type == "tool_failed")'`,
		Args: arguments(0, "RUN"),
		RunE: a.onRun(&ref, func(ctx context.Context, c client.Client, run *runReference) error {
			summary, err := audit.Describe(ctx, c, run.workflowID, run.runID)
			if err != nil {
				return a.lookupError(run.workflowID, run.runID, err)
			}
			f := a.newFollower(c, run.workflowID, run.runID, summary.TaskQueue)
			f.view = a.newView(a.Out)
			return a.followToReport(ctx, f)
		}),
	}
	ref.add(cmd.Flags())
	return cmd
}
