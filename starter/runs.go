package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/switchyard/switchyard"
	"github.com/switchyard/switchyard/toolspecs"
	"go.temporal.io/sdk/client"
)

func (a *app) runCommand() *cobra.Command {
	var flags startFlags
	var messages, model string
	var turns int
	cmd := &cobra.Command{
		Use: "run AGENT.yaml [PROMPT]", Short: "Run an agent and watch it", GroupID: groupStart,
		Long: `Runs the agent that a file declares. Progress, the answer, the calls by lane, tokens and cost go to standard output.

The file is checked whole before anything starts: every fault is listed with file, line and column, and the exit code
is 2. Ctrl-C leaves the run alone and tells how to watch it again; a second one cancels it.`,
		Example: `  starter run agent.yaml "Which of these documents mention lanes?"
  starter run agent.yaml "Go on" --conversation support-42 --messages earlier.json
  starter run agent.yaml "Count them" --var project=alpha --detach
  starter run agent.yaml "Count them" --output json | jq .type`,
		Args: arguments(1, "AGENT.yaml", "PROMPT"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("max-turns") && turns < 1 {
				return usageError(cmd, "--max-turns %d: give at least 1", turns)
			}
			s, err := a.agentStart(cmd, &flags, args[0], messages)
			if err != nil {
				return err
			}
			if len(args) > 1 {
				s.prompt, s.input.Prompt = args[1], args[1]
			}
			if model != "" {
				s.input.Agent.Model.Name = model
			}
			if turns > 0 {
				s.input.Agent.Limits.Turns = turns
			}
			return a.startAndFollow(cmd, s, &flags)
		},
	}
	flags.add(cmd)
	cmd.Flags().StringVar(&messages, "messages", "", "JSON `file` with the conversation before the prompt: [{\"role\": \"user\", \"text\": …}, …]")
	cmd.Flags().StringVar(&model, "model", "", "`name` of the model in place of the file's")
	cmd.Flags().IntVar(&turns, "max-turns", 0, "limit of turns in place of the file's")
	return cmd
}

func (a *app) agentStart(cmd *cobra.Command, flags *startFlags, path, messages string) (*start, error) {
	known, err := a.known(&flags.catalog)
	if err != nil {
		return nil, err
	}
	agent, err := toolspecs.LoadAgent(path, known)
	if err != nil {
		return nil, fileError(path, err)
	}
	earlier, err := loadMessages(messages)
	if err != nil {
		return nil, err
	}
	s, err := flags.newStart(cmd, switchyard.CallerAgent, switchyard.AgentWorkflow, agent.Name)
	if err != nil {
		return nil, err
	}
	s.input.Agent = agent
	s.earlier, err = switchyard.EncodeMessages(earlier)
	return s, err
}

func (a *app) planCommand() *cobra.Command {
	var flags startFlags
	cmd := &cobra.Command{
		Use: "plan PLAN.yaml", Short: "Run a plan: calls with dependencies, no model", GroupID: groupStart,
		Long: `Runs the calls of a plan, each as soon as those it needs have succeeded. The plan is checked whole before anything
runs: unknown tools, cycles and dangling references are listed with file, line and column, and the exit code is 2.`,
		Example: `  starter plan nightly.yaml
  starter plan nightly.yaml --tools ./tools --var region=eu
  starter tools lint nightly.yaml`,
		Args: arguments(1, "PLAN.yaml"),
		RunE: func(cmd *cobra.Command, args []string) error {
			known, err := a.known(&flags.catalog)
			if err != nil {
				return err
			}
			plan, err := toolspecs.LoadPlan(args[0], known)
			if err != nil {
				return fileError(args[0], err)
			}
			if plan.Name == "" {
				plan.Name = baseName(args[0])
			}
			s, err := flags.newStart(cmd, switchyard.CallerPlan, switchyard.PlanWorkflow, plan.Name)
			if err != nil {
				return err
			}
			packed := switchyard.Pack(*plan)
			s.input.Plan = &packed
			return a.startAndFollow(cmd, s, &flags)
		},
	}
	flags.add(cmd)
	return cmd
}

// startAndFollow starts a run, and unless it is detached shows it and its report until its end.
func (a *app) startAndFollow(cmd *cobra.Command, s *start, flags *startFlags) error {
	return a.startRun(cmd, s, flags, func(ctx context.Context, f *follower) error {
		f.view = a.newView(a.Out)
		return a.followToReport(ctx, f)
	})
}

// startRun starts a run, and unless it is detached has follow follow it.
func (a *app) startRun(cmd *cobra.Command, s *start, flags *startFlags, follow func(context.Context, *follower) error) error {
	return a.connected(cmd, func(ctx context.Context, c client.Client) error {
		runID, err := a.begin(ctx, c, s)
		if err != nil {
			return err
		}
		if flags.detach {
			return a.printStarted(s.id, runID)
		}
		f := a.newFollower(c, s.id, runID, s.queue)
		f.owned, f.cancelOnInterrupt = true, flags.cancelOnInterrupt
		return follow(ctx, f)
	})
}

func (a *app) newFollower(c client.Client, id, runID, queue string) *follower {
	return &follower{app: a, client: c, id: id, run: runID, lanes: newLaneWatch(c, a.connection.resolvedNamespace, queue)}
}

// followToReport follows a run to its end, prints the report, and gives the exit code as an error.
func (a *app) followToReport(ctx context.Context, f *follower) error {
	if err := f.follow(ctx); err != nil {
		return a.lookupError(f.id, f.run, err)
	}
	if !f.detached && !a.format.json() {
		if err := a.print(a.newReport(f).text(a.paletteFor(a.Out))); err != nil {
			return err
		}
	}
	return exitWith(f.exitCode())
}

// printStarted tells a started run's id, alone on its line for scripts.
func (a *app) printStarted(id, runID string) error {
	if a.format.json() {
		return writeJSON(a.Out, map[string]string{"workflow_id": id, "run_id": runID}, false)
	}
	fmt.Fprintln(a.Err, "started; follow it: "+a.connection.reach().command("watch", id))
	return a.println(id)
}
