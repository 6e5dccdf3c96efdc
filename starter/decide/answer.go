package decide

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/switchyard/switchyard"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit"
	"github.com/switchyard/switchyard/internal/core/people"
	"github.com/switchyard/switchyard/internal/value/jsonvalue"
	"github.com/switchyard/switchyard/starter/cli"
	"go.temporal.io/sdk/client"
)

// replyFlags hold the reply to a question.
type replyFlags struct {
	value, text, file string
	decline           bool
	reason            string
	by                cli.ByFlag
}

func answerCommand(a *cli.App) *cobra.Command {
	var ref cli.RunRef
	var flags replyFlags
	cmd := &cobra.Command{
		Use: "answer RUN [QUESTION]", GroupID: cli.GroupRuns,
		Short: "Answer or decline a question of a run",
		Long: `Answers an open question of a run or of a sub-agent below it. QUESTION is the ID that 'starter
questions' prints; it can be left out if only one question is open. An invalid answer is
rejected with all its problems, and the question stays open. A question takes one reply. The
run's records keep who replied and why.`,
		Example: `  starter answer demo-1a2b3c4d --text "Yes, continue"
  starter answer demo-1a2b3c4d 2.1 --value '{"amount": 120}' --reason "as agreed on Monday"
  starter answer demo-1a2b3c4d 2.1 --file review.json --by ada
  starter answer demo-1a2b3c4d 2.1 --decline --reason "not before the audit"`,
		Args: cli.Arguments(0, "RUN", "QUESTION"),
		RunE: func(cmd *cobra.Command, args []string) error {
			reply, err := flags.reply(cmd, a.In)
			if err != nil {
				return err
			}
			if len(args) > 0 && ref.WorkflowID == "" {
				ref.WorkflowID, args = args[0], args[1:]
			}
			if len(args) > 1 {
				return cli.UsageError(cmd, "unexpected argument %q", args[1])
			}
			reply.Question = strings.Join(args, "")
			return a.OnRun(&ref, func(ctx context.Context, c client.Client, run *cli.RunRef) error {
				return answer(ctx, a, c, run, reply)
			})(cmd, nil)
		},
	}
	ref.Add(cmd.Flags())
	f := cmd.Flags()
	f.StringVar(&flags.value, "value", "", "the answer as `JSON`")
	f.StringVar(&flags.text, "text", "", "the answer as `text`")
	f.StringVar(&flags.file, "file", "",
		"`file` with the answer, JSON or text; - is standard input")
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
	for _, name := range []string{"value", "text", "file", "decline"} {
		if cmd.Flags().Changed(name) {
			given = append(given, "--"+name)
		}
	}
	if len(given) != 1 {
		return r, cli.UsageError(cmd,
			"pass exactly one of --value, --text, --file and --decline; got %s",
			cmp.Or(strings.Join(given, " and "), "none"))
	}
	var err error
	if r.Value, err = f.answer(cmd, given[0], stdin); err != nil {
		return r, err
	}
	if e := people.CheckReply(r); e != nil {
		return r, cli.UsageError(cmd, "%v", e)
	}
	return r, nil
}

// answer reads the answer from the given flag. --decline has none.
func (f *replyFlags) answer(cmd *cobra.Command, flag string, stdin io.Reader) (json.RawMessage,
	error) {
	switch flag {
	case "--value":
		if _, err := jsonvalue.Decode([]byte(f.value)); err != nil {
			return nil, cli.UsageError(cmd, "--value is not valid JSON: %v; pass text with --text",
				err)
		}
		return json.RawMessage(f.value), nil
	case "--text":
		return jsonvalue.Encode(f.text)
	case "--file":
		return answerFile(f.file, stdin)
	}
	return nil, nil
}

// answerFile reads an answer from a file: a JSON value, or else the file's text.
func answerFile(path string, stdin io.Reader) (json.RawMessage, error) {
	source := stdin
	if path != "-" {
		file, err := os.Open(path)
		if err != nil {
			return nil, cli.Errorf(cli.ExitUsage, "--file %s: %w", path, cli.PathError(path, err))
		}
		defer file.Close()
		source = file
	}
	data, err := io.ReadAll(io.LimitReader(source, api.MaxPayload+1))
	if err != nil {
		return nil, cli.Errorf(cli.ExitUsage, "--file %s: %w", path, cli.PathError(path, err))
	}
	return cli.ToJSON(strings.TrimRight(string(data), "\r\n")), nil
}

