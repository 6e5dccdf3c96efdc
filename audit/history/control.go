package history

import (
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit/internal/pb"
	"github.com/switchyard/switchyard/internal/core/people"
	historypb "go.temporal.io/api/history/v1"
	updatepb "go.temporal.io/api/update/v1"
)

// control is what people have the run do: pause, resume, read a message.
type control struct {
	run *run
	// sent are the IDs of the messages that the run was sent.
	sent map[string]bool
}

// message reads a message that came by update.
func (c *control) message(e *historypb.HistoryEvent, id string, input *updatepb.Input) error {
	var s api.Sent
	err := c.run.decodeEvent(e, "message", input.GetArgs(), &s)
	if err == nil {
		c.messageSent(e, id, s)
	}
	return err
}

func (c *control) readPause(e *historypb.HistoryEvent, _ string, input *updatepb.Input) error {
	return c.pauseUpdate(e, input, true)
}

func (c *control) readResume(e *historypb.HistoryEvent, _ string, input *updatepb.Input) error {
	return c.pauseUpdate(e, input, false)
}

func (c *control) readInstanceClose(e *historypb.HistoryEvent, _ string,
	input *updatepb.Input) error {
	var closes api.CloseInstance
	err := c.run.decodeEvent(e, "request to close an instance", input.GetArgs(), &closes)
	if err == nil {
		c.run.emit(e, api.Event{Type: api.EventInstanceClosed, Turn: c.run.turn, Closes: &closes})
	}
	return err
}

func (c *control) pauseUpdate(e *historypb.HistoryEvent, input *updatepb.Input, begins bool) error {
	var p api.Pause
	if err := c.run.decodeEvent(e, "pause", input.GetArgs(), &p); err != nil {
		return err
	}
	p.Since = pb.TimeOf(e.GetEventTime())
	event := api.Event{Type: api.EventRunResumed, Turn: c.run.turn, Pause: &p}
	c.run.summary.Paused = nil
	if begins {
		event.Type, c.run.summary.Paused = api.EventRunPaused, &p
	}
	c.run.stand()
	c.run.emit(e, event)
	return nil
}

// readSignal reads a message that came by signal. The run ignores invalid messages too.
func (c *control) readSignal(e *historypb.HistoryEvent) error {
	a := e.GetWorkflowExecutionSignaledEventAttributes()
	var s api.Sent
	if a.GetSignalName() != api.SendMessageSignal || pb.Decode(a.GetInput(), &s) != nil ||
		people.CheckMessage(s) != nil {
		return nil
	}
	c.messageSent(e, s.ID, s)
	return nil
}

// messageSent emits a message once.
func (c *control) messageSent(e *historypb.HistoryEvent, id string, s api.Sent) {
	if id != "" && c.sent[id] {
		return
	}
	c.sent[id], s.ID = true, id
	c.run.emit(e, api.Event{Type: api.EventMessageSent, Turn: c.run.turn, Sent: &s})
}
