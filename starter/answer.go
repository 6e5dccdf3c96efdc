package main

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
	"time"

	"github.com/spf13/cobra"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
)

// replyWithin is how long the run's workers have to take a reply.
const replyWithin = 15 * time.Second

// replyFlags say what is replied to a question.
type replyFlags struct {
	value, text, file string
	decline           bool
	reason            string
	by                byFlag
}

func (a *app) answerCommand() *cobra.Command {
	var ref runReference
	var flags replyFlags
	cmd := &cobra.Command{
		Use: "answer RUN [QUESTION]", Short: "Answer what a run asks, or decline",
		Long: `Answers an open question of a run or of a sub-agent below it. QUESTION is its id, as 'starter questions' prints it; it may
be left out where one question is open. An answer that does not fit comes back with everything that is wrong with it, and
the question stays open. A question takes one reply; the run's records keep who gave it, and the reason.`,
		Example: `  starter answer demo-1a2b3c4d --text "Yes, go on"
  starter answer demo-1a2b3c4d 2.1 --value '{"amount": 120}' --reason "as agreed on Monday"
  starter answer demo-1a2b3c4d 2.1 --file review.json --by ada
  starter answer demo-1a2b3c4d 2.1 --decline --reason "not before the audit"`,
		Args: arguments(0, "RUN", "QUESTION"),
		RunE: func(cmd *cobra.Command, args []string) error {
			reply, err := flags.reply(cmd, a.In)
			if err != nil {
				return err
			}
			if len(args) > 0 && ref.workflowID == "" {
				ref.workflowID, args = args[0], args[1:]
			}
			if len(args) > 1 {
				return usageError(cmd, "unexpected argument %q", args[1])
			}
			reply.Question = strings.Join(args, "")
			return a.onRun(&ref, func(ctx context.Context, c client.Client, run *runReference) error {
				return a.answer(ctx, c, run, reply)
			})(cmd, nil)
		},
	}
	ref.add(cmd.Flags())
	f := cmd.Flags()
	f.StringVar(&flags.value, "value", "", "the answer as `JSON`")
	f.StringVar(&flags.text, "text", "", "the answer as `text`")
	f.StringVar(&flags.file, "file", "", "`file` with the answer, JSON or text; - is standard input")
	f.BoolVar(&flags.decline, "decline", false, "do not answer: the call fails as approval_denied")
	f.StringVar(&flags.reason, "reason", "", "`text` that is kept with the answer")
	flags.by.add(f, "answers")
	return cmd
}

// reply makes the reply of the flags; its question is not set.
func (f *replyFlags) reply(cmd *cobra.Command, stdin io.Reader) (api.Reply, error) {
	r := api.Reply{By: f.by.name(), Reason: f.reason, Decline: f.decline}
	var given []string
	for _, name := range []string{"value", "text", "file", "decline"} {
		if cmd.Flags().Changed(name) {
			given = append(given, "--"+name)
		}
	}
	if len(given) != 1 {
		return r, usageError(cmd, "give one of --value, --text, --file and --decline, not %s", cmp.Or(strings.Join(given, " and "), "none of them"))
	}
	var err error
	if r.Value, err = f.answer(cmd, given[0], stdin); err != nil {
		return r, err
	}
	if e := r.Check(); e != nil {
		return r, usageError(cmd, "%v", e)
	}
	return r, nil
}

// answer reads the answer from the one flag that has it; --decline has none.
func (f *replyFlags) answer(cmd *cobra.Command, flag string, stdin io.Reader) (json.RawMessage, error) {
	switch flag {
	case "--value":
		if _, err := api.DecodeJSON([]byte(f.value)); err != nil {
			return nil, usageError(cmd, "--value is not JSON: %v; a text goes with --text", err)
		}
		return json.RawMessage(f.value), nil
	case "--text":
		return api.EncodeJSON(f.text)
	case "--file":
		return answerFile(f.file, stdin)
	}
	return nil, nil
}

// answerFile reads an answer: the JSON value that a file holds, or else its text.
func answerFile(path string, stdin io.Reader) (json.RawMessage, error) {
	source := stdin
	if path != "-" {
		file, err := os.Open(path)
		if err != nil {
			return nil, failure(exitUsage, "--file %s: %w", path, pathError(path, err))
		}
		defer file.Close()
		source = file
	}
	data, err := io.ReadAll(io.LimitReader(source, api.MaxPayload+1))
	if err != nil {
		return nil, failure(exitUsage, "--file %s: %w", path, pathError(path, err))
	}
	return typed(strings.TrimRight(string(data), "\r\n")), nil
}

