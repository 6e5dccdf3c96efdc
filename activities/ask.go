package activities

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/switchyard/switchyard/activities/executor"
	"github.com/switchyard/switchyard/activities/lease"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/callcontext"
	"github.com/switchyard/switchyard/internal/core/failures"
	"github.com/switchyard/switchyard/internal/core/people"
	"github.com/switchyard/switchyard/tool"
	"github.com/switchyard/switchyard/toolspecs"
	"github.com/switchyard/switchyard/toolspecs/schemas"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
)

// Waits between two attempts to post a question: while other calls have open questions, and while
// the server or the run does not answer.
const (
	firstAskAgain = 500 * time.Millisecond
	lastAskAgain  = 15 * time.Second
)

type askerKey struct{}

// asker posts questions for one attempt of a call.
type asker struct {
	client                client.Client
	workflowID, runID     string
	callID, tool          string
	within                time.Duration
	clock                 *executor.Clock
	mu                    sync.Mutex
	asked                 map[string]int
	notes                 []string
	askAgain, maxRequeues time.Duration
}

// withTimeout bounds an execution by the tool's timeout. The Err of the context checks the lease of
// the call's lane, if it has one. If the tool may ask people, the context contains what Ask needs.
func (a *Activities) withTimeout(ctx context.Context, t attempt,
	spec *toolspecs.Spec) (context.Context, context.CancelFunc) {
	within := spec.Entry.Common().AnswerWithin.Std()
	if within <= 0 || t.inline != nil {
		ctx, cancel := context.WithTimeoutCause(ctx, spec.Execution.Timeout.Std(),
			executor.ErrTimeout)
		return lease.Rebind(ctx), cancel
	}
	ctx, clock, cancel := executor.WithClock(ctx, spec.Execution.Timeout.Std())
	asks := &asker{client: a.config.Client, workflowID: t.info.WorkflowExecution.ID,
		runID: t.info.WorkflowExecution.RunID, callID: t.id, tool: spec.Name, within: within,
		clock: clock,
		asked: map[string]int{}, askAgain: firstAskAgain, maxRequeues: lastAskAgain}
	ctx = tool.WithAsk(context.WithValue(ctx, askerKey{}, asks), asks.ask)
	return lease.Rebind(ctx), cancel
}

// describeReplies describes who replied to the questions of the call of ctx.
func describeReplies(ctx context.Context) []string {
	a, ok := ctx.Value(askerKey{}).(*asker)
	if !ok {
		return nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.notes)
}

func (a *asker) ask(ctx context.Context, text string, schema json.RawMessage) (api.Reply, error) {
	a.clock.Pause()
	defer a.clock.Resume()
	q := api.Question{Call: a.callID, Tool: a.tool, Name: callcontext.QuestionName(ctx),
		Text: executor.RedactorFromContext(ctx).Text(executor.ValidText(text)), Schema: schema,
		Until: time.Now().Add(a.within - a.clock.PausedTime())}
	if e := checkQuestion(q); e != nil {
		return api.Reply{}, e
	}
	id := a.updateID(q)
	for wait := a.askAgain; ; wait = min(2*wait, a.maxRequeues) {
		reply, err := a.post(ctx, id, q)
		switch {
		case err == nil:
			a.note(reply)
			return reply, nil
		case ctx.Err() != nil:
			return api.Reply{}, context.Cause(ctx)
		case !time.Now().Before(q.Until):
			return api.Reply{}, failures.NotAnswered(a.tool, api.Duration(a.within))
		}
		if final := a.final(err); final != nil {
			return api.Reply{}, final
		}
		select {
		case <-ctx.Done():
			return api.Reply{}, context.Cause(ctx)
		case <-time.After(min(wait, time.Until(q.Until))):
		}
	}
}

// checkQuestion returns an error if the question cannot be asked.
func checkQuestion(q api.Question) error {
	switch {
	case strings.TrimSpace(q.Text) == "":
		return api.Errorf(api.ErrExecution, "%s asks a person nothing: the text is empty", q.Tool)
	case len(q.Text) > api.MaxQuestionText:
		return api.Errorf(api.ErrExecution, "%s asks a person with a text of %d bytes; at most %d",
			q.Tool, len(q.Text), api.MaxQuestionText)
	case len(q.Schema) > api.MaxQuestionSchema:
		return api.Errorf(api.ErrExecution,
			"%s asks a person with a schema of %d bytes; at most %d", q.Tool, len(q.Schema),
			api.MaxQuestionSchema)
	}
	if _, err := schemas.NewForm(q.Schema); err != nil {
		return api.Errorf(api.ErrExecution, "%s asks a person with a schema that is none: %v",
			q.Tool, err)
	}
	return nil
}

// updateID derives the question's ID from its content, so that a later attempt of the call finds
// the question and its reply in whatever order it asks. The ID includes the run, because a reset
// run keeps the updates of its earlier history and the server accepts no second update with the ID
// of a rejected one.
func (a *asker) updateID(q api.Question) string {
	digest := api.Digest([]byte(strconv.Itoa(len(q.Text)) + q.Text + string(q.Schema)))
	a.mu.Lock()
	defer a.mu.Unlock()
	a.asked[digest]++
	return strings.Join([]string{"ask", a.runID, a.callID, digest, strconv.Itoa(a.asked[digest])},
		"/")
}

// post sends the question to the run and waits for the reply. The server answers a second post with
// the same ID with the outcome of the first.
func (a *asker) post(ctx context.Context, id string, q api.Question) (reply api.Reply, err error) {
	handle, err := a.client.UpdateWorkflow(ctx,
		client.UpdateWorkflowOptions{WorkflowID: a.workflowID, RunID: a.runID,
			UpdateID: id, UpdateName: api.AskQuestionUpdate, Args: []any{q},
			WaitForStage: client.WorkflowUpdateStageAccepted})
	if err != nil {
		return reply, err
	}
	err = handle.Get(ctx, &reply)
	return reply, err
}

func (a *asker) note(r api.Reply) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.notes = append(a.notes, "question "+r.Question+" was "+people.ReplyNote(r))
}

// final returns the call's error for a failed post. It returns nil if asking again may help: too
// many calls have open questions, or the server or the run does not answer at the moment.
func (a *asker) final(err error) error {
	if app, ok := errors.AsType[*temporal.ApplicationError](err); ok {
		switch api.ReplyErrorType(app.Type()) {
		case api.ReplyBusy:
			return nil
		case api.ReplyTimeout:
			return failures.NotAnswered(a.tool, api.Duration(a.within))
		case api.AskRefused:
			return api.Errorf(api.ErrExecution,
				"%s asks a person what the run does not pass on: %s", a.tool, app.Message())
		}
		return api.Errorf(api.ErrCancelled, "the question was withdrawn: %s", app.Message())
	}
	if _, gone := errors.AsType[*serviceerror.NotFound](err); gone {
		return api.Errorf(api.ErrCancelled, "the run that asks has ended")
	}
	if _, refused := errors.AsType[*serviceerror.InvalidArgument](err); refused {
		return api.Errorf(api.ErrExecution, "the server refuses the question of %s: %v", a.tool,
			err)
	}
	if _, refused := errors.AsType[*serviceerror.PermissionDenied](err); refused {
		return api.Errorf(api.ErrExecution, "the worker may not ask on behalf of %s: %v", a.tool,
			err)
	}
	return nil
}
