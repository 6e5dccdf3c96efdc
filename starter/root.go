package main

import (
	"github.com/spf13/cobra"
	"github.com/switchyard/switchyard/starter/catalog"
	"github.com/switchyard/switchyard/starter/completion"
	"github.com/switchyard/switchyard/starter/decide"
	"github.com/switchyard/switchyard/starter/inspect"
	"github.com/switchyard/switchyard/starter/internal/cli"
	"github.com/switchyard/switchyard/starter/operate"
	"github.com/switchyard/switchyard/starter/runs"
)

// starter is the program with all its commands. A new command is one file and one line in the Commands of its package.
var starter = cli.Program{
	Long: rootHelp, Example: rootExamples,
	Commands: []func(*cli.App) []*cobra.Command{runs.Commands, inspect.Commands, decide.Commands, catalog.Commands, operate.Commands, completion.Commands},
	Finish:   completion.Add,
}

const rootHelp = `starter starts, follows and inspects runs on a Temporal server: agents, plans and single tool calls.

Every run is one Temporal workflow, every tool call one activity of it. Connection flags and TEMPORAL_* variables are
those of the Temporal CLI, and so is the file that profiles are read from.`

const rootExamples = `  starter dev                                       a server, its Web UI and a worker on this machine
  starter run agent.yaml "How many files are here?"  run an agent and watch it
  starter call calculator expression='2*(3+4)'      one call of one tool
  starter list                                      the newest runs
  starter audit RUN                                 what every call of a run did`
