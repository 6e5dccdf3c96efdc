package replay

import (
	"context"
	"errors"
	"strings"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit"
	"github.com/switchyard/switchyard/audit/history"
	"github.com/switchyard/switchyard/internal/core/codec"
	"github.com/switchyard/switchyard/internal/value/display"
	"github.com/switchyard/switchyard/starter/cli"
	"github.com/switchyard/switchyard/workflows"
	"github.com/switchyard/switchyard/workflows/fork"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/workflow"
)

// Fork selects the point of a run at which another run begins.
type Fork struct {
	// At is a turn, such as "3", or a call, such as "3.2".
	At string
	// Results replace those of calls before the point, as JSON by call ID.
	Results map[string][]byte
	// Prompt replaces the run's prompt; nil keeps it.
	Prompt *string
	// FreshInstances leaves out the instances of stateful tools.
	FreshInstances bool
}

// Forked is what a forked run starts with.
type Forked struct {
	// Input is that of the source, with Fork set, without its prompt, caller and conversation.
	Input api.RunInput
	// Queue is the task queue of the source.
	Queue string
	State codec.ForkState
}

// maxForkPrompt bounds the prompt in api.Fork, in bytes.
const maxForkPrompt = 64 << 10

// Read replays the histories of a run and returns what a run takes over that is forked from it.
// Nothing is executed, and the run is not affected.
func (f Fork) Read(ctx context.Context, a *cli.App, c client.Client, run *cli.RunRef) (Forked,
	error) {
	summary, err := audit.Describe(ctx, c, run.WorkflowID, run.RunID)
	if err != nil {
		return Forked{}, a.LookupError(run.WorkflowID, run.RunID, err)
	}
	if err := forkable(a, summary); err != nil {
		return Forked{}, err
	}
	observer := fork.NewObserver()
	var input api.RunInput
	for i, part := range summary.Parts {
		recorded, err := fetch(ctx, c, run.WorkflowID, part.RunID)
		if err == nil {
			err = recorded.err
		}
		if err != nil {
			return Forked{}, a.LookupError(run.WorkflowID, run.RunID, err)
		}
		in, err := recorded.observe(observer)
		if err != nil {
			return Forked{}, cli.Errorf(cli.ExitFailed, "the run %s does not replay with this "+
				"build: %s\nUse the starter of the build that executed it", run.WorkflowID,
				cli.OneLine(display.Shorten(err.Error(), maxReason)))
		}
		if i == 0 {
			input = in
		}
	}
	taken, err := observer.State(fork.Source{WorkflowID: run.WorkflowID, Prompt: prompt(input)},
		f.At, fork.Edits{Results: f.Results, Prompt: f.Prompt, FreshInstances: f.FreshInstances})
	if err != nil {
		return Forked{}, cli.Errorf(cli.ExitUsage, "%s cannot be forked at %s: %w", run.WorkflowID,
			f.At, err)
	}
	return Forked{Input: f.input(input, summary, taken), Queue: summary.TaskQueue,
		State: taken.State}, nil
}

// forkable returns why a run cannot be forked, or nil.
func forkable(a *cli.App, s history.Summary) error {
	switch {
	case s.Kind != history.RunAgent:
		return cli.Errorf(cli.ExitUsage, "%s is not the run of an agent, but of a %s; only agents' "+
			"runs can be forked", s.WorkflowID, s.Kind)
	case s.Parent != nil:
		return cli.Errorf(cli.ExitUsage, "%s is the run of a sub-agent; fork the run above it: %s",
			s.WorkflowID, a.Connection.Invocation().Command("fork", s.Parent.WorkflowID)+" --at "+
				s.Parent.Call)
	}
	return nil
}

// prompt returns the prompt of a run, which a forked run has of its source.
func prompt(in api.RunInput) string {
	if in.Fork != nil {
		return in.Fork.Prompt
	}
	return in.Prompt
}

// input returns the input of the forked run.
func (f Fork) input(in api.RunInput, s history.Summary, taken fork.Taken) api.RunInput {
	text := prompt(in)
	if f.Prompt != nil {
		text = *f.Prompt
	}
	return api.RunInput{Agent: in.Agent, Variables: in.Variables, Mode: in.Mode,
		Priority: in.Priority, DryRun: in.DryRun,
		Fork: &api.Fork{WorkflowID: s.WorkflowID, RunID: s.Run, At: f.At, Turn: taken.Turn,
			Before: taken.Before, Calls: taken.Calls, Pending: taken.Pending,
			Prompt: strings.ToValidUTF8(text[:min(len(text), maxForkPrompt)], "")}}
}

// observe replays an execution of an agent's run with an observer, and returns its input.
func (r recorded) observe(o *fork.Observer) (in api.RunInput, err error) {
	agent, ok := workflows.All()[api.AgentWorkflow].(workflows.AgentRun)
	if !ok {
		return in, errors.New("the workflow of agents has another type")
	}
	if !decided(r.history) {
		return in, nil
	}
	err = r.replayWith(api.AgentWorkflow, func(ctx workflow.Context, given *api.RunInput,
		earlier []byte) (*api.RunResult, error) {
		if given != nil {
			in = *given
		}
		return agent(fork.With(ctx, o), given, earlier)
	})
	return in, err
}
