package workflows

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/people"
	"github.com/switchyard/switchyard/internal/value/jsonvalue"
	"github.com/switchyard/switchyard/workflows/budget"
	"github.com/switchyard/switchyard/workflows/failure"
	"go.temporal.io/sdk/workflow"
)

// control is how people act on a running run: answer its questions, approve its calls, send it
// messages and pause it.
type control struct {
	Bystander
	questions *questions
	approvals *approvals
	inbox     *inbox
	// instances are those of the run; nil before it has pinned its tools.
	instances *instances
	// paused says who paused the run and why; nil while it runs.
	paused *api.Pause
	// ended is set when the run has failed or is cancelled; it cannot be paused any more.
	ended bool
	// sizes counts the updates that the run accepts, and everything else that it sends.
	sizes *budget.Sizes
	// changed updates what the run shows about its state, once it has pinned its tools.
	changed func(workflow.Context)
}

// newControl registers all update handlers. Call it before anything that blocks, so that every
// update finds its handler.
func newControl(ctx workflow.Context, agent bool) (*control, error) {
	sizes := &budget.Sizes{}
	asked, err := newQuestions(ctx, sizes)
	if err != nil {
		return nil, err
	}
	wanted, err := newApprovals(ctx, sizes)
	if err != nil {
		return nil, err
	}
	sent, err := newInbox(ctx, agent, sizes)
	if err != nil {
		return nil, err
	}
	c := &control{questions: asked, approvals: wanted, inbox: sent, sizes: sizes,
		changed: unshown}
	err = workflow.SetUpdateHandlerWithOptions(ctx, api.PauseUpdate, c.pause,
		workflow.UpdateHandlerOptions{Validator: c.mayPause,
			Description: "the run pauses: what runs ends, nothing new starts"})
	if err != nil {
		return nil, err
	}
	err = workflow.SetUpdateHandlerWithOptions(ctx, api.ResumeUpdate, c.resume,
		workflow.UpdateHandlerOptions{Validator: c.mayResume, Description: "a paused run goes on"})
	if err != nil {
		return nil, err
	}
	return c, workflow.SetUpdateHandlerWithOptions(ctx, api.CloseInstanceUpdate, c.closeInstance,
		workflow.UpdateHandlerOptions{Validator: c.mayClose,
			Description: "an instance is closed once its running calls have ended"})
}

// restore restores what people did in an earlier execution of the run.
func (c *control) Restore(_ workflow.Context, before *api.ContinueState) {
	c.paused, c.inbox.known = before.Paused, before.Sent
}

// save adds what continue-as-new carries of what people did.
func (c *control) Save(_ workflow.Context, next *api.ContinueState) {
	next.Paused, next.Sent = c.paused, c.inbox.known
}

func (c *control) mayPause(ctx workflow.Context, p api.Pause) error {
	e := people.CheckPause(p)
	switch {
	case e != nil:
	case c.ended:
		e = &api.ControlError{Type: api.RunEnding, Message: "the run is ending"}
	case c.sizes.Updates.Full(ctx):
		e = updatesFull()
	case c.paused != nil:
		e = &api.ControlError{Type: api.PauseAlready, Message: "the run is " + people.PauseNote(*c.paused)}
	}
	return failure.Refusal(e)
}

// pause stops the run from starting anything more. A memo shows it in run lists.
func (c *control) pause(ctx workflow.Context, p api.Pause) error {
	c.sizes.Updates++
	p.Since = workflow.Now(ctx)
	c.paused = &p
	c.changed(ctx)
	return workflow.UpsertMemo(ctx, map[string]any{api.PausedMemo: p})
}

func (c *control) mayResume(_ workflow.Context, p api.Pause) error {
	e := people.CheckPause(p)
	if e == nil && c.paused == nil {
		e = &api.ControlError{Type: api.NotPaused, Message: "the run is not paused"}
	}
	return failure.Refusal(e)
}

func (c *control) resume(ctx workflow.Context, _ api.Pause) error {
	c.sizes.Updates++
	c.paused = nil
	c.changed(ctx)
	return workflow.UpsertMemo(ctx, map[string]any{api.PausedMemo: nil})
}

// close clears a pause, so that a failed or cancelled run can undo its calls.
func (c *control) close() { c.paused, c.ended = nil, true }

// goOn waits while the run is paused. It returns an error only if the context is cancelled.
func (c *control) goOn(ctx workflow.Context) error {
	if c.paused == nil {
		return nil
	}
	return workflow.Await(ctx, func() bool { return c.paused == nil })
}

// newResumeFuture is ready when the run is not paused, or the context is cancelled.
func (c *control) newResumeFuture(ctx workflow.Context) workflow.Future {
	future, end := workflow.NewFuture(ctx)
	workflow.Go(ctx, func(ctx workflow.Context) { end.SetError(c.goOn(ctx)) })
	return future
}

// maxKnownSent bounds the message IDs that a run remembers to drop duplicates.
const maxKnownSent = 200

