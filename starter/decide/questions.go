package decide

import (
	"time"

	"github.com/spf13/cobra"
	"github.com/switchyard/switchyard"
	"github.com/switchyard/switchyard/audit"
	"github.com/switchyard/switchyard/starter/cli"
	"github.com/switchyard/switchyard/starter/internal/terminal"
)

func questionsCommand(a *cli.App) *cobra.Command {
	var ref cli.RunRef
	cmd := &cobra.Command{
		Use: "questions [RUN]", GroupID: cli.GroupRuns, Short: "List open questions of runs",
		Long: `Lists the open questions of a run and the sub-agents below it, or of all running runs: the
oldest first, each with the command that answers it. A run asks when it calls a tool of kind
human, or when a tool asks during a call. It waits as long as the toolspec allows, and no client
needs to stay connected.`,
		Example: `  starter questions
  starter questions demo-1a2b3c4d
  starter questions --output json | jq -r .command`,
		Args: cli.Arguments(0, "RUN"),
		RunE: openList[audit.RunQuestion]{read: audit.Questions, print: printQuestions,
			all: (*switchyard.Client).Questions}.run(a, &ref),
	}
	ref.Add(cmd.Flags())
	return cmd
}

func printQuestions(a *cli.App, open []audit.RunQuestion) error {
	return cli.PrintBlocks(a, terminal.QuestionsToList(a.Connection.Invocation(), open),
		"no open questions", func(l terminal.ListedQuestion) {
			terminal.WriteQuestion(&a.Format, a.Out, a.PaletteFor(a.Out), l, time.Now())
		})
}
