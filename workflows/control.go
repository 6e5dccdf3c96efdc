package workflows

import (
	"fmt"

	"github.com/switchyard/switchyard/api"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"
)

// control is what people have to do with a run while it goes on: they answer what it asks, approve its calls, send it messages,
// and have it pause.
type control struct {
	questions *questions
	approvals *approvals
	inbox     *inbox
	// paused says who has the run pause, and why; nil while it goes on.
	paused *api.Pause
	// ended is set where the run has failed or is cancelled, so that it cannot be paused.
	ended bool
	taken *controls
}

// newControl makes the run take all updates. It comes before anything that waits, so that no update finds the run without.
func newControl(ctx workflow.Context, agent bool) (*control, error) {
	asked, err := newQuestions(ctx)
	if err != nil {
		return nil, err
	}
	wanted, err := newApprovals(ctx)
	if err != nil {
		return nil, err
	}
	taken := new(controls)
	sent, err := newInbox(ctx, agent, taken)
	if err != nil {
		return nil, err
	}
	c := &control{questions: asked, approvals: wanted, inbox: sent, taken: taken}
	err = workflow.SetUpdateHandlerWithOptions(ctx, api.PauseUpdate, c.pause,
		workflow.UpdateHandlerOptions{Validator: c.mayPause, Description: "the run pauses: what runs ends, nothing new starts"})
	if err != nil {
		return nil, err
	}
	return c, workflow.SetUpdateHandlerWithOptions(ctx, api.ResumeUpdate, c.resume,
		workflow.UpdateHandlerOptions{Validator: c.mayResume, Description: "a paused run goes on"})
}

// restore takes what an earlier execution of the run left.
func (c *control) restore(continueState *api.ContinueState) {
	c.paused, c.inbox.known = continueState.Paused, continueState.Sent
}

func (c *control) mayPause(_ workflow.Context, p api.Pause) error {
	e := p.Check()
	switch {
	case e != nil:
	case c.ended:
		e = &api.ControlError{Type: api.RunEnding, Message: "the run is ending"}
	case c.taken.full():
		e = c.taken.refusal()
	case c.paused != nil:
		e = &api.ControlError{Type: api.PauseAlready, Message: "the run is " + c.paused.Note()}
	}
	return refuseControl(e)
}

// pause has the run start nothing more. A memo tells so where runs are listed.
func (c *control) pause(ctx workflow.Context, p api.Pause) error {
	*c.taken++
	p.Since = workflow.Now(ctx)
	c.paused = &p
	return workflow.UpsertMemo(ctx, map[string]any{api.PausedMemo: p})
}

func (c *control) mayResume(_ workflow.Context, p api.Pause) error {
	e := p.Check()
	if e == nil && c.paused == nil {
		e = &api.ControlError{Type: api.NotPaused, Message: "the run is not paused"}
	}
	return refuseControl(e)
}

func (c *control) resume(ctx workflow.Context, _ api.Pause) error {
	*c.taken++
	c.paused = nil
	return workflow.UpsertMemo(ctx, map[string]any{api.PausedMemo: nil})
}

// end lets the run end that has failed or is cancelled, paused or not: it may have to undo what it has done.
func (c *control) end() { c.paused, c.ended = nil, true }

// goOn waits while the run is paused. Its error is that of a cancelled context.
func (c *control) goOn(ctx workflow.Context) error {
	if c.paused == nil {
		return nil
	}
	return workflow.Await(ctx, func() bool { return c.paused == nil })
}

// resumed is ready when the run is not paused any more, or the context is cancelled.
func (c *control) resumed(ctx workflow.Context) workflow.Future {
	future, end := workflow.NewFuture(ctx)
	workflow.Go(ctx, func(ctx workflow.Context) { end.SetError(c.goOn(ctx)) })
	return future
}

// listen lets a model step begin: it waits while the run is paused, and puts the messages that the run was sent into the
// conversation, unless the step sums up what stands there. After a step at a limit there is none that could read more.
func (r *agentRun) listen(ctx workflow.Context, limit string, sumsUp bool) error {
	if err := r.pipeline.control.goOn(ctx); err != nil {
		return err
	}
	if !sumsUp {
		r.read(ctx)
	}
	if limit != "" {
		r.pipeline.control.inbox.close(fmt.Sprintf("has reached its limit of %s", limit))
	}
	return nil
}

// read puts the messages that the run was sent into the conversation.
func (r *agentRun) read(ctx workflow.Context) {
	i := r.pipeline.control.inbox
	i.hear(ctx)
	for _, s := range i.sent {
		r.conversation.add(api.Message{Role: api.RoleUser, Text: s.Text})
		r.window.Tokens += len(s.Text) / bytesPerToken
	}
	i.sent, i.size = nil, 0
}

// mustGoOn reports whether an answer is not the run's end, because there are messages that the model has not seen. A paused
// run does not end: somebody may be about to send it one.
func (r *agentRun) mustGoOn(ctx workflow.Context, stop api.Stop) (bool, error) {
	c := r.pipeline.control
	if stop == api.StopRefusal {
		return false, nil
	}
	if err := c.goOn(ctx); err != nil && !r.timeOver {
		return false, err
	}
	return c.inbox.unseen(ctx), nil
}

// refuseControl is what an update fails with that is refused; nil where there is nothing to refuse.
func refuseControl(e *api.ControlError) error {
	if e == nil {
		return nil
	}
	return temporal.NewApplicationErrorWithOptions(e.Message, string(e.Type), temporal.ApplicationErrorOptions{NonRetryable: true, Details: []any{*e}})
}
