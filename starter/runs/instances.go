package runs

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit"
	"github.com/switchyard/switchyard/internal/value/display"
	"github.com/switchyard/switchyard/starter/cli"
	"go.temporal.io/sdk/client"
)

func instancesCommand(a *cli.App) *cobra.Command {
	var ref cli.RunRef
	cmd := &cobra.Command{
		Use: "instances RUN", GroupID: cli.GroupRuns,
		Short: "List the instances of a run: stateful tools and MCP sessions",
		Long: `Lists the instances that workers host for a run: those of stateful tools and the sessions with MCP
servers, each with its worker and the calls that run on it or wait for it. The list includes the
instances of the run's conversation (scope: conversation), also when the run has ended. Sub-agents
are runs with their own instances.`,
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
	t := cli.Table{Header: []string{"instance", "scope", "lane", "worker", "state", "since", "calls"}}
	for _, i := range list {
		scope := api.ScopeRun
		if i.Keeper != "" {
			scope = api.ScopeConversation
		}
		t.Add(cli.PlainText(i.Name), string(scope), i.Lane, cli.PlainText(i.Worker),
			string(i.State), a.Format.When(i.Since, now), strings.Join(i.Calls, " "))
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
closed as well, so that its tools can be called again. An instance of a conversation can be closed
between its runs, too: RUN is then the conversation.`,
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
	list, err := audit.Instances(ctx, c, run.WorkflowID, run.RunID)
	if err != nil {
		return a.LookupError(run.WorkflowID, run.RunID, err)
	}
	if _, err := a.Open(ctx, c, run, readSummary); err != nil {
		if kept := keptInstance(list, closes.Instance); kept != nil {
			return closeKept(ctx, a, c, run, kept, closes)
		}
		return err
	}
	if closes.Instance == "" {
		if closes.Instance, err = onlyInstance(a, run, list); err != nil {
			return err
		}
	}
	return closeOfRun(ctx, a, c, run, closes, list)
}

// closeOfRun closes an instance by the run, or one of its conversation that it has not used.
func closeOfRun(ctx context.Context, a *cli.App, c client.Client, run *cli.RunRef,
	closes api.CloseInstance, list []audit.Instance) error {
	err := a.Handle(c, run).CloseInstance(ctx, closes)
	if refused, ok := cli.ControlRefusal(err); ok && refused.Type == api.NoInstance {
		if kept := keptInstance(list, closes.Instance); kept != nil {
			return closeKept(ctx, a, c, run, kept, closes)
		}
	}
	if err != nil {
		return a.ControlError(run, err)
	}
	return printClosed(a, run, closes.Instance)
}

// closeKept closes an instance of the conversation by its workflow.
func closeKept(ctx context.Context, a *cli.App, c client.Client, run *cli.RunRef,
	kept *audit.Instance, closes api.CloseInstance) error {
	closes.Instance = kept.Name
	keeper := &cli.RunRef{WorkflowID: kept.Keeper}
	err := a.Handle(c, keeper).CloseInstance(ctx, closes)
	if err != nil {
		return a.ControlError(keeper, err)
	}
	return printClosed(a, run, kept.Name)
}

// keptInstance returns the instance of that name that the conversation has, for an empty name the
// only one; nil for none.
func keptInstance(list []audit.Instance, name string) *audit.Instance {
	var found []*audit.Instance
	for n, i := range list {
		if i.Keeper != "" && (name == "" || i.Name == name) {
			found = append(found, &list[n])
		}
	}
	if len(found) != 1 {
		return nil
	}
	return found[0]
}

func printClosed(a *cli.App, run *cli.RunRef, instance string) error {
	if a.Format.JSON() {
		return cli.WriteJSON(a.Out, map[string]string{"workflow_id": run.WorkflowID,
			"instance": instance}, false)
	}
	return a.Println(fmt.Sprintf(
		"run %s closes its instance %s when the calls on it have ended; the next call gets a new one",
		run.WorkflowID, instance))
}

// onlyInstance returns the name of the only instance of a run.
func onlyInstance(a *cli.App, run *cli.RunRef, list []audit.Instance) (string, error) {
	if len(list) != 1 {
		return "", cli.Errorf(cli.ExitFailed, "the run %q has %s; name one of them\nSee: %s",
			run.WorkflowID, display.Plural(len(list), "open instance"),
			a.Connection.Invocation().Command("instances", run.WorkflowID))
	}
	return list[0].Name, nil
}
