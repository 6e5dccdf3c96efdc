package runs

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/runstart/attributes"
	"github.com/switchyard/switchyard/internal/value/display"
	"github.com/switchyard/switchyard/starter/cli"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
)

func scheduleCommand(a *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use: "schedule", GroupID: cli.GroupServer, Short: "Start runs on a schedule",
		Long: `Schedules start runs automatically. The server keeps them, and only workers need to run. A run
of a schedule is an ordinary run; its ID is the schedule's name with the scheduled time.`,
		Example: `  starter schedule create nightly --agent librarian.yaml --prompt "What is new?" --cron "0 3 * * *"
  starter schedule list
  starter schedule show nightly`,
		Args: a.UnknownCommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(scheduleCreateCommand(a), scheduleListCommand(a), scheduleShowCommand(a),
		scheduleTriggerCommand(a), scheduleDeleteCommand(a))
	return cmd
}

// scheduleFlags are the flags of a new schedule.
type scheduleFlags struct {
	startFlags
	timeFlags
	agent, prompt, plan, call string
	overlap                   string
}

func (s *scheduleFlags) add(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&s.agent, "agent", "", "`file` of the agent to run")
	f.StringVar(&s.prompt, "prompt", "", "`text` of the agent's prompt")
	f.StringVar(&s.plan, "plan", "", "`file` of the plan to run in place of an agent")
	f.StringVar(&s.call, "call", "",
		"`tool` to call in place of an agent, with its arguments after NAME")
	s.timeFlags.add(cmd)
	f.StringVar(&s.overlap, "overlap-policy", "Skip",
		"`policy` while the previous run is active: "+overlapPolicies)
	s.addInput(cmd, "`ID` of the conversation that an agent's runs continue, one after the other; other runs only belong to it")
}

// overlapPolicies are the values of --overlap-policy, as the Temporal CLI spells them.
const overlapPolicies = "Skip, BufferOne, BufferAll, CancelOther, TerminateOther or AllowAll"

func scheduleCreateCommand(a *cli.App) *cobra.Command {
	var flags scheduleFlags
	cmd := &cobra.Command{
		Use: "create NAME [ARGUMENTS…]", Short: "Create a schedule",
		Long: `Creates a schedule that runs an agent (--agent), a plan (--plan) or one call (--call, with its
arguments after NAME).

The files are read and checked now. Later edits have no effect: delete the schedule and create
it again. Tools are those of the workers at each run's start.

With --conversation each run of an agent continues the conversation of the previous one. If
another run of the conversation is active when a run is due, that run is not started and the
schedule's run of that time fails.

The command prints the next starts, in the schedule's time zone. A cron expression has exactly five
fields of numbers, names, *, ranges, lists and steps. If it limits the day of the month and the day
of the week, both have to match; crontab starts on either.`,
		Example: `  starter schedule create nightly --agent librarian.yaml --prompt "What is new?" --cron "0 3 * * *" --time-zone Europe/Berlin
  starter schedule create pulse --call http_get url=https://example.com/health --interval 5m
  starter schedule create totals --plan totals.yaml --cron "0 18 * * fri" --overlap-policy BufferOne
  starter schedule create diary --agent diary.yaml --prompt "Go on." --interval 24h --conversation diary`,
		Args: cli.Arguments(1, "NAME", "ARGUMENTS…"),
		RunE: func(cmd *cobra.Command, args []string) error {
			options, err := scheduleOptions(a, cmd, &flags, args)
			if err != nil {
				return err
			}
			return a.WithClient(cmd, func(ctx context.Context,
				c client.Client) error {
				return createSchedule(ctx, a, c, options)
			})
		},
	}
	flags.add(cmd)
	return cmd
}

// newSchedule is a schedule to be created.
type newSchedule struct {
	options client.ScheduleOptions
	start   *start
	about   scheduleAbout
}

// scheduleAbout is the schedule's memo, which identifies schedules created by starter.
type scheduleAbout struct {
	Kind         string `json:"kind"`
	Name         string `json:"name"`
	Conversation string `json:"conversation,omitempty"`
	When         string `json:"when"`
}

// scheduleMemo is the memo's key.
const scheduleMemo = "switchyard"

func scheduleOptions(a *cli.App, cmd *cobra.Command, flags *scheduleFlags,
	args []string) (*newSchedule, error) {
	name := args[0]
	if !display.Sendable(name) || len(name) > api.MaxAttribute {
		return nil, cli.UsageError(cmd,
			"the name %q is not valid: use letters, digits and _ - . : /", name)
	}
	spec, err := flags.spec(cmd)
	if err != nil {
		return nil, err
	}
	overlap, err := enumspb.ScheduleOverlapPolicyFromString(flags.overlap)
	if err != nil {
		return nil, cli.UsageError(cmd, "--overlap-policy %q is not one of %s", flags.overlap,
			overlapPolicies)
	}
	s, err := scheduledStart(a, cmd, flags, args)
	if err != nil {
		return nil, err
	}
	s.id = name
	about := scheduleAbout{Kind: string(s.kind), Name: s.name, Conversation: s.input.Conversation,
		When: flags.words()}
	return &newSchedule{start: s, about: about, options: client.ScheduleOptions{
		ID: name, Spec: spec, Overlap: overlap, Memo: map[string]any{scheduleMemo: about},
	}}, nil
}

