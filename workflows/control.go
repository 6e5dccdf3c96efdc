package workflows

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/switchyard/switchyard/api"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"
)

// control is what people have to do with a run while it goes on: they answer what it asks, approve
// its calls, send it messages, and have it pause.
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

// newControl makes the run take all updates. It comes before anything that waits, so that no update
// finds the run without.
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
		workflow.UpdateHandlerOptions{Validator: c.mayPause,
			Description: "the run pauses: what runs ends, nothing new starts"})
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

// end lets the run end that has failed or is cancelled, paused or not: it may have to undo what it
// has done.
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

// listen lets a model step begin: it waits while the run is paused, and puts the messages that the
// run was sent into the conversation, unless the step sums up what stands there. After a step at a
// limit there is none that could read more.
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
		r.conversation.Add(api.Message{Role: api.RoleUser, Text: s.Text})
		r.window.Tokens += len(s.Text) / bytesPerToken
	}
	i.sent, i.size = nil, 0
}

// mustGoOn reports whether an answer is not the run's end, because there are messages that the
// model has not seen. A paused run does not end: somebody may be about to send it one.
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
	return temporal.NewApplicationErrorWithOptions(e.Message, string(e.Type),
		temporal.ApplicationErrorOptions{NonRetryable: true, Details: []any{*e}})
}

// maxKnownSent is how many ids of messages a run knows again: with an id of these, what is sent
// twice is one message.
const maxKnownSent = 200

// inbox has the messages that a run was sent and has not put into its conversation yet: there they
// stand before the next model step, when every call of the last one is answered.
type inbox struct {
	// agent says that the run is one that reads messages.
	agent bool
	sent  []api.Sent
	size  int
	// known are the ids of the messages that came last.
	known []string
	// closed says why the run reads no more messages; empty while it does.
	closed   string
	controls *controls
}

// controls counts the messages and pauses that the run's history has.
type controls int

func (c *controls) full() bool { return *c >= api.MaxControls }

func (c *controls) refusal() *api.ControlError {
	return &api.ControlError{Type: api.ControlFull,
		Message: fmt.Sprintf("the run's history has %d messages and pauses, and takes no more; "+
			"an agent takes more when it goes on in a fresh one, after its next turns", *c)}
}

// newInbox makes the run take messages, or refuse them where it is not an agent's.
func newInbox(ctx workflow.Context, agent bool, c *controls) (*inbox, error) {
	i := &inbox{agent: agent, controls: c}
	return i, workflow.SetUpdateHandlerWithOptions(ctx, api.SendMessageUpdate, i.send,
		workflow.UpdateHandlerOptions{Validator: i.maySend,
			Description: "a user's message to the agent"})
}

// maySend refuses, without a trace in history, what the run will not read.
func (i *inbox) maySend(ctx workflow.Context, s api.Sent) error {
	if e := s.Check(); e != nil {
		return refuseControl(e)
	}
	switch {
	case !i.agent:
		return refuseSend(api.SendNoAgent, "the run is not an agent's: only agents read messages")
	case i.closed != "" || ctx.Err() != nil:
		return refuseSend(api.RunEnding, "the run reads no more messages: it "+
			cmp.Or(i.closed, "is being cancelled"))
	case slices.Contains(i.known, sentID(ctx, s)):
		return nil
	case i.controls.full():
		return refuseControl(i.controls.refusal())
	case i.size+len(s.Text) > api.MaxUnseen || len(i.sent) >= api.MaxUnseenMessages:
		return refuseSend(api.SendFull,
			fmt.Sprintf("%d messages with %d bytes wait to be read; the run takes more when it has read them",
				len(i.sent), i.size))
	}
	return nil
}

func refuseSend(t api.ControlErrorType, message string) error {
	return refuseControl(&api.ControlError{Type: t, Message: message})
}

// close has the run refuse messages from now on, because of why.
func (i *inbox) close(why string) { i.closed = cmp.Or(i.closed, why) }

// sentID is a message's id: that of the update that brings it, or its own.
func sentID(ctx workflow.Context, s api.Sent) string {
	if info := workflow.GetCurrentUpdateInfo(ctx); info != nil {
		return info.ID
	}
	return s.ID
}

func (i *inbox) send(ctx workflow.Context, s api.Sent) error {
	*i.controls++
	i.add(s, sentID(ctx, s))
	return nil
}

// add keeps a message, unless one with its id came before.
func (i *inbox) add(s api.Sent, id string) {
	if id != "" {
		if slices.Contains(i.known, id) {
			return
		}
		i.known = append(i.known, id)
		i.known = i.known[max(len(i.known)-maxKnownSent, 0):]
	}
	i.sent = append(i.sent, s)
	i.size += len(s.Text)
}

// unseen reports whether there are messages that no model step has seen.
func (i *inbox) unseen(ctx workflow.Context) bool {
	i.hear(ctx)
	return len(i.sent) > 0
}

// hear takes what came by signal, but for what is no message.
func (i *inbox) hear(ctx workflow.Context) {
	channel := workflow.GetSignalChannel(ctx, api.SendMessageSignal)
	for s := (api.Sent{}); channel.ReceiveAsync(&s); s = (api.Sent{}) {
		if s.Check() == nil {
			i.add(s, s.ID)
		}
	}
}
