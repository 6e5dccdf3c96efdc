package runs

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/starter/cli"
	"github.com/switchyard/switchyard/starter/internal/specfiles"
	"github.com/switchyard/switchyard/toolspecs/agents"
	"github.com/switchyard/switchyard/toolspecs/plans"
	"go.temporal.io/sdk/client"
)

func runCommand(a *cli.App) *cobra.Command {
	var flags startFlags
	cmd := &cobra.Command{
		Use: "run AGENT.yaml [PROMPT]", Short: "Run an agent and watch it", GroupID: cli.GroupStart,
		Long: `Runs the agent that a file declares. Progress, the answer, calls by lane, tokens and cost go to
standard output.

The file is checked completely before anything starts: every fault is listed with file, line and
column, and the exit code is 2. Ctrl-C leaves the run alone and prints how to watch it again; a
second Ctrl-C cancels it.

With --conversation the run continues where the last run of that conversation ended, whatever
its outcome: it starts with its messages. All runs of a conversation share its ID, and the
server allows one at a time. A run that was started without --conversation is a conversation
with the run's ID.`,
		Example: `  starter run agent.yaml "Which of these documents mention lanes?"
  starter run agent.yaml "And which of them is the newest?" --conversation support-42 --if-busy wait
  starter run agent.yaml "Count them" --var project=alpha --detach
  starter run agent.yaml "Book a room" --dry-run
  starter run agent.yaml "Count them" --output json | jq .type`,
		Args: cli.Arguments(1, "AGENT.yaml", "PROMPT"),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := agentStart(a, cmd, &flags, args[0], args[1:])
			if err != nil {
				return err
			}
			return startAndFollow(a, cmd, s, &flags)
		},
	}
	flags.add(cmd, "`ID` of the conversation that the run continues (default: its own)")
	flags.addDryRun(cmd.Flags())
	cmd.Flags().StringVar(&flags.ifBusy, "if-busy", busyRefuse,
		"`action` while another run of the conversation is active: refuse or wait")
	return cmd
}

// agentStart builds the run of the agent in a file. words are the prompt and may be empty.
func agentStart(a *cli.App, cmd *cobra.Command, flags *startFlags, path string,
	words []string) (*start, error) {
	prompt := strings.Join(words, "")
	if len(words) > 0 && strings.TrimSpace(prompt) == "" {
		return nil, cli.UsageError(cmd,
			"the prompt is empty: pass a task, or leave it out if the agent's file has instructions")
	}
	agent, err := loadAgent(cmd.Context(), a, &flags.catalog, flags.queue, path)
	if err != nil {
		return nil, err
	}
	if prompt == "" && agent.Instructions == "" && flags.conversation == "" &&
		agent.Model.Provider != api.ProviderScripted {
		return nil, cli.UsageError(cmd,
			"the prompt is missing, and %s has no instructions for the model", path)
	}
	s, err := flags.newStart(cmd, api.CallerAgent, api.AgentWorkflow, agent.Name)
	if err != nil {
		return nil, err
	}
	s.input.Agent, s.input.Prompt = agent, prompt
	return s, flags.goOn(cmd, s)
}

// loadAgent reads the agent in a file, with its available tools.
func loadAgent(ctx context.Context, a *cli.App, catalog *specfiles.Flags, queue,
	path string) (*api.Agent, error) {
	return loadNaming(ctx, a, catalog, namingFile{path, specfiles.KindAgent, queue},
		func(known agents.Known) (*api.Agent, error) { return agents.Load(path, known) })
}

func planCommand(a *cli.App) *cobra.Command {
	var flags startFlags
	cmd := &cobra.Command{
		Use: "plan PLAN.yaml", Short: "Run a plan: calls with dependencies, without a model",
		GroupID: cli.GroupStart,
		Long: `Runs the calls of a plan. Each call starts as soon as the calls it depends on have succeeded.
The plan is checked completely before anything runs: unknown tools, cycles and dangling
references are listed with file, line and column, and the exit code is 2.`,
		Example: `  starter plan nightly.yaml
  starter plan nightly.yaml --tools ./tools --var region=eu
  starter tools lint nightly.yaml`,
		Args: cli.Arguments(1, "PLAN.yaml"),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := planStart(a, cmd, &flags, args[0])
			if err != nil {
				return err
			}
			return startAndFollow(a, cmd, s, &flags)
		},
	}
	flags.add(cmd, conversationOfAny)
	return cmd
}

func planStart(a *cli.App, cmd *cobra.Command, flags *startFlags, path string) (*start, error) {
	plan, err := loadNaming(cmd.Context(), a, &flags.catalog, namingFile{path, specfiles.KindPlan,
		flags.queue}, func(known agents.Known) (*api.Plan, error) {
		return plans.Load(path, known.Names)
	})
	if err != nil {
		return nil, err
	}
	if plan.Name == "" {
		plan.Name = baseName(path)
	}
	s, err := flags.newStart(cmd, api.CallerPlan, api.PlanWorkflow, plan.Name)
	if err != nil {
		return nil, err
	}
	packed := api.Pack(*plan)
	s.input.Plan = &packed
	return s, nil
}

// startAndFollow starts a run and, unless detached, shows it and its report until its end.
func startAndFollow(a *cli.App, cmd *cobra.Command, s *start, flags *startFlags) error {
	return startRun(a, cmd, s, flags, followInView(a))
}

// startRun starts a run and, unless detached, calls follow.
func startRun(a *cli.App, cmd *cobra.Command, s *start, flags *startFlags,
	follow func(context.Context, *follower) error) error {
	return a.WithClient(cmd, func(ctx context.Context, c client.Client) error {
		runID, err := beginRun(ctx, a, c, s)
		if err != nil {
			return err
		}
		return flags.follow(ctx, a, c,
			Started{ID: s.id, RunID: runID, Queue: s.queue, DryRun: s.input.DryRun}, follow)
	})
}

func newFollower(a *cli.App, c client.Client, id, runID, queue string) *follower {
	return &follower{app: a, client: c, id: id, run: runID, lanes: newLaneWatch(c,
		a.Connection.ResolvedNamespace, queue, a.Connection.Invocation())}
}

// followToReport follows a run to its end, prints the report, and returns the exit code as an
// error.
func followToReport(ctx context.Context, a *cli.App, f *follower) error {
	if err := f.follow(ctx); err != nil {
		return a.LookupError(f.id, f.run, err)
	}
	if !f.detached && !a.Format.JSON() {
		if err := a.Print(newReport(a, f).text(a.PaletteFor(a.Out))); err != nil {
			return err
		}
		if f.dry {
			if err := printWithheld(ctx, a, f); err != nil {
				return err
			}
		}
	}
	return cli.Exit(f.exitCode())
}

// printStarted prints a started run's ID, alone on its line for scripts.
func printStarted(a *cli.App, id, runID string) error {
	if a.Format.JSON() {
		return cli.WriteJSON(a.Out, map[string]string{"workflow_id": id, "run_id": runID}, false)
	}
	fmt.Fprintln(a.Err, "started; follow it with "+a.Connection.Invocation().Command("watch", id))
	return a.Println(id)
}
