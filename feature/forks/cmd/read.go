package cmd

import (
	"context"
	"errors"
	"strings"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit"
	"github.com/switchyard/switchyard/audit/history"
	"github.com/switchyard/switchyard/feature"
	"github.com/switchyard/switchyard/feature/forks"
	"github.com/switchyard/switchyard/feature/forks/run"
	"github.com/switchyard/switchyard/starter/cli"
	"github.com/switchyard/switchyard/starter/replay"
	"github.com/switchyard/switchyard/workflows"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/workflow"
)

// point selects where the fork of a run begins, and what it takes over otherwise than recorded.
type point struct {
	// at is a turn, such as "3", or a call, such as "3.2".
	at string
	run.Edits
}

// snapshot is what a forked run starts with.
type snapshot struct {
	fork forks.Fork
	// input is that of the source, without its prompt, caller and conversation.
	input api.RunInput
	// queue is the task queue of the source.
	queue string
	state forks.State
}

// maxForkPrompt bounds the prompt of the source that a forked run has, in bytes.
const maxForkPrompt = 64 << 10

// read replays the histories of a run and returns what a run takes over that is forked from it.
// Nothing is executed, and the run is not affected.
func (p point) read(ctx context.Context, a *cli.App, c client.Client, source *cli.RunRef) (snapshot,
	error) {
	summary, err := audit.Describe(ctx, c, source.WorkflowID, source.RunID)
	if err != nil {
		return snapshot{}, a.LookupError(source.WorkflowID, source.RunID, err)
	}
	if err := checkForkable(a, summary); err != nil {
		return snapshot{}, err
	}
	observer := run.NewObserver()
	all, err := observe(observer)
	if err == nil {
		err = replay.Run(ctx, a, c, summary, all)
	}
	if err != nil {
		return snapshot{}, err
	}
	input := observer.Input()
	taken, err := observer.State(run.Source{WorkflowID: source.WorkflowID, Prompt: prompt(input)},
		p.at, p.Edits)
	if err != nil {
		return snapshot{}, cli.Errorf(cli.ExitUsage, "%s cannot be forked at %s: %w",
			source.WorkflowID, p.at, err)
	}
	return snapshot{
		fork: forks.Fork{WorkflowID: summary.WorkflowID, RunID: summary.Run, At: p.at,
			Calls: taken.Calls},
		input: p.input(input, taken), queue: summary.TaskQueue, state: taken.State}, nil
}

// observe returns the workflows of this build, with a run of an agent that o observes.
func observe(o *run.Observer) (map[string]any, error) {
	all := feature.Workflows()
	agent, ok := all[api.AgentWorkflow].(workflows.AgentWorkflow)
	if !ok {
		return nil, errors.New("the workflow of agents has another type")
	}
	all[api.AgentWorkflow] = func(ctx workflow.Context, in *api.RunInput,
		earlier []byte) (*api.RunResult, error) {
		return agent(run.With(ctx, o), in, earlier)
	}
	return all, nil
}

// checkForkable returns why a run cannot be forked, or nil.
func checkForkable(a *cli.App, s history.Summary) error {
	switch {
	case s.Kind != history.RunAgent:
		return cli.Errorf(cli.ExitUsage, "%s is not the run of an agent (its kind is %s); only "+
			"agents' runs can be forked", s.WorkflowID, s.Kind)
	case s.Parent != nil:
		return cli.Errorf(cli.ExitUsage, "%s is the run of a sub-agent; fork the run above it: %s",
			s.WorkflowID, a.Connection.Invocation().Command("fork", s.Parent.WorkflowID)+" --at "+
				s.Parent.Call)
	}
	return nil
}

// prompt returns the prompt of a run, which a forked run has of its source.
func prompt(in api.RunInput) string {
	if in.Beginning != nil {
		return in.Beginning.Prompt
	}
	return in.Prompt
}

// input returns the input of the forked run.
func (p point) input(in api.RunInput, taken run.Taken) api.RunInput {
	text := prompt(in)
	if p.Prompt != nil {
		text = *p.Prompt
	}
	return api.RunInput{Agent: in.Agent, Variables: in.Variables, Mode: in.Mode,
		Priority: in.Priority, DryRun: in.DryRun,
		Beginning: &api.Beginning{Turn: taken.Turn, Before: taken.Before, Calls: taken.Pending,
			Prompt: strings.ToValidUTF8(text[:min(len(text), maxForkPrompt)], "")}}
}
