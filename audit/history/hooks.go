package history

import (
	"encoding/json"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit/internal/pb"
	commonpb "go.temporal.io/api/common/v1"
	historypb "go.temporal.io/api/history/v1"
)

// hookScheduled reads the start of a hook of the run.
func (d *Deriver) hookScheduled(e *historypb.HistoryEvent) error {
	a := e.GetActivityTaskScheduledEventAttributes()
	var request api.HookRequest
	if err := d.decodeEvent(e, "hook request", a.GetInput(), &request); err != nil {
		return err
	}
	timing := api.Timing{Lane: api.LaneOf(d.base, a.GetTaskQueue().GetName()), Scheduled: pb.TimeOf(e.GetEventTime())}
	d.open[e.GetEventId()] = &activity{id: a.GetActivityId(), order: e.GetEventId(), record: api.Record{Timing: timing},
		hook: &api.HookAction{Hook: request.Hook.Name, Point: request.Point}}
	return nil
}

func (d *Deriver) hookCompleted(e *historypb.HistoryEvent, a *activity, result *commonpb.Payloads) error {
	var answer api.HookAnswer
	if err := d.decodeEvent(e, "hook answer", result, &answer); err != nil {
		return err
	}
	a.hook.Outcome = api.HookDone
	if answer.Refused != "" {
		a.hook.Outcome, a.hook.Reason = api.HookRefused, answer.Refused
	}
	d.hookEnded(e, a)
	return nil
}

func (d *Deriver) hookFailed(e *historypb.HistoryEvent, a *activity, f api.ActivityFailure) {
	a.hook.Outcome, a.hook.Reason = api.HookFailed, f.Message
	switch {
	case f.Timeout != "":
		a.hook.Reason = "its worker was lost, or it did not end in time"
	case f.Cancelled:
		a.hook.Reason = "the run was cancelled"
	}
	d.hookEnded(e, a)
}

// hookEnded tells of a hook of the run that is over.
func (d *Deriver) hookEnded(e *historypb.HistoryEvent, a *activity) {
	d.emit(e, api.Event{Type: api.EventHookEnded, Turn: d.turn, Hook: a.hook, Timing: &a.record.Timing})
}

// overridden ends a call that was answered in the tool's place, by a hook or because it is a dry run: it never ran.
func (d *Deriver) overridden(e *historypb.HistoryEvent, w *wantedCall, v api.AdmissionDecision) {
	r := d.unscheduled(w)
	if len(v.Arguments) > 0 {
		r.Arguments = d.shown(w.Tool, v.Arguments)
	}
	r = withResult(r, *v.Result)
	r.Phase = api.PhasePreExecution
	r = d.admitted(r, v, []byte(w.Arguments))
	d.summary.Usage.Calls++
	if v.DryRun && d.withheld != nil {
		d.withheld(d.withheldCall(w, v))
	}
	d.end(e, r)
}

// withheldCall is a call that its verdict withholds.
func (d *Deriver) withheldCall(w *wantedCall, v api.AdmissionDecision) api.WithheldCall {
	t := d.tools[w.Tool]
	arguments := v.Arguments
	if len(arguments) == 0 {
		arguments = json.RawMessage(w.Arguments)
	}
	return api.WithheldCall{Path: w.ID, Tool: w.Tool, Version: t.Version, Digest: t.Digest, Arguments: arguments, Plan: v.Plan,
		Ask: api.Shorten(api.PoliciesSaid(v.Policies, api.PolicyAsk), api.MaxAsk), Mask: t.ArgumentMask()}
}
