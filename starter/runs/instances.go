package runs

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit"
	"github.com/switchyard/switchyard/starter/internal/cli"
	"go.temporal.io/sdk/client"
)

func instancesCommand(a *cli.App) *cobra.Command {
	var ref cli.RunRef
	cmd := &cobra.Command{
		Use: "instances RUN", GroupID: cli.GroupRuns,
		Short: "List the instances of a run: stateful tools and MCP sessions",
		Long: `Lists the instances that workers host for a run: those of stateful tools and the sessions with MCP
servers, each with its worker and the calls that run on it or wait for it. Sub-agents are runs
with their own instances.`,
		Example: `  starter instances demo-1a2b3c4d`,
		Args:    cli.Arguments(0, "RUN"),
		RunE: a.OnRun(&ref, func(ctx context.Context, c client.Client, run *cli.RunRef) error {
			list, err := audit.Instances(ctx, c, run.WorkflowID, run.RunID)
			if err != nil {
				return a.LookupError(run.WorkflowID, run.RunID, err)
			}
			return printInstances(a, list, time.Now())
		}),
	}
	ref.Add(cmd.Flags())
	return cmd
}

func printInstances(a *cli.App, list []audit.Instance, now time.Time) error {
	if a.Format.JSON() {
		return cli.WriteJSONLines(a.Out, list)
	}
	if len(list) == 0 {
		fmt.Fprintln(a.Err, "no open instances")
		return nil
	}
	t := cli.Table{Header: []string{"instance", "lane", "worker", "state", "since", "calls"}}
	for _, i := range list {
		t.Add(cli.PlainText(i.Name), i.Lane, cli.PlainText(i.Worker), string(i.State),
			a.Format.When(i.Since, now), strings.Join(i.Calls, " "))
	}
	return a.Print(t.Text(a.PaletteFor(a.Out)))
}

func closeCommand(a *cli.App) *cobra.Command {
	var ref cli.RunRef
	var reason string
	var by cli.ByFlag
	cmd := &cobra.Command{
		Use: "close RUN [INSTANCE]", GroupID: cli.GroupRuns,
		Short: "Close an instance of a run: a stateful tool or an MCP session",
		Long: `Closes an instance that 'starter instances' lists, while the run goes on. Calls that run on the
instance or wait for it end first. Later calls wait until it is closed and get a new instance,
and the first result says who closed the last one. INSTANCE can also name a tool that uses the
instance. It can be left out if the run has only one instance. An instance that was lost is
closed as well, so that its tools can be called again.`,
		Example: `  starter close demo-1a2b3c4d browser --reason "it hangs"`,
		Args:    cli.Arguments(0, "RUN", "INSTANCE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 && ref.WorkflowID == "" {
				ref.WorkflowID, args = args[0], args[1:]
			}
			if len(args) > 1 {
				return cli.UsageError(cmd, "unexpected argument %q", args[1])
			}
			closes := api.CloseInstance{Instance: strings.Join(args, ""), By: by.Name(),
				Reason: reason}
			return a.OnRun(&ref, func(ctx context.Context, c client.Client, run *cli.RunRef) error {
				return closeInstance(ctx, a, c, run, closes)
			})(cmd, nil)
		},
	}
	ref.Add(cmd.Flags())
	cmd.Flags().StringVar(&reason, "reason", "",
		"`text` recorded in the run's history as the reason")
	by.Add(cmd.Flags(), "requests it")
	return cmd
}

func closeInstance(ctx context.Context, a *cli.App, c client.Client, run *cli.RunRef,
	closes api.CloseInstance) error {
	if _, err := a.Open(ctx, c, run, statusOf); err != nil {
		return err
	}
	if closes.Instance == "" {
		name, err := onlyInstance(ctx, a, c, run)
		if err != nil {
			return err
		}
		closes.Instance = name
	}
	err := cli.Control(ctx, c, run, cli.RandomHex(16), api.CloseInstanceUpdate, closes)
	if err != nil {
		return a.ControlError(run, err)
	}
	if a.Format.JSON() {
		return cli.WriteJSON(a.Out, map[string]string{"workflow_id": run.WorkflowID,
			"instance": closes.Instance}, false)
	}
	return a.Println(fmt.Sprintf(
		"run %s closes its instance %s when the calls on it have ended; the next call gets a new one",
		run.WorkflowID, closes.Instance))
}

// onlyInstance returns the name of the only instance of a run.
func onlyInstance(ctx context.Context, a *cli.App, c client.Client, run *cli.RunRef) (string,
	error) {
	list, err := audit.Instances(ctx, c, run.WorkflowID, run.RunID)
	if err != nil {
		return "", a.LookupError(run.WorkflowID, run.RunID, err)
	}
	if len(list) != 1 {
		return "", cli.Errorf(cli.ExitFailed, "the run %q has %s; name one of them\nSee: %s",
			run.WorkflowID, api.Plural(len(list), "open instance"),
			a.Connection.Invocation().Command("instances", run.WorkflowID))
	}
	return list[0].Name, nil
}
