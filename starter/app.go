package main

import (
	"context"
	"io"
	"os"
	"os/signal"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

// Stdio is what a command reads, writes and is interrupted by.
type Stdio struct {
	In       io.Reader
	Out, Err io.Writer
	// Interrupts carries signals: the first ends what a command waits for, further ones insist. May be nil.
	Interrupts <-chan os.Signal
	// Program is how starter was called, for the commands that are shown; empty is starter.
	Program string
}

// app is one invocation of starter.
type app struct {
	Stdio
	connection connectionFlags
	format     formatFlags
	// again hands on what every signal after the first means.
	again chan error
	// served are the tools of the worker that 'starter dev' runs this command against.
	served []string
}

// Run executes one command line and returns the exit code: 0 done, 1 the run failed, 2 usage or bad input, 3 cancelled
// or interrupted, 4 no connection to the server. It prints errors itself.
func Run(ctx context.Context, args []string, stdio Stdio) int {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	a := &app{Stdio: stdio, again: make(chan error)}
	go a.relayInterrupts(ctx, cancel)
	return a.execute(ctx, args)
}

func (a *app) execute(ctx context.Context, args []string) int {
	a.connection.program = a.Program
	root := a.rootCommand()
	calledAs(root, a.connection.called())
	root.SetArgs(args)
	root.SetIn(a.In)
	root.SetOut(a.Out)
	root.SetErr(a.Err)
	err := root.ExecuteContext(ctx)
	if err != nil && asksJSON(args) {
		a.format.output = outputJSON // a wrong flag ends the reading of those behind it
	}
	return a.report(err)
}

// programName is starter's own.
const programName = "starter"

// calledAs has help and errors show the commands as they can be typed.
func calledAs(root *cobra.Command, program string) {
	if program == programName {
		return
	}
	root.Annotations = map[string]string{cobra.CommandDisplayNameAnnotation: program}
	for _, c := range withSubcommands(root) {
		c.Example = strings.ReplaceAll(c.Example, programName+" ", program+" ")
	}
}

// asksJSON reports whether a command line asks for JSON, however wrong the rest of it is.
func asksJSON(args []string) bool {
	for i, arg := range args {
		switch arg {
		case "--":
			return false
		case "--output=json", "-o=json", "-ojson":
			return true
		case "--output", "-o":
			return i+1 < len(args) && args[i+1] == outputJSON
		}
	}
	return false
}

// relayInterrupts turns the first signal into the end of ctx and hands further ones to whoever waits for again. Where
// nobody does, the next one is left to the system, which ends the process.
func (a *app) relayInterrupts(ctx context.Context, cancel context.CancelCauseFunc) {
	select {
	case s := <-a.Interrupts:
		cancel(meaning(s))
	case <-ctx.Done():
		return
	}
	for s := range a.Interrupts {
		select {
		case a.again <- meaning(s):
		case <-time.After(100 * time.Millisecond):
			signal.Reset()
		}
	}
}

// meaning tells Ctrl-C, which a person can insist on, from signals that programs send, often more than once.
func meaning(s os.Signal) error {
	if s == os.Interrupt {
		return errInterrupted
	}
	return errTerminated
}

const rootHelp = `starter starts, follows and inspects runs on a Temporal server: agents, plans and single tool calls.

Every run is one Temporal workflow, every tool call one activity of it. Connection flags and TEMPORAL_* variables are
those of the Temporal CLI, and so is the file that profiles are read from.`

const rootExamples = `  starter dev                                       a server, its Web UI and a worker on this machine
  starter run agent.yaml "How many files are here?"  run an agent and watch it
  starter call calculator expression='2*(3+4)'      one call of one tool
  starter list                                      the newest runs
  starter audit RUN                                 what every call of a run did`

const rootExitCodes = `
Exit codes: 0 done, 1 the run failed, 2 usage or bad input, 3 cancelled or interrupted, 4 no connection to the server.
`

func (a *app) rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use: programName, Short: "Run agents, plans and tool calls durably", Long: rootHelp, Example: rootExamples,
		SilenceUsage: true, SilenceErrors: true,
		Args: a.unknownCommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error { return usageError(cmd, "%v", flagProblem(cmd, err)) })
	root.SetUsageTemplate(root.UsageTemplate() + rootExitCodes)
	root.CompletionOptions.DisableDefaultCmd = true
	root.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error { return a.format.check(cmd) }
	a.format.add(root.PersistentFlags())
	a.connection.add(root.PersistentFlags())
	root.AddGroup(&cobra.Group{ID: groupStart, Title: "Start a run:"}, &cobra.Group{ID: groupRuns, Title: "Follow and inspect runs:"},
		&cobra.Group{ID: groupServer, Title: "Tools, servers, workers:"})
	a.addCommands(root)
	a.addDecisions(root)
	a.addCompletion(root)
	return root
}

// The groups of commands in the help.
const (
	groupStart  = "start"
	groupRuns   = "runs"
	groupServer = "house"
)

func (a *app) addCommands(root *cobra.Command) {
	for group, commands := range map[string][]*cobra.Command{
		groupStart: {a.runCommand(), a.planCommand(), a.callCommand()},
		groupRuns: {a.watchCommand(), a.listCommand(), a.showCommand(), a.auditCommand(), a.sendCommand(), a.pauseCommand(), a.resumeCommand(),
			a.cancelCommand(), a.questionsCommand(), a.answerCommand(), a.recordsCommand(), a.timelineCommand(), a.reportCommand(), a.conversationCommand(),
			a.evaluateCommand(), a.tracesCommand()},
		groupServer: {a.toolsCommand(), a.lanesCommand(), a.policyCommand(), a.scheduleCommand(), a.doctorCommand(), a.setupCommand(), a.devCommand(), a.codecCommand(),
			a.payloadCommand(), a.completionCommand()},
	} {
		for _, c := range commands {
			c.GroupID = group
			root.AddCommand(c)
		}
	}
}

// unknownCommand refuses a word that is no command, with the commands it may have meant.
func (a *app) unknownCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	hint := ""
	cmd.SuggestionsMinimumDistance = 2
	if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
		hint = "; did you mean " + strings.Join(near, " or ") + "?"
	}
	return usageError(cmd, "there is no command %q%s", args[0], hint)
}

// arguments checks the number of a command's positional arguments; names are those it takes, the first need of them
// required. A last name that ends in … takes any number.
func arguments(need int, names ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) < need {
			return usageError(cmd, "%s is missing", names[len(args)])
		}
		open := len(names) > 0 && strings.HasSuffix(names[len(names)-1], "…")
		if len(args) > len(names) && !open {
			return usageError(cmd, "unexpected argument %q", args[len(names)])
		}
		return nil
	}
}
