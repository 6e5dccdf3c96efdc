package main

import (
	"github.com/spf13/cobra"
	forks "github.com/switchyard/switchyard/feature/forks/cmd"
	_ "github.com/switchyard/switchyard/payloads/s3"
	"github.com/switchyard/switchyard/starter/catalog"
	"github.com/switchyard/switchyard/starter/cli"
	"github.com/switchyard/switchyard/starter/decide"
	"github.com/switchyard/switchyard/starter/gateway"
	"github.com/switchyard/switchyard/starter/inspect"
	"github.com/switchyard/switchyard/starter/operate"
	"github.com/switchyard/switchyard/starter/replay"
	"github.com/switchyard/switchyard/starter/runs"
)

// starter is the program with all its commands. A new command is one file and one line in the
// Commands of its package. TestHelp_DescribesEveryCommand requires Short, Long and an example.
var starter = cli.Program{
	Long: rootHelp, Example: rootExamples,
	Commands: []func(*cli.App) []*cobra.Command{runs.Commands, inspect.Commands, decide.Commands,
		catalog.Commands, operate.Commands, gateway.Commands, replay.Commands},
	Features: []cli.Feature{
		forks.Feature,
	},
}

const rootHelp = `starter starts, follows and inspects runs on a Temporal server: agents, plans and single tool calls.

Each run is one Temporal workflow, and each tool call one activity of it. Connection flags,
TEMPORAL_* variables and the file of profiles are those of the Temporal CLI.`

const rootExamples = `  starter dev                                       start a server, its Web UI and a worker on this machine
  starter run agent.yaml "How many files are here?"  run an agent and watch it
  starter call calculator expression='2*(3+4)'      call one tool
  starter list                                      list the newest runs
  starter audit RUN                                 show the record of every call of a run`
