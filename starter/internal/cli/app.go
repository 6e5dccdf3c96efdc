// Package cli holds what all commands of starter share: the connection to the server, output
// formats, tables, exit codes, errors, and the reference to a run on the command line.
package cli

import (
	"context"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
)

// Stdio is what a command reads, writes and is interrupted by.
type Stdio struct {
	In       io.Reader
	Out, Err io.Writer
	// Interrupts carries signals: the first ends what a command waits for, further ones insist. May
	// be nil.
	Interrupts <-chan os.Signal
	// Program is how starter was called, for the commands that are shown; empty is starter.
	Program string
}

// App is one invocation of starter.
type App struct {
	Stdio
	Connection Connection
	Format     Format
	// Again hands on what every signal after the first means.
	Again chan error
	// Served are the tools of the worker that 'starter dev' runs this command against.
	Served []string
	// Run executes a command line as an invocation of its own.
	Run func(ctx context.Context, a *App, args []string) int
}

// ProgramName is starter's own.
const ProgramName = "starter"

// The groups of commands in the help.
const (
	GroupStart  = "start"
	GroupRuns   = "runs"
	GroupServer = "server"
)

// UnknownCommand refuses a word that is no command, with the commands it may have meant.
func (a *App) UnknownCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	hint := ""
	cmd.SuggestionsMinimumDistance = 2
	if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
		hint = "; did you mean " + strings.Join(near, " or ") + "?"
	}
	return UsageError(cmd, "there is no command %q%s", args[0], hint)
}

// Arguments checks the number of a command's positional arguments; names are those it takes, the
// first need of them required. A last name that ends in … takes any number.
func Arguments(need int, names ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) < need {
			return UsageError(cmd, "%s is missing", names[len(args)])
		}
		open := len(names) > 0 && strings.HasSuffix(names[len(names)-1], "…")
		if len(args) > len(names) && !open {
			return UsageError(cmd, "unexpected argument %q", args[len(names)])
		}
		return nil
	}
}
