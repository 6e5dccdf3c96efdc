package runs

import (
	"cmp"
	"context"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit"
	"github.com/switchyard/switchyard/audit/history"
	"github.com/switchyard/switchyard/internal/core/people"
	"github.com/switchyard/switchyard/internal/runstart"
	"github.com/switchyard/switchyard/starter/cli"
	"go.temporal.io/sdk/client"
)

func sendCommand(a *cli.App) *cobra.Command {
	var ref cli.RunRef
	var by cli.ByFlag
	var id string
	cmd := &cobra.Command{
		Use: "send RUN TEXT", GroupID: cli.GroupRuns, Short: "Send a message to a running agent",
		Long: `Sends a user message to a running agent. The agent reads it before its next model step, after
the running calls end. A message that arrives while the agent writes its answer causes another
turn. TEXT is - for standard input.

Sending a message again with the same --id has no effect. The exit code is 1 if the run has
ended or has no agent.`,
		Example: `  starter send demo-1a2b3c4d "Leave out the drafts"
  starter send demo-1a2b3c4d - <notes.md
  starter send demo-1a2b3c4d "Go on" --id ticket-42`,
		Args: cli.Arguments(1, "RUN", "TEXT"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if ref.WorkflowID == "" {
				ref.WorkflowID, args = args[0], args[1:]
			}
			if len(args) != 1 {
				return cli.UsageError(cmd, "pass one TEXT, or - for standard input")
			}
			text, err := messageText(args[0], a.In)
			if err != nil {
				return err
			}
			sent := api.Sent{Text: text, By: by.Name(), ID: cmp.Or(id, runstart.RandomHex(16))}
			if e := people.CheckMessage(sent); e != nil {
				return cli.UsageError(cmd, "%v", e)
			}
			return a.OnRun(&ref, func(ctx context.Context, c client.Client, run *cli.RunRef) error {
				return send(ctx, a, c, run, sent)
			})(cmd, nil)
		},
	}
	ref.Add(cmd.Flags())
	by.Add(cmd.Flags(), "sends it")
	cmd.Flags().StringVar(&id, "id", "", "`ID` of the message (default: a new one)")
	return cmd
}

// messageText returns the text of an argument or of standard input.
func messageText(arg string, stdin io.Reader) (string, error) {
	text := arg
	if arg == "-" {
		data, err := io.ReadAll(io.LimitReader(stdin, api.MaxSentText+2))
		if err != nil {
			return "", cli.Errorf(cli.ExitUsage, "standard input: %w", err)
		}
		text = strings.TrimRight(string(data), "\r\n")
	}
	if !utf8.ValidString(text) {
		return "", cli.Errorf(cli.ExitUsage, "the message is not text in UTF-8")
	}
	return text, nil
}

// send sends a message, which the run answers.
func send(ctx context.Context, a *cli.App, c client.Client, run *cli.RunRef, s api.Sent) error {
	summary, err := a.Open(ctx, c, run, audit.Describe)
	if err != nil {
		return err
	}
	what := "the agent reads it before its next model step"
	switch {
	case summary.Kind != history.RunAgent:
		return cli.Errorf(cli.ExitFailed, "the run %q has no agent; only agents accept messages",
			run.WorkflowID)
	case summary.Paused != nil:
		what = "the agent reads it after the run is resumed"
	}
	if err := a.Handle(c, run).Send(ctx, s); err != nil {
		return a.ControlError(run, err)
	}
	if a.Format.JSON() {
		return cli.WriteJSON(a.Out, map[string]string{"workflow_id": run.WorkflowID, "id": s.ID,
			"by": s.By}, false)
	}
	return a.Println("run " + run.WorkflowID + " has received the message; " + what)
}