// scheduledStart builds the run that a schedule starts, as run, plan or call would.
func scheduledStart(a *cli.App, cmd *cobra.Command, flags *scheduleFlags, args []string) (*start,
	error) {
	given := cli.NonEmpty([]string{flags.agent, flags.plan, flags.call})
	switch {
	case len(given) != 1:
		return nil, cli.UsageError(cmd, "pass exactly one of --agent, --plan and --call")
	case flags.call == "" && len(args) > 1:
		return nil, cli.UsageError(cmd, "unexpected argument %q", args[1])
	case flags.agent == "" && flags.prompt != "":
		return nil, cli.UsageError(cmd, "--prompt requires --agent")
	case flags.plan != "":
		return planStart(a, cmd, &flags.startFlags, flags.plan)
	case flags.call != "":
		return callStart(a, cmd, &flags.startFlags, append([]string{flags.call}, args[1:]...))
	}
	var prompt []string
	if cmd.Flags().Changed("prompt") {
		prompt = []string{flags.prompt}
	}
	return agentStart(a, cmd, &flags.startFlags, flags.agent, prompt)
}

func createSchedule(ctx context.Context, a *cli.App, c client.Client, n *newSchedule) error {
	s, r := n.start, a.Connection.Invocation()
	if err := s.checkSize(maxScheduled); err != nil {
		return err
	}
	request := s.request()
	request.OwnConversation = s.input.Conversation == ""
	known, err := attributes.List(ctx, c, a.Connection.ResolvedNamespace)
	if err != nil {
		return err
	}
	set, missing := request.Attributes(known)
	TellMissing(a, missing)
	workflow := s.workflow
	if s.exclusive {
		workflow = api.ScheduledWorkflow
	}
	n.options.Action = &client.ScheduleWorkflowAction{ID: s.id, Workflow: workflow,
		Args: request.Arguments(), TaskQueue: s.queue,
		WorkflowTaskTimeout:   api.WorkflowTaskTimeout,
		TypedSearchAttributes: set, StaticSummary: request.Summary(),
		Priority: request.Priority()}
	created, err := c.ScheduleClient().Create(ctx, n.options)
	if errors.Is(err, temporal.ErrScheduleAlreadyRunning) {
		return cli.Errorf(cli.ExitUsage,
			"the schedule %q already exists; nothing was created\nShow it: %s; delete it: %s", s.id,
			r.Command("schedule", "show", s.id), r.Command("schedule", "delete", s.id))
	}
	if refused, ok := errors.AsType[*serviceerror.InvalidArgument](err); ok {
		return cli.Errorf(cli.ExitUsage,
			"the server rejects this schedule (%s): %s\nCorrect --cron, --interval or --time-zone.",
			n.about.When, refused.Message)
	}
	if err != nil {
		return err
	}
	if slices.ContainsFunc(n.options.Spec.CronExpressions, bothDays) {
		fmt.Fprintln(a.Err, "note: day of month and day of week both have to match; crontab starts on "+
			"either")
	}
	return tellCreated(ctx, a, c, created)
}

// tellCreated shows a new schedule. One without a next start is warned about.
func tellCreated(ctx context.Context, a *cli.App, c client.Client, h client.ScheduleHandle) error {
	s, err := describeSchedule(ctx, h, c)
	if err != nil {
		return err
	}
	if len(s.Next) == 0 {
		fmt.Fprintln(a.Err, "warning: the schedule never starts a run: no time matches")
	}
	return s.print(a)
}

// tellSchedule prints what was done to a schedule.
func tellSchedule(a *cli.App, name, done, words string) error {
	if a.Format.JSON() {
		return cli.WriteJSON(a.Out, map[string]string{"schedule": name, "done": done}, false)
	}
	return a.Println("schedule " + name + " " + words)
}

// onSchedule connects and calls f for one schedule.
func onSchedule(a *cli.App, cmd *cobra.Command, name string, f func(context.Context,
	client.ScheduleHandle, client.Client) error) error {
	return a.WithClient(cmd, func(ctx context.Context, c client.Client) error {
		err := f(ctx, c.ScheduleClient().GetHandle(ctx, name), c)
		if cli.IsNotFound(err) {
			return cli.Errorf(cli.ExitFailed, "the schedule %q does not exist\nList schedules: %s",
				name, a.Connection.Invocation().Command("schedule", "list"))
		}
		return err
	})
}

func scheduleTriggerCommand(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use: "trigger NAME", Short: "Start a run of a schedule now",
		Long: `Starts a run of a schedule now, in addition to the scheduled ones. If the previous run is
still active, the schedule's --overlap-policy applies.`,
		Example: "  starter schedule trigger nightly",
		Args:    cli.Arguments(1, "NAME"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return onSchedule(a, cmd, args[0], func(ctx context.Context, h client.ScheduleHandle,
				_ client.Client) error {
				if err := h.Trigger(ctx, client.ScheduleTriggerOptions{}); err != nil {
					return err
				}
				return tellSchedule(a, args[0], "triggered", "is triggered; see its runs: "+
					a.Connection.Invocation().Command("schedule", "show", args[0]))
			})
		},
	}
}

func scheduleDeleteCommand(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use: "delete NAME", Short: "Delete a schedule",
		Long:    `Deletes a schedule. Runs that it started are not affected.`,
		Example: `  starter schedule delete nightly`,
		Args:    cli.Arguments(1, "NAME"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return onSchedule(a, cmd, args[0], func(ctx context.Context, h client.ScheduleHandle,
				_ client.Client) error {
				if err := h.Delete(ctx); err != nil {
					return err
				}
				return tellSchedule(a, args[0], "deleted", "is deleted")
			})
		},
	}
}
