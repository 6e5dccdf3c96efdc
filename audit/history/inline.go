package history

import (
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit/internal/pb"
	commonpb "go.temporal.io/api/common/v1"
	failurepb "go.temporal.io/api/failure/v1"
	historypb "go.temporal.io/api/history/v1"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// local is what a marker tells of a local activity that ended, or of an attempt of it after which the run waits.
type local struct {
	// id is that of a call or a model step; of Switchyard's other local activities it is of no meaning.
	id      string
	kind    string
	result  *commonpb.Payloads
	failure *failurepb.Failure
	// attempt counts from 1; again says that there will be another one, after a timer.
	attempt int
	again   bool
	// event is the marker at the time at which the activity ended. Its own time is that of the whole workflow task's end.
	event *historypb.HistoryEvent
}

// readLocal reads a marker; false for those that no local activity wrote.
func (d *Deriver) readLocal(e *historypb.HistoryEvent) (l local, ok bool, err error) {
	a := e.GetMarkerRecordedEventAttributes()
	if a.GetMarkerName() != localActivityMarker {
		return local{}, false, nil
	}
	var data struct {
		ActivityType string
		ReplayTime   time.Time
		Attempt      int
		Backoff      time.Duration
	}
	if err := d.decodeEvent(e, "marker data", a.GetDetails()[markerData], &data); err != nil {
		return local{}, false, err
	}
	l = local{kind: data.ActivityType, result: a.GetDetails()[markerResult], failure: a.GetFailure(), attempt: data.Attempt, again: data.Backoff > 0,
		event: &historypb.HistoryEvent{EventId: e.GetEventId(), EventType: e.GetEventType(), EventTime: e.GetEventTime(), Attributes: e.GetAttributes()}}
	if !data.ReplayTime.IsZero() {
		l.event.EventTime = timestamppb.New(data.ReplayTime)
	}
	var summary string
	if metadata := e.GetUserMetadata().GetSummary(); metadata != nil {
		err = d.decodeEvent(e, "summary", &commonpb.Payloads{Payloads: []*commonpb.Payload{metadata}}, &summary)
	}
	l.id = api.InlineID(summary)
	return l, err == nil, err
}

// taskStarted reads when a workflow task began; taskCompleted, who made it. What ran inline did so between the two.
func (d *Deriver) taskStarted(e *historypb.HistoryEvent) error {
	d.clock = pb.TimeOf(e.GetEventTime())
	return nil
}

func (d *Deriver) taskCompleted(e *historypb.HistoryEvent) error {
	d.decider = e.GetWorkflowTaskCompletedEventAttributes().GetIdentity()
	return nil
}

// inlineStep reads a model step that ran inline.
func (d *Deriver) inlineStep(l local) error {
	a := d.takeInline(l.id)
	if a == nil {
		d.limitOver(l.event, api.DecisionTimeout)
		d.abandon(l.event, "the run reached a limit before this call ran")
		if turn := api.StepTurn(l.id); turn > 0 {
			d.turn = turn
		}
		a = &activity{id: l.id, step: true}
		a.record.Lane, a.record.Scheduled, a.record.Started = api.LaneInline, d.clock, d.clock
	}
	d.attempted(a, l)
	if l.failure != nil && l.again {
		d.retry(a, l)
		return nil
	}
	a.record.Closed = pb.TimeOf(l.event.GetEventTime())
	a.record.Duration = pb.Between(a.record.Started, a.record.Closed)
	if l.failure != nil {
		d.stepFailed(a, activityFailure(l.failure))
		return nil
	}
	var response api.ModelResponse
	if err := d.decodeEvent(l.event, "model response", l.result, &response); err != nil {
		return err
	}
	decisions := response.Decisions
	response.Decisions = nil // each stands in its call's record
	d.stepCompleted(l.event, a, response)
	d.admit(l.event, decisions)
	return nil
}

// inlineCall reads a call that ran inline: it had started when history tells that it is over.
func (d *Deriver) inlineCall(l local) error {
	a := d.takeInline(l.id)
	if a == nil {
		a = d.beginInline(l)
	}
	d.attempted(a, l)
	if l.failure != nil && l.again {
		d.retry(a, l)
		return nil
	}
	r := a.record
	var result api.Result
	if l.failure != nil {
		r.Error = d.callError(r.Tool, api.Route{}, activityFailure(l.failure))
		r.Status = failedStatus(r.Error)
		result = spent(l.failure)
	} else {
		if err := d.decodeEvent(l.event, "result", l.result, &result); err != nil {
			return err
		}
		r = withResult(r, result)
	}
	r.Closed = pb.TimeOf(l.event.GetEventTime())
	if took := time.Duration(result.ExecutionMicros+result.PostMicros) * time.Microsecond; took > 0 {
		r.Started = r.Closed.Add(-took)
	}
	if r.Attempts == 1 {
		r.Scheduled = r.Started // nothing else was to be done first
	}
	r.Duration = pb.Between(r.Started, r.Closed)
	d.end(l.event, r)
	return nil
}

// beginInline tells of the start of a call.
func (d *Deriver) beginInline(l local) *activity {
	w := d.wanted.take(l.id)
	if w.Tool == "" {
		w.Tool = l.kind
	}
	r := d.unscheduled(w)
	r.Lane, r.Scheduled, r.Started, r.Phase = api.LaneInline, d.clock, d.clock, api.PhaseExecution
	d.summary.Usage.Calls++
	timing := api.Timing{Lane: r.Lane, Scheduled: r.Scheduled}
	d.emit(l.event, api.Event{Type: api.EventToolStarted, Turn: r.Turn, CallID: l.id, Tool: r.Tool, Summary: d.line(r), Timing: &timing})
	return &activity{id: l.id, order: l.event.GetEventId(), record: r}
}

func (d *Deriver) attempted(a *activity, l local) {
	a.inline = true
	a.record.Attempts, a.record.Worker = l.attempt, d.decider
}

// tryAgain keeps what waits for its next attempt.
func (d *Deriver) retry(a *activity, l local) {
	a.record.LastFailure = pb.FailureMessage(l.failure)
	d.open[l.event.GetEventId()] = a
}

// takeInline removes and returns what waited for another attempt inline; nil if it was not that.
func (d *Deriver) takeInline(id string) *activity {
	for event, a := range d.open {
		if a.inline && a.id == id {
			delete(d.open, event)
			return a
		}
	}
	return nil
}

// spent reads from the failure of an inline call how long it ran; history has no events of its start.
func spent(f *failurepb.Failure) (r api.Result) {
	details := pb.FindCause(f, pb.IsApplication).GetApplicationFailureInfo().GetDetails().GetPayloads()
	if len(details) < 2 || pb.DataConverter.FromPayload(details[1], &r) != nil {
		return api.Result{}
	}
	return r
}
