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

// Stdio holds the streams and the interrupt channel of a command.
type Stdio struct {
	In       io.Reader
	Out, Err io.Writer
	// Interrupts carries signals. The first one cancels the command's context, further ones arrive
	// on App.Again. May be nil.
	Interrupts <-chan os.Signal
	// Exit ends the process with an exit code if a command ignores a second signal. May be nil.
	Exit func(code int)
	// Program is how starter was called, for printed command lines. Empty means starter.
	Program string
}

// App is one invocation of starter.
type App struct {
	Stdio
	Connection Connection
	Format     Format
	// Again receives the cause of every signal after the first.
	Again chan error
	// Features are those of the program.
	Features []Feature
	// Served lists the tools of the worker that 'starter dev' runs this command against.
	Served []string
	// Run executes a command line as a separate invocation.
	Run func(ctx context.Context, a *App, args []string) int
}

// ProgramName is the default name of the starter program.
const ProgramName = "starter"

// The groups of commands in the help.
const (
	GroupStart  = "start"
	GroupRuns   = "runs"
	GroupServer = "server"
)

// UnknownCommand rejects an unknown command and suggests similar ones.
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

// missingHints say how to find the value of an argument.
var missingHints = map[string]string{
	"RUN": ": pass the ID of a run; list them: " + ProgramName + " list"}

// Arguments checks the number of a command's positional arguments. names lists the accepted
// arguments; the first need of them are required. A last name that ends in … takes any number.
func Arguments(need int, names ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) < need {
			return UsageError(cmd, "%s is missing%s", names[len(args)],
				missingHints[names[len(args)]])
		}
		open := len(names) > 0 && strings.HasSuffix(names[len(names)-1], "…")
		if len(args) > len(names) && !open {
			return UsageError(cmd, "unexpected argument %q", args[len(names)])
		}
		return nil
	}
}
