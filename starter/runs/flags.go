package runs

import (
	"context"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/starter/cli"
	"github.com/switchyard/switchyard/starter/internal/specfiles"
	"github.com/switchyard/switchyard/starter/internal/terminal"
	"go.temporal.io/sdk/client"
)

// Flags are those of every command that starts a run and follows it, also of commands of features.
type Flags struct {
	// Caller is --caller; empty for the current user.
	Caller string
	DryRun bool

	detach bool
}

// Add adds all flags.
func (f *Flags) Add(s *pflag.FlagSet) {
	f.addDryRun(s)
	f.addCaller(s)
	f.addDetach(s)
}

func (f *Flags) addDryRun(s *pflag.FlagSet) {
	s.BoolVar(&f.DryRun, "dry-run", false,
		"call only tools that read; other calls are withheld and described")
}

func (f *Flags) addCaller(s *pflag.FlagSet) {
	s.StringVar(&f.Caller, "caller", "",
		"`name` of the person or program that starts the run (default: the current user)")
}

func (f *Flags) addDetach(s *pflag.FlagSet) {
	s.BoolVar(&f.detach, "detach", false, "print the run's ID and do not wait for its end")
}

// CheckCaller rejects a --caller that is too long to be searched.
func CheckCaller(cmd *cobra.Command, caller string) error {
	return checkName(cmd, "--caller", caller)
}

// checkName rejects a value of a flag that is too long to be searched.
func checkName(cmd *cobra.Command, flag, value string) error {
	if len(value) > api.MaxAttribute {
		return cli.UsageError(cmd, "%s has %d bytes; at most %d are searchable", flag, len(value),
			api.MaxAttribute)
	}
	return nil
}

// LoadAgent reads the agent in a file, with its available tools.
func LoadAgent(ctx context.Context, a *cli.App, path string) (*api.Agent, error) {
	return loadAgent(ctx, a, &specfiles.Flags{}, api.DefaultTaskQueue, path)
}

// Started is a run that a command has started.
type Started struct {
	ID, RunID, Queue string
	DryRun           bool
}

// Follow shows a run and its report until its end. With --detach it prints the run's ID instead.
func (f *Flags) Follow(ctx context.Context, a *cli.App, c client.Client, run Started) error {
	return f.follow(ctx, a, c, run, followInView(a))
}

// followInView returns a function that follows a run on standard output.
func followInView(a *cli.App) func(context.Context, *follower) error {
	return func(ctx context.Context, f *follower) error {
		f.view = terminal.NewView(a, a.Out)
		return followToReport(ctx, a, f)
	}
}

// follow is Follow with another way to show the run.
func (f *Flags) follow(ctx context.Context, a *cli.App, c client.Client, run Started,
	show func(context.Context, *follower) error) error {
	if f.detach {
		return printStarted(a, run.ID, run.RunID)
	}
	followed := newFollower(a, c, run.ID, run.RunID, run.Queue)
	followed.dry, followed.owned = run.DryRun, true
	// A program cannot start a worker.
	followed.lanes.givesUp = !cli.IsTerminal(a.Out) && !cli.IsTerminal(a.Err)
	return show(ctx, followed)
}
