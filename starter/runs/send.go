package runs

import (
	"cmp"
	"context"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/runstart"
	"github.com/switchyard/switchyard/starter/cli"
	"go.temporal.io/sdk/client"
)

func sendCommand(a *cli.App) *cobra.Command {
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
		Args: cli.Arguments(2, "RUN", "TEXT"),
		RunE: func(cmd *cobra.Command, args []string) error {
			text, err := messageText(args[1], a.In)
			if err != nil {
				return err
			}
			sent := api.Sent{Text: text, By: by.Name(), ID: cmp.Or(id, runstart.RandomHex(16))}
			return a.OnRun(func(ctx context.Context, c client.Client, run *cli.RunRef) error {
				return send(ctx, a, c, run, sent)
			})(cmd, args)
		},
	}
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
	if err := a.Handle(c, run).Send(ctx, s); err != nil {
		return a.LookupError(run.WorkflowID, run.RunID, err)
	}
	if a.Format.JSON() {
		return cli.WriteJSON(a.Out, struct {
			WorkflowID string `json:"workflow_id"`
			api.Sent
		}{run.WorkflowID, s}, false)
	}
	return a.Println("run " + run.WorkflowID +
		" has received the message; the agent reads it before its next model step")
}