// answer replies to a question of the run or one of its sub-agents.
func answer(ctx context.Context, a *cli.App, c client.Client, run *cli.RunRef, r api.Reply) error {
	open, err := audit.Questions(ctx, c, run.WorkflowID, run.RunID)
	if err != nil {
		return a.LookupError(run.WorkflowID, run.RunID, err)
	}
	target, err := choose(run, open, &r, a.Connection.Invocation())
	if err != nil {
		return err
	}
	if target.RunID != "" {
		if _, err := a.Open(ctx, c, target, audit.Describe); err != nil {
			return err
		}
	}
	err = a.Handle(c, target).Answer(ctx, r)
	switch {
	case err != nil && ctx.Err() != nil:
		return cli.Errorf(cli.ExitCancelled,
			"interrupted; the run may still accept the answer\nCheck: %s",
			a.Connection.Invocation().Command("questions", target.WorkflowID))
	case err != nil:
		return replyError(a, target.WorkflowID, r, err)
	}
	if a.Format.JSON() {
		return cli.WriteJSON(a.Out, map[string]any{"workflow_id": target.WorkflowID,
			"question": r.Question, "by": r.By, "declined": r.Decline}, false)
	}
	return a.Println(fmt.Sprintf("question %s of run %s is %s", r.Question, target.WorkflowID,
		people.ReplyNote(r)))
}

// choose selects the question and its run. Questions that are not open are passed to the run, which
// knows their state.
func choose(run *cli.RunRef, open []audit.RunQuestion, r *api.Reply,
	inv cli.Invocation) (*cli.RunRef, error) {
	if r.Question != "" {
		open = slices.DeleteFunc(slices.Clone(open),
			func(q audit.RunQuestion) bool { return q.ID != r.Question })
		if own := slices.IndexFunc(open,
			func(q audit.RunQuestion) bool { return q.WorkflowID == run.WorkflowID }); own >= 0 ||
			len(open) == 0 {
			return run, nil
		}
	}
	switch len(open) {
	case 0:
		return nil, cli.Errorf(cli.ExitFailed,
			"the run %q has no open question\nList the questions of all runs: %s", run.WorkflowID,
			inv.Command("questions"))
	case 1:
		r.Question = open[0].ID
		if open[0].WorkflowID == run.WorkflowID {
			return run, nil
		}
		return &cli.RunRef{WorkflowID: open[0].WorkflowID}, nil
	}
	lines := make([]string, len(open))
	for i, q := range open {
		lines[i] = "\n  " + inv.HowToAnswer(q)
	}
	return nil, cli.Errorf(cli.ExitUsage, "%d questions match; select one:%s", len(open),
		strings.Join(lines, ""))
}

// replyError explains why a reply was not accepted.
func replyError(a *cli.App, id string, r api.Reply, err error) error {
	if _, late := errors.AsType[*client.WorkflowUpdateServiceTimeoutOrCanceledError](err); late {
		return cli.Errorf(cli.ExitFailed,
			"no worker of the run %q accepted the answer within %s; a worker that starts later may still accept it\nCheck: %s",
			id, switchyard.ReplyWithin, a.Connection.Invocation().Command("questions", id))
	}
	if cli.IsNotFound(err) { // it was there a moment ago
		return cli.Errorf(cli.ExitFailed,
			"the run %q has ended and accepts no answers\nSee its outcome: %s", id,
			a.Connection.Invocation().Command("show", id))
	}
	refused, ok := refusal(err)
	if !ok {
		return a.LookupError(id, "", err)
	}
	switch refused.Type {
	case api.ReplyUnfit, api.ReplyMalformed:
		text := refused.Message
		for _, p := range refused.Problems {
			text += "\n  " + p.String()
		}
		return cli.Errorf(cli.ExitUsage, "%s\nThe question is still open.", text)
	}
	return cli.Errorf(cli.ExitFailed,
		"the reply to question %s was rejected: %s\nList the run's questions: %s", r.Question,
		refused.Message, a.Connection.Invocation().Command("questions", id))
}

// refusal returns the run's own reason for rejecting a reply or a decision.
func refusal(err error) (refused api.ReplyError, ok bool) {
	e, ok := errors.AsType[*api.ReplyError](err)
	if ok {
		refused = *e
	}
	return refused, ok
}
