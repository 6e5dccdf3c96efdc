package runs

import (
	"context"
	"strings"

	"github.com/spf13/cobra"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit"
	"github.com/switchyard/switchyard/internal/value/display"
	"github.com/switchyard/switchyard/starter/cli"
	"go.temporal.io/sdk/client"
)

func closeCommand(a *cli.App) *cobra.Command {
	var flags actFlags
	return flags.add(&cobra.Command{
		Use: "close RUN [INSTANCE]", GroupID: cli.GroupRuns,
		Short: "Close an instance of a run: a stateful tool or an MCP session",
		Long: `Closes an instance that 'starter show' lists, while the run goes on. Calls that run on the
instance or wait for it end first. Later calls wait until it is closed and get a new instance,
and the first result says who closed the last one. INSTANCE can also name a tool that uses the
instance. It can be left out if the run has only one instance. An instance that was lost is
closed as well, so that its tools can be called again. An instance of a conversation can be closed
between its runs, too: RUN is then the conversation.`,
		Example: `  starter close demo-1a2b3c4d browser --reason "it hangs"`,
		Args:    cli.Arguments(1, "RUN", "INSTANCE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			closes := api.CloseInstance{Instance: strings.Join(args[1:], ""),
				By: flags.by.Name(), Reason: flags.reason}
			return a.OnRun(func(ctx context.Context, c client.Client, run *cli.RunRef) error {
				return closeInstance(ctx, a, c, run, closes)
			})(cmd, args)
		},
	})
}

// closeInstance closes an instance of the run, or of its conversation if the run has ended or does
// not use it.
func closeInstance(ctx context.Context, a *cli.App, c client.Client, run *cli.RunRef,
	closes api.CloseInstance) error {
	list, err := audit.Instances(ctx, c, run.WorkflowID, run.RunID)
	if err != nil {
		return a.LookupError(run.WorkflowID, run.RunID, err)
	}
	if closes.Instance == "" && len(list) != 1 {
		return cli.Errorf(cli.ExitFailed, "the run %q has %s; name one of them\nSee: %s",
			run.WorkflowID, display.Plural(len(list), "open instance"),
			a.Connection.Invocation().Command("show", run.String()))
	}
	if closes.Instance == "" {
		closes.Instance = list[0].Name
	}
	err = a.Handle(c, run).CloseInstance(ctx, closes)
	if keeper := findKeeper(list, closes.Instance); err != nil && keeper != "" {
		err = a.Client(c).Open(keeper).CloseInstance(ctx, closes)
	}
	if err != nil {
		return a.LookupError(run.WorkflowID, run.RunID, err)
	}
	if a.Format.JSON() {
		return cli.WriteJSON(a.Out, struct {
			WorkflowID string `json:"workflow_id"`
			api.CloseInstance
		}{run.WorkflowID, closes}, false)
	}
	return a.Println("run " + run.WorkflowID + " closes its instance " + closes.Instance +
		" when the calls on it have ended; the next call gets a new one")
}

// findKeeper returns the workflow that keeps the conversation's instance of that name; empty for
// none.
func findKeeper(list []audit.Instance, name string) string {
	for _, i := range list {
		if i.Name == name && i.Keeper != "" {
			return i.Keeper
		}
	}
	return ""
}
