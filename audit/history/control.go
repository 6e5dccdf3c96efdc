package history

import (
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit/internal/pb"
	historypb "go.temporal.io/api/history/v1"
	updatepb "go.temporal.io/api/update/v1"
)

// controlled reads an update that has the run pause, go on, or read a message. The run does so as soon as it has accepted it.
func (d *Deriver) controlled(e *historypb.HistoryEvent, id string, input *updatepb.Input) error {
	switch input.GetName() {
	case api.SendMessageUpdate:
		var s api.Sent
		if err := d.decodeEvent(e, "message", input.GetArgs(), &s); err != nil {
			return err
		}
		d.messageSent(e, id, s)
	case api.PauseUpdate, api.ResumeUpdate:
		var p api.Pause
		if err := d.decodeEvent(e, "pause", input.GetArgs(), &p); err != nil {
			return err
		}
		p.Since = pb.TimeOf(e.GetEventTime())
		d.pause(e, &d.summary.Paused, p, input.GetName() == api.PauseUpdate)
	}
	return nil
}

// signalled reads a message that came by signal. What is none, the run has left out too.
func (d *Deriver) signalled(e *historypb.HistoryEvent) error {
	a := e.GetWorkflowExecutionSignaledEventAttributes()
	var s api.Sent
	if a.GetSignalName() != api.SendMessageSignal || pb.Decode(a.GetInput(), &s) != nil || s.Check() != nil {
		return nil
	}
	d.messageSent(e, s.ID, s)
	return nil
}

// messageSent tells of a message, once.
func (d *Deriver) messageSent(e *historypb.HistoryEvent, id string, s api.Sent) {
	if id != "" && d.sent[id] {
		return
	}
	d.sent[id], s.ID = true, id
	d.emit(e, api.Event{Type: api.EventMessageSent, Turn: d.turn, Sent: &s})
}

// pausedOnServer and resumedOnServer read that the server holds the run, and that it does so no more.
func (d *Deriver) pausedOnServer(e *historypb.HistoryEvent) error {
	a := e.GetWorkflowExecutionPausedEventAttributes()
	d.pause(e, &d.summary.PausedOnServer, api.Pause{By: a.GetIdentity(), Reason: a.GetReason(), Since: pb.TimeOf(e.GetEventTime()), OnServer: true}, true)
	return nil
}

func (d *Deriver) resumedOnServer(e *historypb.HistoryEvent) error {
	a := e.GetWorkflowExecutionUnpausedEventAttributes()
	d.pause(e, &d.summary.PausedOnServer, api.Pause{By: a.GetIdentity(), Reason: a.GetReason(), Since: pb.TimeOf(e.GetEventTime()), OnServer: true}, false)
	return nil
}

// pause begins or ends a pause, which standing holds while it lasts.
func (d *Deriver) pause(e *historypb.HistoryEvent, statusText **api.Pause, p api.Pause, begins bool) {
	event := api.Event{Type: api.EventRunResumed, Turn: d.turn, Pause: &p}
	*statusText = nil
	if begins {
		event.Type, *statusText = api.EventRunPaused, &p
	}
	d.stand()
	d.emit(e, event)
}

// stand makes the run's status that of a run that is paused, or is not.
func (d *Deriver) stand() {
	d.summary.Status = RunRunning
	if d.summary.Paused != nil || d.summary.PausedOnServer != nil {
		d.summary.Status = RunPaused
	}
}