// inbox holds the messages that a run was sent and has not added to its conversation. They are
// added before the next model step, after all calls of the last step are answered.
type inbox struct {
	// agent is set if the run reads messages.
	agent bool
	sent  []api.Sent
	size  int
	// next is a message by signal that does not fit beside those of sent; nil for none. It and the
	// signals after it are read with the model step after the next.
	next *api.Sent
	// known holds the IDs of the latest messages.
	known []string
	// closed says why the run reads no more messages; empty while it reads them.
	closed string
	sizes  *budget.Sizes
}

// updatesFull refuses updates that leave too few of the history's updates to people.
func updatesFull() *api.ControlError {
	return &api.ControlError{Type: api.ControlFull, Message: "the run's history has almost as many " +
		"updates as a server accepts, and the rest is for decisions, answers and the end of the " +
		"run; an agent takes more after its next turns, a session when its running calls have ended"}
}

// newInbox registers the message handlers. Runs that are not an agent's reject messages.
func newInbox(ctx workflow.Context, agent bool, sizes *budget.Sizes) (*inbox, error) {
	i := &inbox{agent: agent, sizes: sizes}
	return i, workflow.SetUpdateHandlerWithOptions(ctx, api.SendMessageUpdate, i.send,
		workflow.UpdateHandlerOptions{Validator: i.maySend,
			Description: "a user's message to the agent"})
}

// maySend rejects, without an event in history, messages that the run will not read.
func (i *inbox) maySend(ctx workflow.Context, s api.Sent) error {
	if e := people.CheckMessage(s); e != nil {
		return failure.Refusal(e)
	}
	switch {
	case !i.agent:
		return refuseControl(api.SendNoAgent, "the run is not an agent's: only agents read messages")
	case i.closed != "" || ctx.Err() != nil:
		return refuseControl(api.RunEnding, "the run reads no more messages: it "+
			cmp.Or(i.closed, "is being cancelled"))
	case slices.Contains(i.known, sentID(ctx, s)):
		return nil
	}
	return i.withinBounds(ctx, s)
}

// withinBounds rejects a message that exceeds a bound.
func (i *inbox) withinBounds(ctx workflow.Context, s api.Sent) error {
	switch {
	case i.sizes.Updates.Full(ctx):
		return failure.Refusal(updatesFull())
	case !i.sizes.Task.Accepts(ctx, jsonvalue.TextSize(s.Text)):
		return refuseControl(api.SendFull, busy)
	case i.next != nil || !i.fits(s):
		return refuseControl(api.SendFull, fmt.Sprintf("%d messages with %d bytes wait to be read; "+
			"the run takes more when it has read them", len(i.sent), i.size))
	}
	return nil
}

func refuseControl(t api.ControlErrorType, message string) error {
	return failure.Refusal(&api.ControlError{Type: t, Message: message})
}

// close makes the run reject messages from now on; why is the reason.
func (i *inbox) close(why string) { i.closed = cmp.Or(i.closed, why) }

// sentID returns the ID of the update that carries the message, else the message's own ID.
func sentID(ctx workflow.Context, s api.Sent) string {
	if info := workflow.GetCurrentUpdateInfo(ctx); info != nil {
		return info.ID
	}
	return s.ID
}

func (i *inbox) send(ctx workflow.Context, s api.Sent) error {
	i.sizes.Updates++
	i.sizes.Task.Add(ctx, jsonvalue.TextSize(s.Text))
	i.add(s, sentID(ctx, s))
	return nil
}

// add stores a message, unless one with its ID came before.
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

// fits reports whether a message fits into the bounds of unread messages.
func (i *inbox) fits(s api.Sent) bool {
	return i.size+len(s.Text) <= api.MaxUnseen && len(i.sent) < api.MaxUnseenMessages
}

// hear takes messages that arrived by signal, as many as fit, and drops malformed ones. A signal
// cannot be refused, so the others wait in the run.
func (i *inbox) hear(ctx workflow.Context) {
	if i.next == nil && !slices.Contains(workflow.GetUnhandledSignalNames(ctx),
		api.SendMessageSignal) {
		return // a run without such signals has no channel for them
	}
	channel := workflow.GetSignalChannel(ctx, api.SendMessageSignal)
	for {
		if i.next == nil {
			var s api.Sent
			if !channel.ReceiveAsync(&s) {
				return
			}
			if people.CheckMessage(s) != nil {
				continue
			}
			i.next = &s
		}
		if !i.fits(*i.next) {
			return
		}
		i.add(*i.next, i.next.ID)
		i.next = nil
	}
}

// closeInstance closes an instance on a person's request.
func (c *control) closeInstance(ctx workflow.Context, r api.CloseInstance) error {
	c.sizes.Updates++
	c.instances.find(r.Instance).closeOnDemand(ctx, "the last one was "+people.CloseNote(r))
	return nil
}

// mayClose rejects requests to close an instance that the run does not have.
func (c *control) mayClose(ctx workflow.Context, r api.CloseInstance) error {
	e := people.CheckClose(r)
	switch {
	case e != nil:
	case c.ended || c.instances != nil && c.instances.closing:
		e = &api.ControlError{Type: api.RunEnding, Message: "the run is ending"}
	case c.sizes.Updates.Full(ctx):
		e = updatesFull()
	default:
		e = c.instances.checkOpen(r.Instance)
	}
	return failure.Refusal(e)
}
