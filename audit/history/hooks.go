package history

import (
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/failures"
	commonpb "go.temporal.io/api/common/v1"
	historypb "go.temporal.io/api/history/v1"
)

// hooks are the hooks of the run, before it begins and after it ends.
type hooks struct{ run *run }

// readScheduled reads the start of a hook.
func (h *hooks) readScheduled(e *historypb.HistoryEvent, a *activity) (*activity, error) {
	var request api.HookRequest
	input := e.GetActivityTaskScheduledEventAttributes().GetInput()
	if err := h.run.decodeEvent(e, "hook request", input, &request); err != nil {
		return nil, err
	}
	a.hook = &api.HookAction{Hook: request.Hook.Name, Point: request.Point}
	return a, nil
}

func (h *hooks) readCompleted(e *historypb.HistoryEvent, a *activity,
	result *commonpb.Payloads) error {
	var answer api.HookAnswer
	if err := h.run.decodeEvent(e, "hook answer", result, &answer); err != nil {
		return err
	}
	a.hook.Outcome = api.HookDone
	if answer.Refused != "" {
		a.hook.Outcome, a.hook.Reason = api.HookRefused, answer.Refused
	}
	h.end(e, a)
	return nil
}

func (h *hooks) readFailed(e *historypb.HistoryEvent, a *activity, f failures.ActivityFailure) {
	a.hook.Outcome, a.hook.Reason = api.HookFailed, f.Message
	switch {
	case f.Timeout != "":
		a.hook.Reason = "its worker was lost or it timed out"
	case f.Cancelled:
		a.hook.Reason = "the run was cancelled"
	}
	h.end(e, a)
}

// end emits the end of a hook.
func (h *hooks) end(e *historypb.HistoryEvent, a *activity) {
	h.run.emit(e, api.Event{
		Type:   api.EventHookEnded,
		Turn:   h.run.turn,
		Hook:   a.hook,
		Timing: &a.record.Timing,
	})
}
