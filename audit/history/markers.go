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

// The SDK records a local activity as a marker of this name, with its type in the detail "data" and
// its result in the detail "result".
const (
	localActivityMarker = "LocalActivity"
	markerData          = "data"
	markerResult        = "result"
	// sideEffectMarker is the name of a marker of the run's journal, the only side effect of runs.
	sideEffectMarker = "SideEffect"
)

// local is a marker of a local activity that ended, or of an attempt after which the run waits.
type local struct {
	// id is the ID of a call or a model step. It has no meaning for other local activities.
	id      string
	kind    string
	result  *commonpb.Payloads
	failure *failurepb.Failure
	// attempt counts from 1. again is set if another attempt follows a timer.
	attempt int
	again   bool
	// event is the marker with the time at which the activity ended. The server's own time is that
	// of the end of the workflow task.
	event *historypb.HistoryEvent
}

// markers read what local activities recorded.
type markers struct {
	run *run
	// clock is when the run last made progress within its workflow task, decider is the worker that
	// completed the last workflow task.
	clock   time.Time
	decider string
	// kinds read the results of local activities by type. Other types are ignored.
	kinds map[string]func(*historypb.HistoryEvent, local) error
}

func newMarkers(r *run) markers {
	return markers{run: r, kinds: map[string]func(*historypb.HistoryEvent, local) error{
		api.PinActivity:            decodeResult(r, "pinned tools", r.admission.readPinned),
		api.AdmitActivity:          decodeResult(r, "admission decisions", r.admission.readDecisions),
		api.AdmitEditActivity:      decodeResult(r, "admission decision on an edit", r.approvals.readEdit),
		api.DescribeLimitActivity:  decodeResult(r, "approval at a limit", r.approvals.readLimit),
		api.FinalizeResultActivity: decodeResult(r, "result of a call", r.calls.readFinalized),
	}}
}

// decodeResult returns a reader of local activities with a result of type T.
func decodeResult[T any](r *run, what string, read func(*historypb.HistoryEvent, T)) func(
	*historypb.HistoryEvent, local) error {
	return func(e *historypb.HistoryEvent, l local) error {
		var value T
		err := r.decodeEvent(l.event, what, l.result, &value)
		if err == nil {
			read(e, value)
		}
		return err
	}
}

// isJournal reports whether an event is a marker of the run's journal.
func isJournal(e *historypb.HistoryEvent) bool {
	return e.GetMarkerRecordedEventAttributes().GetMarkerName() == sideEffectMarker
}

// read reads a marker. Model steps and calls that ran inline are markers too.
func (m *markers) read(e *historypb.HistoryEvent) error {
	if isJournal(e) {
		return m.run.journal.read(e)
	}
	l, ok, err := m.readLocal(e)
	if !ok || err != nil {
		return err
	}
	defer func() { m.clock = pb.Time(l.event.GetEventTime()) }()
	switch {
	case l.kind == api.ModelActivity:
		return m.run.steps.inline(l)
	case IsTool(l.kind):
		return m.run.calls.inline(l)
	case l.failure != nil:
		return nil
	}
	if read := m.kinds[l.kind]; read != nil {
		return read(e, l)
	}
	return nil
}

// readLocal reads a marker. It reports false for markers of other features.
func (m *markers) readLocal(e *historypb.HistoryEvent) (l local, ok bool, err error) {
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
	if err := m.run.decodeEvent(e, "marker data", a.GetDetails()[markerData], &data); err != nil {
		return local{}, false, err
	}
	l = local{
		kind:    data.ActivityType,
		result:  a.GetDetails()[markerResult],
		failure: a.GetFailure(),
		attempt: data.Attempt,
		again:   data.Backoff > 0,
		event: &historypb.HistoryEvent{
			EventId:    e.GetEventId(),
			EventType:  e.GetEventType(),
			EventTime:  e.GetEventTime(),
			Attributes: e.GetAttributes(),
		},
	}
	if !data.ReplayTime.IsZero() {
		l.event.EventTime = timestamppb.New(data.ReplayTime)
	}
	summary, err := m.run.eventSummary(e)
	l.id = api.InlineID(summary)
	return l, err == nil, err
}

// readTaskStarted reads when a workflow task started, and readTaskCompleted which worker completed
// it. Inline activities run in between.
func (m *markers) readTaskStarted(e *historypb.HistoryEvent) error {
	m.clock = pb.Time(e.GetEventTime())
	return nil
}

func (m *markers) readTaskCompleted(e *historypb.HistoryEvent) error {
	m.decider = e.GetWorkflowTaskCompletedEventAttributes().GetIdentity()
	return nil
}

func (m *markers) setAttempts(a *activity, l local) {
	a.inline = true
	a.record.Attempts, a.record.Worker = l.attempt, m.decider
}

// eventSummary returns what the run wrote on a command for people; empty for none.
func (r *run) eventSummary(e *historypb.HistoryEvent) (text string, err error) {
	if metadata := e.GetUserMetadata().GetSummary(); metadata != nil {
		data := &commonpb.Payloads{Payloads: []*commonpb.Payload{metadata}}
		err = r.decodeEvent(e, "summary", data, &text)
	}
	return text, err
}
