package decide

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/people"
	"github.com/switchyard/switchyard/internal/value/jsonvalue"
	"github.com/switchyard/switchyard/starter/cli"
	"go.temporal.io/sdk/client"
)

// replyFlags hold the reply to a question.
type replyFlags struct {
	value, text, reason string
	decline             bool
	by                  cli.ByFlag
}

func answerCommand(a *cli.App) *cobra.Command {
	var flags replyFlags
	cmd := &cobra.Command{
		Use: "answer RUN [QUESTION]", GroupID: cli.GroupRuns,
		Short: "Answer or decline a question of a run",
		Long: `Answers an open question of a run or of a sub-agent below it. QUESTION is the ID that 'starter
approvals' prints; it can be left out if only one question is open. An invalid answer is rejected
with all its problems, and the question stays open. A question takes one reply. The run's records
keep who replied and why.`,
		Example: `  starter answer demo-1a2b3c4d --text "Yes, continue"
  starter answer demo-1a2b3c4d 2.1 --value '{"amount": 120}' --reason "as agreed on Monday"
  starter answer demo-1a2b3c4d 2.1 --value - --by ada <review.json
  starter answer demo-1a2b3c4d 2.1 --decline --reason "not before the audit"`,
		Args: cli.Arguments(1, "RUN", "QUESTION"),
		RunE: func(cmd *cobra.Command, args []string) error {
			reply, err := flags.reply(cmd, a.In)
			if err != nil {
				return err
			}
			reply.Question = strings.Join(args[1:], "")
			return a.OnRun(func(ctx context.Context, c client.Client, run *cli.RunRef) error {
				return answer(ctx, a, c, run, reply)
			})(cmd, args)
		},
	}
	f := cmd.Flags()
	f.StringVar(&flags.value, "value", "", "the answer as `JSON`; - is standard input")
	f.StringVar(&flags.text, "text", "", "the answer as `text`; - is standard input")
	f.BoolVar(&flags.decline, "decline", false,
		"decline to answer: the call fails as approval_denied")
	f.StringVar(&flags.reason, "reason", "", "`text` recorded with the answer")
	flags.by.Add(f, "answers")
	return cmd
}

// reply builds the reply from the flags, without its question.
func (f *replyFlags) reply(cmd *cobra.Command, stdin io.Reader) (api.Reply, error) {
	r := api.Reply{By: f.by.Name(), Reason: f.reason, Decline: f.decline}
	var given []string
	for _, name := range []string{"value", "text", "decline"} {
		if cmd.Flags().Changed(name) {
			given = append(given, "--"+name)
		}
	}
	if len(given) != 1 {
		return r, cli.UsageError(cmd, "pass exactly one of --value, --text and --decline; got %s",
			cmp.Or(strings.Join(given, " and "), "none"))
	}
	text, err := readInput(cmp.Or(f.value, f.text), stdin)
	switch {
	case err != nil:
		return r, cli.UsageError(cmd, "%v", err)
	case given[0] == "--text":
		r.Value = cli.QuotedJSON(text)
	case given[0] == "--value":
		if _, err := jsonvalue.Decode([]byte(text)); err != nil {
			return r, cli.UsageError(cmd, "--value is not valid JSON: %v; pass text with --text",
				err)
		}
		r.Value = json.RawMessage(text)
	}
	return r, nil
}

// readInput returns an argument, or standard input for -, without the line end at its end.
func readInput(argument string, stdin io.Reader) (string, error) {
	if argument != "-" {
		return argument, nil
	}
	data, err := io.ReadAll(io.LimitReader(stdin, api.MaxPayload+1))
	if err != nil {
		return "", fmt.Errorf("standard input: %w", err)
	}
	return strings.TrimRight(string(data), "\r\n"), nil
}

// answer replies to a question of the run or one of its sub-agents.
func answer(ctx context.Context, a *cli.App, c client.Client, run *cli.RunRef, r api.Reply) error {
	open, err := a.Handle(c, run).Questions(ctx)
	if err != nil {
		return a.LookupError(run.WorkflowID, run.RunID, err)
	}
	inv := a.Connection.Invocation()
	var all []waiting
	for _, q := range open {
		all = append(all, waiting{q.WorkflowID, q.ID, inv.HowToAnswer(q)})
	}
	i, err := pick(run, all, r.Question, fmt.Sprintf("the run %q has no open question\n"+
		"List the questions of all runs: %s", run.WorkflowID, inv.Command("approvals")))
	if err != nil {
		return err
	}
	if i >= 0 {
		r.Question = open[i].ID
		run = below(run, open[i].WorkflowID)
	}
	if err := a.Handle(c, run).Answer(ctx, r); err != nil {
		return replyError(ctx, a, run, "reply to question "+r.Question,
			"The question is still open.", err)
	}
	if a.Format.JSON() {
		return cli.WriteJSON(a.Out, struct {
			WorkflowID string `json:"workflow_id"`
			api.Reply
		}{run.WorkflowID, r}, false)
	}
	return a.Println(fmt.Sprintf("question %s of run %s is %s", r.Question, run.WorkflowID,
		people.ReplyNote(r)))
}

// below returns the run itself, or the sub-agent's run of that ID below it.
func below(run *cli.RunRef, workflowID string) *cli.RunRef {
	if workflowID == run.WorkflowID {
		return run
	}
	return &cli.RunRef{WorkflowID: workflowID}
}