// answer replies to a question of the run or of a sub-agent below it.
func (a *app) answer(ctx context.Context, c client.Client, run *runReference, r api.Reply) error {
	open, err := audit.Questions(ctx, c, run.workflowID, run.runID)
	if err != nil {
		return a.lookupError(run.workflowID, run.runID, err)
	}
	target, err := choose(run, open, &r, a.connection.reach())
	if err != nil {
		return err
	}
	if target.runID != "" {
		if _, err := a.open(ctx, c, target, audit.Describe); err != nil {
			return err
		}
	}
	err = sendReply(ctx, c, target, r)
	switch {
	case err != nil && ctx.Err() != nil:
		return failure(exitCancelled, "interrupted; the answer may still be taken\nSee whether it was: %s", a.connection.reach().command("questions", target.workflowID))
	case err != nil:
		return a.replyError(target.workflowID, r, err)
	}
	if a.format.json() {
		return writeJSON(a.Out, map[string]any{"workflow_id": target.workflowID, "question": r.Question, "by": r.By, "declined": r.Decline}, false)
	}
	return a.println(fmt.Sprintf("question %s of run %s is %s", r.Question, target.workflowID, r.Note()))
}

// choose finds the question that is meant, and the run that has it. One that is not open is left to the run, which knows
// what became of it.
func choose(run *runReference, open []audit.RunQuestion, r *api.Reply, way reach) (*runReference, error) {
	if r.Question != "" {
		open = slices.DeleteFunc(slices.Clone(open), func(q audit.RunQuestion) bool { return q.ID != r.Question })
		if own := slices.IndexFunc(open, func(q audit.RunQuestion) bool { return q.WorkflowID == run.workflowID }); own >= 0 || len(open) == 0 {
			return run, nil
		}
	}
	switch len(open) {
	case 0:
		return nil, failure(exitFailed, "the run %q asks nothing now\nList what others ask: %s", run.workflowID, way.command("questions"))
	case 1:
		r.Question = open[0].ID
		if open[0].WorkflowID == run.workflowID {
			return run, nil
		}
		return &runReference{workflowID: open[0].WorkflowID}, nil
	}
	lines := make([]string, len(open))
	for i, q := range open {
		lines[i] = "\n  " + way.howToAnswer(q)
	}
	return nil, failure(exitUsage, "%d questions could be meant; name one:%s", len(open), strings.Join(lines, ""))
}

func sendReply(ctx context.Context, c client.Client, run *runReference, r api.Reply) error {
	ctx, cancel := context.WithTimeout(ctx, replyWithin)
	defer cancel()
	handle, err := c.UpdateWorkflow(ctx, client.UpdateWorkflowOptions{WorkflowID: run.workflowID, RunID: run.runID, UpdateID: randomHex(16),
		UpdateName: api.AnswerQuestionUpdate, Args: []any{r}, WaitForStage: client.WorkflowUpdateStageCompleted})
	if err != nil {
		return err
	}
	return handle.Get(ctx, nil)
}

// replyError says why a reply was not taken.
func (a *app) replyError(id string, r api.Reply, err error) error {
	if _, late := errors.AsType[*client.WorkflowUpdateServiceTimeoutOrCanceledError](err); late {
		return failure(exitFailed, "no worker of the run %q has taken the answer within %s; it may still be taken when one comes\nSee whether it was: %s", id, replyWithin, a.connection.reach().command("questions", id))
	}
	if isNotFound(err) { // it was there a moment ago
		return failure(exitFailed, "the run %q has ended and takes no answer any more\nSee how it ended: %s", id, a.connection.reach().command("show", id))
	}
	if _, hosted := errors.AsType[*serviceerror.FailedPrecondition](err); hosted {
		return failure(exitFailed, "the server holds the run %q, which takes no answers until it is resumed: %s", id, a.connection.reach().command("resume", id))
	}
	refused, ok := refusal(err)
	if !ok {
		return a.lookupError(id, "", err)
	}
	switch refused.Type {
	case api.ReplyUnfit, api.ReplyMalformed:
		text := refused.Message
		for _, p := range refused.Problems {
			text += "\n  " + p.String()
		}
		return failure(exitUsage, "%s\nThe question is still open.", text)
	}
	return failure(exitFailed, "the reply to question %s was not taken: %s\nList what the run asks: %s", r.Question, refused.Message, a.connection.reach().command("questions", id))
}

// refusal is why the run itself refused a reply or a decision.
func refusal(err error) (refused api.ReplyError, ok bool) {
	app, ok := errors.AsType[*temporal.ApplicationError](err)
	ok = ok && app.Details(&refused) == nil
	return refused, ok
}
