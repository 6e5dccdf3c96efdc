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
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/starter/internal/cli"
	"github.com/switchyard/switchyard/starter/internal/runlist"
	"github.com/switchyard/switchyard/starter/internal/specfiles"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
)

const (
	// maxInput bounds a run's JSON input together with its earlier messages.
	maxInput = api.MaxInputs
	// maxScheduled bounds the input that a schedule keeps: servers do not describe a schedule of
	// more than 2,000,000 bytes.
	maxScheduled = api.MaxPayload
)

// startFlags are the flags of the commands that start a run.
type startFlags struct {
	id, conversation, caller string
	mode, queue, priority    string
	catalog                  specfiles.Flags
	variables                []string
	ifBusy                   string
	detach, dryRun           bool
	cancelOnInterrupt        bool
	workerTimeout            time.Duration
}

// add adds all flags. conversation is the help text of --conversation.
func (s *startFlags) add(cmd *cobra.Command, conversation string) {
	f := cmd.Flags()
	f.StringVar(&s.id, "id", "", "`ID` of the run (default: its name and 8 random digits)")
	f.StringVarP(&s.id, "workflow-id", "w", "",
		"alias of --id with the run's `ID`, as in the Temporal CLI")
	f.BoolVar(&s.detach, "detach", false, "print the run's ID and do not wait for its end")
	f.BoolVar(&s.cancelOnInterrupt, "cancel-on-interrupt", false,
		"cancel the run at the first Ctrl-C (default: at the second)")
	f.DurationVar(&s.workerTimeout, workerTimeoutFlag, 0,
		"stop waiting after this `duration` without a worker for the run; 0 waits forever (default: 0 on a terminal, else 1m0s)")
	s.addInput(cmd, conversation)
}

const (
	workerTimeoutFlag = "worker-timeout"
	// pipedTimeout is the default of --worker-timeout for programs, which cannot start a worker.
	pipedTimeout = time.Minute
)

// awaitsWorker returns how long the command waits for a worker; zero for any time.
func (s *startFlags) awaitsWorker(a *cli.App, cmd *cobra.Command) time.Duration {
	if cmd.Flags().Changed(workerTimeoutFlag) || cli.IsTerminal(a.Out) || cli.IsTerminal(a.Err) {
		return s.workerTimeout
	}
	return pipedTimeout
}

// addInput adds the flags of a run's input.
func (s *startFlags) addInput(cmd *cobra.Command, conversation string) {
	f := cmd.Flags()
	f.StringVar(&s.conversation, "conversation", "", conversation)
	f.StringVarP(&s.queue, "task-queue", "t", api.DefaultTaskQueue,
		"task `queue` of the workers that run it")
	f.StringVar(&s.caller, "caller", "",
		"`name` of the person or program that starts the run (default: the current user)")
	f.StringArrayVar(&s.variables, "var", nil,
		"run variable `name=value` for tools, value as JSON or text; repeatable")
	f.StringVar(&s.mode, "mode", "",
		"validation `mode` of arguments: strict or lenient (default: from the file or the tools)")
	f.StringVar(&s.priority, "priority", "",
		"`priority` of calls and model steps: urgent, high, normal or low (default: from the plan's calls and the tools)")
	s.catalog.Add(f, "that names are checked against before anything starts (default ./tools if it holds toolspecs)")
}

// conversationOfAny is the help text of --conversation for runs that cannot continue a
// conversation.
const conversationOfAny = "`ID` of the run's conversation (default: its own)"

// start is a run to be started.
type start struct {
	// earlier is the encoded conversation before the prompt.
	earlier  []byte
	kind     api.CallerType
	workflow string
	// exclusive gives the run its conversation's workflow ID, which admits one run at a time. wait
	// makes it wait until no other run is open.
	exclusive, wait bool
	// ownConversation is set if the run's ID, and with it its own conversation's ID, is assigned at
	// the start.
	ownConversation bool
	// name is the agent's, plan's or tool's name.
	name   string
	prompt string
	input  api.RunInput
	id     string
	queue  string
	// pairs are a direct call's arguments as typed.
	pairs []string
}

// newStart builds a run from a command and its flags.
func (s *startFlags) newStart(cmd *cobra.Command, kind api.CallerType, workflow,
	name string) (*start, error) {
	mode := api.Mode(s.mode)
	if mode != "" && mode != api.ModeStrict && mode != api.ModeLenient {
		return nil, cli.UsageError(cmd, "--mode %q is not one of strict, lenient", s.mode)
	}
	priority := api.Priority(s.priority)
	if priority != "" && !slices.Contains(api.Priorities, priority) {
		return nil, cli.UsageError(cmd, "--priority %q is not one of urgent, high, normal, low",
			s.priority)
	}
	if s.workerTimeout < 0 {
		return nil, cli.UsageError(cmd, "--%s %s is negative", workerTimeoutFlag, s.workerTimeout)
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
		id: cmp.Or(s.id, name+"-"+cli.RandomHex(4)),
		input: api.RunInput{
			Conversation: s.conversation, Variables: variables, Mode: mode, Priority: priority,
			DryRun: s.dryRun,
			Caller: api.Caller{Type: api.CallerDirect, ID: cmp.Or(s.caller, cli.CurrentUser())},
		},
	}, nil
}

// checkNames rejects names that cannot be sent or searched.
func (s *startFlags) checkNames(cmd *cobra.Command) error {
	for flag, value := range map[string]string{"--conversation": s.conversation,
		"--caller": s.caller, "--id": s.id} {
		if len(value) > api.MaxAttribute {
			return cli.UsageError(cmd, "%s has %d bytes; at most %d are searchable", flag,
				len(value), api.MaxAttribute)
		}
	}
	if !api.Sendable(s.id) {
		return cli.UsageError(cmd, "--id %q is not valid: use letters, digits and _ - . : /", s.id)
	}
	if s.catalog.LanesFile != "" { // be it that no tool is looked up
		if _, err := s.catalog.LaneSet(); err != nil {
			return err
		}
	}
	return s.catalog.Check(cmd)
}

