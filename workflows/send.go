package workflows

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/switchyard/switchyard/api"
	"go.temporal.io/sdk/workflow"
)

// maxKnownSent is how many ids of messages a run knows again: with an id of these, what is sent twice is one message.
const maxKnownSent = 200

// inbox has the messages that a run was sent and has not put into its conversation yet: there they stand before the next
// model step, when every call of the last one is answered.
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
	return &api.ControlError{Type: api.ControlFull, Message: fmt.Sprintf("the run's history has %d messages and pauses, and takes no more; "+
		"an agent takes more when it goes on in a fresh one, after its next turns", *c)}
}

// newInbox makes the run take messages, or refuse them where it is not an agent's.
func newInbox(ctx workflow.Context, agent bool, c *controls) (*inbox, error) {
	i := &inbox{agent: agent, controls: c}
	return i, workflow.SetUpdateHandlerWithOptions(ctx, api.SendMessageUpdate, i.send,
		workflow.UpdateHandlerOptions{Validator: i.maySend, Description: "a user's message to the agent"})
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
		return refuseSend(api.RunEnding, "the run reads no more messages: it "+cmp.Or(i.closed, "is being cancelled"))
	case slices.Contains(i.known, sentID(ctx, s)):
		return nil
	case i.controls.full():
		return refuseControl(i.controls.refusal())
	case i.size+len(s.Text) > api.MaxUnseen || len(i.sent) >= api.MaxUnseenMessages:
		return refuseSend(api.SendFull, fmt.Sprintf("%d messages with %d bytes wait to be read; the run takes more when it has read them", len(i.sent), i.size))
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
