package runs

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"github.com/switchyard/switchyard"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/runstart"
	"github.com/switchyard/switchyard/internal/value/display"
	"github.com/switchyard/switchyard/starter/cli"
	"github.com/switchyard/switchyard/starter/internal/specfiles"
	"go.temporal.io/sdk/client"
)

const (
	// maxInput bounds a run's JSON input.
	maxInput = api.MaxInputs
	// maxScheduled bounds the input that a schedule keeps: servers do not describe a schedule of
	// more than 2,000,000 bytes.
	maxScheduled = api.MaxPayload
)

// startFlags are the flags of the commands that start a run.
type startFlags struct {
	Flags
	catalog                  specfiles.Flags
	id, conversation, ifBusy string
	queue, priority          string
	variables                []string
}

// add adds all flags but --dry-run. conversation is the help text of --conversation.
func (s *startFlags) add(cmd *cobra.Command, conversation string) {
	f := cmd.Flags()
	f.StringVar(&s.id, "id", "", "`ID` of the run (default: its name and 8 random digits)")
	s.addDetach(f)
	s.addInput(cmd, conversation)
}

// addInput adds the flags of a run's input.
func (s *startFlags) addInput(cmd *cobra.Command, conversation string) {
	f := cmd.Flags()
	f.StringVar(&s.conversation, "conversation", "", conversation)
	f.StringVarP(&s.queue, "task-queue", "t", api.DefaultTaskQueue,
		"task `queue` of the workers that run it")
	s.addCaller(f)
	f.StringArrayVar(&s.variables, "var", nil,
		"run variable `name=value` for tools, value as JSON or text; repeatable")
	f.StringVar(&s.priority, "priority", "",
		"`priority` of calls and model steps: urgent, high, normal or low (default: from the plan's calls and the tools)")
	f.StringVar(&s.catalog.Dir, "tools", "", "`folder` of toolspecs that names are checked "+
		"against before anything starts (default ./tools if it holds toolspecs)")
}

// conversationOfAny is the help text of --conversation for runs that cannot continue a
// conversation.
const conversationOfAny = "`ID` of the run's conversation (default: its own)"

// start is a run to be started.
type start struct {
	kind     api.CallerType
	workflow string
	// exclusive gives the run its conversation's workflow ID, which admits one run at a time. wait
	// makes it wait until no other run is open.
	exclusive, wait bool
	// name is the agent's, plan's or tool's name.
	name  string
	input api.RunInput
	id    string
	queue string
}

// newStart builds a run from a command and its flags.
func (s *startFlags) newStart(cmd *cobra.Command, kind api.CallerType, workflow,
	name string) (*start, error) {
	priority := api.Priority(s.priority)
	if priority != "" && !slices.Contains(api.Priorities, priority) {
		return nil, cli.UsageError(cmd, "--priority %q is not one of urgent, high, normal, low",
			s.priority)
	}
	variables, err := parseVariables(s.variables)
	if err != nil {
		return nil, cli.UsageError(cmd, "%v", err)
	}
	if err := s.checkNames(cmd); err != nil {
		return nil, err
	}
	return &start{
		kind: kind, workflow: workflow, name: name, queue: s.queue,
		id: cmp.Or(s.id, name+"-"+runstart.RandomHex(4)),
		input: api.RunInput{
			Conversation: s.conversation, Variables: variables, Priority: priority,
			DryRun: s.DryRun,
			Caller: api.Caller{Type: api.CallerDirect,
				ID: cmp.Or(s.Caller, runstart.CurrentUser())},
		},
	}, nil
}

// checkNames rejects names that cannot be sent or searched.
func (s *startFlags) checkNames(cmd *cobra.Command) error {
	err := cmp.Or(checkName(cmd, "--conversation", s.conversation), checkName(cmd, "--id", s.id),
		CheckCaller(cmd, s.Caller))
	if err == nil && !display.Sendable(s.id) {
		err = cli.UsageError(cmd, "--id %q is not valid: use letters, digits and _ - . : /", s.id)
	}
	return err
}

// beginRun starts the run on the server and returns its execution ID.
func beginRun(ctx context.Context, a *cli.App, c client.Client, s *start) (runID string,
	err error) {
	if err := s.checkSize(maxInput); err != nil {
		return "", err
	}
	run, err := a.Client(c).Start(ctx, s.toStart(a))
	if err != nil {
		return "", s.startError(ctx, a, err)
	}
	TellMissing(a, run.MissingAttributes())
	return run.RunID(), nil
}

// toStart returns the run as the API for applications describes it.
func (s *start) toStart(a *cli.App) switchyard.Start {
	in := s.input
	d := switchyard.Start{Agent: in.Agent, Prompt: in.Prompt,
		StartOptions: switchyard.StartOptions{ID: s.id, RefuseExisting: true,
			Conversation: in.Conversation, Caller: in.Caller.ID, TaskQueue: s.queue,
			Variables: in.Variables, Priority: in.Priority, DryRun: in.DryRun,
			Wait: s.wait, OnWait: func(open switchyard.OpenRun) {
				fmt.Fprintf(a.Err, "waiting for the conversation %q: %s\n", s.id,
					aboutRun(open, time.Now()))
			}}}
	if in.Plan != nil {
		d.Plan = &in.Plan.Value
	}
	if in.Call != nil {
		d.Tool, d.Arguments = in.Call.Tool, json.RawMessage(in.Call.Arguments)
	}
	return d
}

// startError explains why a run was not started.
func (s *start) startError(ctx context.Context, a *cli.App, err error) error {
	if s.wait && ctx.Err() != nil {
		return cli.Errorf(cli.ExitCancelled,
			"interrupted while waiting for the conversation %q; nothing was started", s.id)
	}
	refused, ok := errors.AsType[*switchyard.RequestError](err)
	switch {
	case !ok:
		return err
	case refused.Type == switchyard.RunExists:
		return s.taken(a.Connection.Invocation().Command("show", s.id))
	case refused.Type == switchyard.ConversationBusy:
		return busy(a, s, *refused.Open)
	case refused.Type == switchyard.RunUnreadable:
		return cli.Errorf(cli.ExitUsage, "%w", err)
	}
	return err
}

// taken returns an error that a run with the ID exists. show is the command that shows it.
func (s *start) taken(show string) error {
	return cli.Errorf(cli.ExitUsage,
		"the run %q already exists; nothing was started\nPass another --id, or show that run: %s",
		s.id, show)
}

// request returns the run as the server gets it.
func (s *start) request() *runstart.Request {
	return &runstart.Request{Kind: s.kind, Workflow: s.workflow, Name: s.name, ID: s.id,
		Queue: s.queue, Input: s.input}
}

// checkSize returns an error if the input has more bytes than the limit.
func (s *start) checkSize(limit int) error {
	if err := s.request().CheckSize(limit); err != nil {
		return cli.Errorf(cli.ExitUsage, "%w", err)
	}
	return nil
}

// TellMissing reports how to register the search attributes that the namespace lacks.
func TellMissing(a *cli.App, missing []string) {
	if len(missing) > 0 {
		fmt.Fprintln(a.Err, "starter: the namespace lacks Switchyard's search attributes, so runs cannot be searched by agent or conversation; register them once: "+
			a.Connection.Invocation().Command("setup"))
	}
}
