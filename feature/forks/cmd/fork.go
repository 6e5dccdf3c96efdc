package cmd

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/feature/forks"
	"github.com/switchyard/switchyard/feature/forks/run"
	"github.com/switchyard/switchyard/internal/runstart"
	"github.com/switchyard/switchyard/internal/value/display"
	"github.com/switchyard/switchyard/starter/cli"
	"github.com/switchyard/switchyard/starter/runs"
	"github.com/switchyard/switchyard/toolspecs/policies"
	"go.temporal.io/sdk/client"
)

const forkHelp = `Starts a new run from a point of an agent's run. The new run takes over the conversation,
the labels and the results of calls up to that point from the history, and goes on live from
there. The source may be open or closed, and is not affected.

--at 3 begins before the model step of turn 3. --at 3.2 begins with the call 3.2: the model's
answer of turn 3 and the results of the calls before 3.2 are taken over.

Nothing before the point is executed again. After it, a call with effect once that the source has
made with the same arguments is not executed either: it gets the source's outcome. Calls that need
an approval ask for it again. The new run pins tools and rules as they are now, and its tokens,
cost and calls count from zero.

--edit changes what is taken over: the result of a call (1.2=VALUE), prompt=TEXT, model=NAME,
turns=N for the maximum number of turns with those of the source, policies=FILE for the agent's own
rules, or agent=FILE. A VALUE or TEXT of the form @file is read from a file.`

// forkFlags are the flags of fork.
type forkFlags struct {
	runs.Flags
	at, message    string
	edits          []string
	freshInstances bool
}

func forkCommand(a *cli.App) *cobra.Command {
	f := &forkFlags{}
	cmd := &cobra.Command{
		Use: "fork RUN", Short: "Start a run from a point of another run", GroupID: cli.GroupStart,
		Long: forkHelp,
		Example: `  starter fork demo-1a2b3c4d --at 3
  starter fork demo-1a2b3c4d --at 3 --edit 2.1='{"price": 12}' --dry-run
  starter fork demo-1a2b3c4d --at 3.2 --edit model=gpt-5-mini --detach
  starter fork demo-1a2b3c4d --at 1 --edit prompt=@task.txt --edit policies=policies.yaml`,
		Args: cli.Arguments(1, "RUN"),
		RunE: func(cmd *cobra.Command, args []string) error {
			wanted, err := f.parse(a, cmd)
			if err != nil {
				return err
			}
			return a.OnRun(func(ctx context.Context, c client.Client, run *cli.RunRef) error {
				return f.start(ctx, a, c, run, wanted)
			})(cmd, args)
		},
	}
	f.add(cmd)
	return cmd
}

func (f *forkFlags) add(cmd *cobra.Command) {
	s := cmd.Flags()
	s.StringVar(&f.at, "at", "",
		"`point` from which on the new run is live: a turn, such as 3, or a call, such as 3.2")
	s.StringArrayVar(&f.edits, "edit", nil,
		"`name=value` that differs from the source: a call's result, prompt, model, turns, policies or agent; repeatable")
	s.StringVar(&f.message, "message", "", "`text` of a user's message that is added at the point")
	s.BoolVar(&f.freshInstances, "fresh-instances", false,
		"make new instances of stateful tools where the history has no snapshot")
	f.Add(s)
}

// wantedFork is what the flags ask for.
type wantedFork struct {
	point
	model    string
	turns    int
	agent    *api.Agent
	policies []api.PolicyRule
	edited   []string
}

var pointForm = regexp.MustCompile(`^[1-9][0-9]*(\.[1-9][0-9]*)?$`)

// parse checks the flags and reads the files that they name.
func (f *forkFlags) parse(a *cli.App, cmd *cobra.Command) (*wantedFork, error) {
	if err := f.check(cmd); err != nil {
		return nil, err
	}
	w := &wantedFork{point: point{f.at, run.Edits{Results: map[string][]byte{},
		FreshInstances: f.freshInstances}}}
	for _, edit := range f.edits {
		name, value, err := cli.SplitPair(edit)
		if err == nil && slices.Contains(w.edited, name) {
			err = fmt.Errorf("%s is given twice", name)
		}
		if err != nil {
			return nil, cli.UsageError(cmd, "--edit %v", err)
		}
		if err := f.edit(a, cmd, w, name, value); err != nil {
			return nil, err
		}
		w.edited = append(w.edited, name)
	}
	if f.message != "" {
		w.edited = append(w.edited, "message")
	}
	return w, nil
}

