package workflows

import (
	"fmt"

	"github.com/switchyard/switchyard/api"
	"go.temporal.io/sdk/workflow"
)

// listen prepares a model step: it waits while the run is paused and adds received messages to the
// conversation, unless the step summarises it. A step at a limit is the last one, so the inbox
// closes.
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

// mustGoOn reports whether the run continues after an answer, because the model has not seen all
// messages. A paused run does not end, because a message may still arrive.
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

// readAllSent adds all messages that the run was sent, for continue-as-new, which would lose the
// others.
func (r *agentRun) readAllSent(ctx workflow.Context) {
	for r.read(ctx); r.pipeline.control.inbox.unseen(ctx); {
		r.read(ctx)
	}
}

// read adds the messages that the run was sent to the conversation, at most those that fit into the
// bounds of unread messages.
func (r *agentRun) read(ctx workflow.Context) {
	i := r.pipeline.control.inbox
	i.hear(ctx)
	for _, s := range i.sent {
		r.conversation.Add(api.Message{Role: api.RoleUser, Text: s.Text})
		r.pipeline.statements.Add(api.SourceMessage, s.Text)
		r.window.Tokens += len(s.Text) / bytesPerToken
	}
	i.sent, i.size = nil, 0
}
