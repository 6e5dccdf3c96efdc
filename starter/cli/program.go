package cli

import (
	"context"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/switchyard/switchyard/internal/buildinfo"
	"github.com/switchyard/switchyard/internal/flagerrors"
	"github.com/switchyard/switchyard/internal/panics"
)

// Program describes a root command and its groups of commands.
type Program struct {
	// Long and Example are the root command's help texts.
	Long, Example string
	// Commands lists the command packages. Each function returns the commands of one package.
	Commands []func(*App) []*cobra.Command
	// Features lists the features of runs that have commands, or something to show.
	Features []Feature
}

// Run executes one command line and returns its exit code: 0 done, 1 the run failed, 2 usage or bad
// input, 3 cancelled or interrupted, 4 no connection to the server or no worker for the run. It
// prints errors itself.
func (p Program) Run(ctx context.Context, args []string, stdio Stdio) int {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	a := &App{Stdio: stdio, Again: make(chan error), Run: p.execute}
	go relayInterrupts(ctx, a, cancel)
	return p.execute(ctx, a, args)
}

func (p Program) execute(ctx context.Context, a *App, args []string) (code int) {
	defer panics.Command.Contain(ctx, slog.New(slog.DiscardHandler), func(error) {
		code = a.Report(errInside)
	})
	a.Connection.program, a.Features = a.Program, p.Features
	a.Out, a.Err = visibleTo(a.Out, a), visibleTo(a.Err, a)
	root := p.Root(a)
	root.SetArgs(args)
	root.SetIn(a.In)
	root.SetOut(a.Out)
	root.SetErr(a.Err)
	err := root.ExecuteContext(ctx)
	if err != nil && asksJSON(args) {
		a.Format.Output = OutputJSON // a wrong flag ends the reading of those behind it
	}
	return a.Report(err)
}

// errInside is the error of a command that panicked.
var errInside = Errorf(ExitUsage, "the command failed because of a fault in this program; "+
	"report the command line and the version, see starter --version")

// asksJSON reports whether a command line selects JSON output, even if the rest is invalid.
func asksJSON(args []string) bool {
	for i, arg := range args {
		switch arg {
		case "--":
			return false
		case "--output=json", "-o=json", "-ojson":
			return true
		case "--output", "-o":
			return i+1 < len(args) && args[i+1] == OutputJSON
		}
	}
	return false
}

// takeAgain bounds the time in which a command has to receive a further signal.
const takeAgain = 500 * time.Millisecond

// relayInterrupts cancels ctx on the first signal and sends the causes of further ones to
// App.Again. A command that does not receive one is still ending, or hangs: the process then ends
// at once.
func relayInterrupts(ctx context.Context, a *App, cancel context.CancelCauseFunc) {
	select {
	case s := <-a.Interrupts:
		cancel(signalCause(s))
	case <-ctx.Done():
		return
	}
	for s := range a.Interrupts {
		select {
		case a.Again <- signalCause(s):
		case <-time.After(takeAgain):
			if a.Exit != nil {
				a.Exit(ExitCancelled)
			}
			return
		}
	}
}

// signalCause maps a signal to its cause. Ctrl-C, which a user can repeat deliberately, differs
// from
// signals that programs send, often more than once.
func signalCause(s os.Signal) error {
	if s == os.Interrupt {
		return errInterrupted
	}
	return ErrTerminated
}

// Root returns the root command with all its commands.
func (p Program) Root(a *App) *cobra.Command {
	root := &cobra.Command{
		Use: ProgramName, Short: "Run agents, plans and tool calls durably", Long: p.Long,
		Example:      p.Example,
		SilenceUsage: true, SilenceErrors: true, Version: buildinfo.Read().String(),
		Args: a.UnknownCommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return UsageError(cmd, "%v",
			flagerrors.Explain(cmd.Flags(), err))
	})
	root.SetUsageTemplate(usageTemplate(root.UsageTemplate()))
	root.SetVersionTemplate(ProgramName + " {{.Version}}\n")
	root.SetCompletionCommandGroupID(GroupServer)
	root.PersistentPreRunE = func(cmd *cobra.Command,
		_ []string) error {
		return a.Format.check(cmd)
	}
	a.Format.add(root.PersistentFlags())
	a.Connection.add(root.PersistentFlags())
	root.AddGroup(&cobra.Group{ID: GroupStart, Title: "Start a run:"}, &cobra.Group{ID: GroupRuns,
		Title: "Follow and inspect runs:"},
		&cobra.Group{ID: GroupServer, Title: "Tools, servers, workers:"})
	for _, commands := range p.Commands {
		root.AddCommand(commands(a)...)
	}
	for _, f := range p.Features {
		root.AddCommand(f.Commands(a)...)
	}
	return root
}

// usageTemplate returns cobra's template without the flags that all commands have, except in the
// help of the root.
func usageTemplate(of string) string {
	cobra.AddTemplateFunc("groupFlags", func(c *cobra.Command) string {
		return strings.TrimRight(GroupFlags(c).FlagUsages(), "\n")
	})
	before, rest, _ := strings.Cut(of, "\n\nGlobal Flags:\n")
	_, after, _ := strings.Cut(rest, "{{end}}")
	return before + globalFlags + "{{end}}" + after + rootExitCodes
}

// GroupFlags returns the flags that a command has from its group, such as those of 'starter tools'.
func GroupFlags(c *cobra.Command) *pflag.FlagSet {
	group := pflag.NewFlagSet("", pflag.ContinueOnError)
	c.InheritedFlags().VisitAll(func(f *pflag.Flag) {
		if c.Root().PersistentFlags().Lookup(f.Name) == nil {
			group.AddFlag(f)
		}
	})
	return group
}

const (
	globalFlags = `{{with groupFlags .}}
{{.}}{{end}}

All commands have the flags that {{.Root.Name}} --help lists: server, payloads and output.`
	rootExitCodes = `{{if not .HasParent}}
Exit codes: 0 done, 1 the run failed, 2 usage or bad input, 3 cancelled or interrupted,
4 no connection to the server, or no worker for the run.
{{end}}`
)