// check rejects values of flags that no run accepts.
func (f *forkFlags) check(cmd *cobra.Command) error {
	switch {
	case f.at == "":
		return cli.UsageError(cmd,
			"--at is missing: pass a turn, such as 3, or a call, such as 3.2")
	case !pointForm.MatchString(f.at):
		return cli.UsageError(cmd,
			"--at %q is neither a turn, such as 3, nor a call, such as 3.2", f.at)
	case f.message != "" && strings.Contains(f.at, "."):
		return cli.UsageError(cmd,
			"--message requires a turn for --at: a message cannot stand between calls")
	}
	return runs.CheckCaller(cmd, f.Caller)
}

// edit takes one value of --edit.
func (f *forkFlags) edit(a *cli.App, cmd *cobra.Command, w *wantedFork, name,
	value string) (err error) {
	switch {
	case name == "prompt":
		value, err = valueOrFile(value)
		w.Prompt = &value
	case name == "model":
		w.model = value
	case name == "turns":
		w.turns, err = parseTurns(cmd, value)
	case name == "agent":
		w.agent, err = runs.LoadAgent(cmd.Context(), a, value)
	case name == "policies":
		set, failed := policies.Load(value)
		if failed != nil {
			return cli.FileError(value, failed)
		}
		w.policies = set.Rules()
	case pointForm.MatchString(name) && strings.Contains(name, "."):
		value, err = valueOrFile(value)
		w.Results[name] = cli.ToJSON(value)
	default:
		return cli.UsageError(cmd, "--edit %s: the name is not a call, such as 1.2, prompt, model, "+
			"turns, policies or agent", name)
	}
	return err
}

func parseTurns(cmd *cobra.Command, value string) (int, error) {
	turns, err := strconv.Atoi(value)
	if err != nil || turns < 1 {
		return 0, cli.UsageError(cmd, "--edit turns=%s: write a whole number above 0", value)
	}
	return turns, nil
}

// valueOrFile returns the content of a file for a value of the form @file, else the value.
func valueOrFile(value string) (string, error) {
	path, isFile := strings.CutPrefix(value, "@")
	if !isFile {
		return value, nil
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return "", cli.FileError(path, err)
	}
	return string(bytes.TrimSuffix(data, []byte("\n"))), nil
}

// start forks the run and follows the new one.
func (f *forkFlags) start(ctx context.Context, a *cli.App, c client.Client, source *cli.RunRef,
	w *wantedFork) error {
	from, err := w.read(ctx, a, c, source)
	if err != nil {
		return err
	}
	from.fork.Edited = w.edited
	r := f.request(&from, w)
	if len(r.ID) > api.MaxAttribute {
		return cli.Errorf(cli.ExitUsage, "%s was not forked: the ID of the fork would have %d bytes; "+
			"at most %d are searchable", source.WorkflowID, len(r.ID), api.MaxAttribute)
	}
	namespace := &runstart.Namespace{Client: c, Name: a.Connection.ResolvedNamespace}
	if storage := a.Connection.Opened; storage != nil {
		namespace.Decode = storage.Decode
	}
	started, err := start(ctx, namespace, r, from.fork, from.state)
	if err != nil {
		return cli.Errorf(cli.ExitFailed, "%s was not forked: %w", source.WorkflowID, err)
	}
	runs.TellMissing(a, started.Missing)
	fmt.Fprintf(a.Err, "forked %s at %s: %s and %s are taken over\n", source.WorkflowID, f.at,
		display.Plural(len(from.state.Messages), "message"),
		display.Plural(from.fork.Calls, "result"))
	return f.Follow(ctx, a, c, runs.Started{ID: r.ID, RunID: started.RunID, Queue: r.Queue,
		DryRun: r.Input.DryRun})
}

// request returns the request that starts the forked run.
func (f *forkFlags) request(from *snapshot, w *wantedFork) *runstart.Request {
	in := from.input
	agent := *cmp.Or(w.agent, in.Agent)
	agent.Model.Name = cmp.Or(w.model, agent.Model.Name)
	agent.Limits.Turns = cmp.Or(w.turns, agent.Limits.Turns)
	if w.policies != nil {
		agent.Policies = w.policies
	}
	in.Agent, in.Prompt = &agent, f.message
	in.DryRun = in.DryRun || f.DryRun
	in.Caller = api.Caller{Type: api.CallerDirect, ID: cmp.Or(f.Caller, runstart.CurrentUser())}
	return &runstart.Request{Kind: api.CallerAgent, Workflow: api.AgentWorkflow, Name: agent.Name,
		ID:    forks.Prefix(from.fork.WorkflowID) + runstart.RandomHex(4),
		Queue: from.queue, Input: in}
}
