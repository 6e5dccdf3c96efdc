package runs

import (
	"context"
	"time"

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

	catalog           specfiles.Flags
	detach            bool
	cancelOnInterrupt bool
	workerTimeout     time.Duration
}

// Add adds all flags. tools is the end of the help text of --tools.
func (f *Flags) Add(cmd *cobra.Command, tools string) {
	s := cmd.Flags()
	s.BoolVar(&f.DryRun, "dry-run", false, dryRunUsage)
	f.addCaller(s)
	f.addFollow(s)
	f.catalog.Add(s, tools)
}

func (f *Flags) addCaller(s *pflag.FlagSet) {
	s.StringVar(&f.Caller, "caller", "",
		"`name` of the person or program that starts the run (default: the current user)")
}

const (
	workerTimeoutFlag = "worker-timeout"
	// pipedTimeout is the default of --worker-timeout for programs, which cannot start a worker.
	pipedTimeout = time.Minute
)

// addFollow adds the flags that say how the run is followed.
func (f *Flags) addFollow(s *pflag.FlagSet) {
	s.BoolVar(&f.detach, "detach", false, "print the run's ID and do not wait for its end")
	s.BoolVar(&f.cancelOnInterrupt, "cancel-on-interrupt", false,
		"cancel the run at the first Ctrl-C (default: at the second)")
	s.DurationVar(&f.workerTimeout, workerTimeoutFlag, 0,
		"stop waiting after this `duration` without a worker for the run; 0 waits forever (default: 0 on a terminal, else 1m0s)")
}

// Check rejects a caller that cannot be searched, and files that cannot be read.
func (f *Flags) Check(cmd *cobra.Command) error {
	if err := checkName(cmd, "--caller", f.Caller); err != nil {
		return err
	}
	if f.catalog.LanesFile != "" { // be it that no tool is looked up
		if _, err := f.catalog.LaneSet(); err != nil {
			return err
		}
	}
	return f.catalog.Check(cmd)
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
func (f *Flags) LoadAgent(ctx context.Context, a *cli.App, path string) (*api.Agent, error) {
	return loadAgent(ctx, a, f, api.DefaultTaskQueue, path)
}

// Started is a run that a command has started.
type Started struct {
	ID, RunID, Queue string
	DryRun           bool
}

// Follow shows a run and its report until its end. With --detach it prints the run's ID instead.
func (f *Flags) Follow(ctx context.Context, a *cli.App, cmd *cobra.Command, c client.Client,
	run Started) error {
	return f.follow(ctx, a, cmd, c, run, followInView(a))
}

// followInView returns a function that follows a run on standard output.
func followInView(a *cli.App) func(context.Context, *follower) error {
	return func(ctx context.Context, f *follower) error {
		f.view = terminal.NewView(a, a.Out)
		return followToReport(ctx, a, f)
	}
}

// follow is Follow with another way to show the run.
func (f *Flags) follow(ctx context.Context, a *cli.App, cmd *cobra.Command, c client.Client,
	run Started, show func(context.Context, *follower) error) error {
	if f.detach {
		return printStarted(a, run.ID, run.RunID)
	}
	followed := newFollower(a, c, run.ID, run.RunID, run.Queue)
	followed.dry, followed.lanes.timeout = run.DryRun, f.awaitsWorker(a, cmd)
	followed.owned, followed.cancelOnInterrupt = true, f.cancelOnInterrupt
	return show(ctx, followed)
}

// awaitsWorker returns how long the command waits for a worker; zero for any time.
func (f *Flags) awaitsWorker(a *cli.App, cmd *cobra.Command) time.Duration {
	if cmd.Flags().Changed(workerTimeoutFlag) || cli.IsTerminal(a.Out) || cli.IsTerminal(a.Err) {
		return f.workerTimeout
	}
	return pipedTimeout
}
