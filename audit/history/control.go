package history

import (
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit/internal/pb"
	"github.com/switchyard/switchyard/internal/core/people"
	historypb "go.temporal.io/api/history/v1"
)

// control is what people have the run do: pause, resume, read a message.
type control struct {
	run *run
	// sent are the IDs of the messages that the run was sent.
	sent map[string]bool
}

func (c *control) readInstanceClose(e *historypb.HistoryEvent, _ string,
	closes api.CloseInstance) {
	c.run.emit(e, api.Event{Type: api.EventInstanceClosed, Turn: c.run.turn, Closes: &closes})
}

func (c *control) readPause(e *historypb.HistoryEvent, _ string, p api.Pause) {
	p.Since = pb.Time(e.GetEventTime())
	c.run.summary.Paused = &p
	c.run.stand()
	c.run.emit(e, api.Event{Type: api.EventRunPaused, Turn: c.run.turn, Pause: &p})
}

func (c *control) readResume(e *historypb.HistoryEvent, _ string, p api.Pause) {
	p.Since = pb.Time(e.GetEventTime())
	c.run.summary.Paused = nil
	c.run.stand()
	c.run.emit(e, api.Event{Type: api.EventRunResumed, Turn: c.run.turn, Pause: &p})
}

// readSignal reads a message that came by signal. The run ignores invalid messages too.
func (c *control) readSignal(e *historypb.HistoryEvent) error {
	a := e.GetWorkflowExecutionSignaledEventAttributes()
	var s api.Sent
	if a.GetSignalName() != api.SendMessageSignal || pb.Decode(a.GetInput(), &s) != nil ||
		people.CheckMessage(s) != nil {
		return nil
	}
	c.readMessage(e, s.ID, s)
	return nil
}

// readMessage emits a message once.
func (c *control) readMessage(e *historypb.HistoryEvent, id string, s api.Sent) {
	if id != "" && c.sent[id] {
		return
	}
	c.sent[id], s.ID = true, id
	c.run.emit(e, api.Event{Type: api.EventMessageSent, Turn: c.run.turn, Sent: &s})
}