// beginRun starts the run on the server and returns its execution ID.
func beginRun(ctx context.Context, a *cli.App, c client.Client, s *start) (runID string,
	err error) {
	if err := s.checkSize(maxInput); err != nil {
		return "", err
	}
	if err := checkReadable(ctx, a, c, s.queue); err != nil {
		return "", err
	}
	attributes, err := searchAttributes(ctx, a, c, s)
	if err != nil {
		return "", err
	}
	if s.exclusive {
		return beginInTurn(ctx, a, c, s, attributes)
	}
	runID, err = s.execute(ctx, c, attributes)
	if _, taken := errors.AsType[*serviceerror.WorkflowExecutionAlreadyStarted](err); taken {
		return "", s.taken(a.Connection.Invocation().Command("show", s.id))
	}
	return runID, err
}

// taken returns an error that a run with the ID exists. show is the command that shows it.
func (s *start) taken(show string) error {
	if s.input.FromDryRun != nil {
		return cli.Errorf(cli.ExitUsage,
			"the run %q already ran this plan; the plan of a dry run runs once, and nothing was started\nShow that run: %s",
			s.id, show)
	}
	return cli.Errorf(cli.ExitUsage,
		"the run %q already exists; nothing was started\nPass another --id, or show that run: %s",
		s.id, show)
}

// execute sends one start request to the server.
func (s *start) execute(ctx context.Context, c client.Client,
	attributes temporal.SearchAttributes) (runID string, err error) {
	// A run ID is never reused, so that records stay findable. A conversation's ID names one open
	// run at a time.
	reuse := enumspb.WORKFLOW_ID_REUSE_POLICY_REJECT_DUPLICATE
	if s.exclusive {
		reuse = enumspb.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE
	}
	run, err := c.ExecuteWorkflow(ctx, client.StartWorkflowOptions{
		ID: s.id, TaskQueue: s.queue, StaticSummary: s.summary(), TypedSearchAttributes: attributes,
		Priority:                                 s.rank(),
		WorkflowTaskTimeout:                      api.WorkflowTaskTimeout,
		WorkflowIDReusePolicy:                    reuse,
		WorkflowIDConflictPolicy:                 enumspb.WORKFLOW_ID_CONFLICT_POLICY_FAIL,
		WorkflowExecutionErrorWhenAlreadyStarted: true,
	}, s.workflow, s.inputs()...)
	if err != nil {
		return "", err
	}
	return run.GetRunID(), nil
}

// inputs returns the workflow's arguments. An agent's earlier messages are a separate argument.
func (s *start) inputs() []any {
	if s.earlier == nil {
		return []any{s.input}
	}
	return []any{s.input, s.earlier}
}

// rank returns the workflow's priority. The server applies it to all activities and child runs
// without their own.
func (s *start) rank() temporal.Priority {
	p := temporal.Priority{FairnessKey: api.FairnessKey(s.input.Conversation)}
	if s.input.Priority != "" {
		p.PriorityKey = s.input.Priority.Level()
	}
	return p
}

// summary returns the line that lists and the Web UI show for the run.
func (s *start) summary() string {
	what := string(s.kind)
	if s.kind == api.CallerDirect {
		what = "call"
	}
	return api.RunSummary(what, s.name, s.prompt)
}

// checkSize returns an error if the input has more bytes than the limit.
func (s *start) checkSize(limit int) error {
	data, err := json.Marshal(s.input)
	if err != nil {
		return cli.Errorf(cli.ExitUsage, "the run's input cannot be written as JSON: %w", err)
	}
	if len(data)+len(s.earlier) > limit {
		return cli.Errorf(cli.ExitUsage,
			"the run's input has %d bytes, its earlier messages %d (compressed); the limit is %d together\nShorten the prompt, the messages, the variables or the file.",
			len(data), len(s.earlier), limit)
	}
	return nil
}

// searchAttributes returns the run's attributes that the server has registered and reports how to
// register the others. The run receives the list of attributes it can set.
func searchAttributes(ctx context.Context, a *cli.App, c client.Client,
	s *start) (temporal.SearchAttributes, error) {
	known, err := runlist.Registered(ctx, c, a.Connection.ResolvedNamespace)
	if err != nil {
		return temporal.SearchAttributes{}, err
	}
	values := map[string]string{
		api.AttributeKind:         string(s.kind),
		api.AttributeCaller:       s.input.Caller.ID,
		api.AttributeConversation: cmp.Or(s.input.Conversation, s.id),
	}
	if s.ownConversation {
		delete(values, api.AttributeConversation)
	}
	if s.kind == api.CallerAgent {
		values[api.AttributeAgent] = s.name
	}
	s.input.Attributes = known.Kept()
	var updates []temporal.SearchAttributeUpdate
	missing := false
	for name, value := range values {
		if known[name] != enumspb.INDEXED_VALUE_TYPE_KEYWORD {
			missing = true
			continue
		}
		updates = append(updates, temporal.NewSearchAttributeKeyKeyword(name).ValueSet(value))
	}
	if missing {
		fmt.Fprintln(a.Err, "starter: the namespace lacks Switchyard's search attributes, so runs cannot be searched by agent or conversation; register them once: "+
			a.Connection.Invocation().Command("setup"))
	}
	return temporal.NewSearchAttributes(updates...), nil
}
