package history

import (
	"fmt"
	"slices"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/callview"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
)

// Deriver turns the history events of a run's chain, in order, into the run's events. It keeps what
// is open and drops what is over. Its memory does not grow with the run, except for one line per
// sub-agent.
type Deriver struct {
	run *run
	// handlers are by the type of the history event. Other events are ignored.
	handlers map[enumspb.EventType]func(*historypb.HistoryEvent) error
}

// NewDeriver returns a Deriver for the chain that starts with execution runID of workflowID. Both
// may be empty: the first event of the history has them too.
func NewDeriver(workflowID, runID string) *Deriver {
	r := newRun(workflowID, runID)
	return &Deriver{run: r, handlers: map[enumspb.EventType]func(*historypb.HistoryEvent) error{
		enumspb.EVENT_TYPE_WORKFLOW_TASK_STARTED:   r.markers.readTaskStarted,
		enumspb.EVENT_TYPE_WORKFLOW_TASK_COMPLETED: r.markers.readTaskCompleted,
		enumspb.EVENT_TYPE_MARKER_RECORDED:         r.markers.read,

		enumspb.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED:        r.activities.readScheduled,
		enumspb.EVENT_TYPE_ACTIVITY_TASK_STARTED:          r.activities.readStarted,
		enumspb.EVENT_TYPE_ACTIVITY_TASK_COMPLETED:        r.activities.readCompleted,
		enumspb.EVENT_TYPE_ACTIVITY_TASK_FAILED:           r.activities.readFailed,
		enumspb.EVENT_TYPE_ACTIVITY_TASK_TIMED_OUT:        r.activities.readTimedOut,
		enumspb.EVENT_TYPE_ACTIVITY_TASK_CANCELED:         r.activities.readCancelled,
		enumspb.EVENT_TYPE_ACTIVITY_TASK_CANCEL_REQUESTED: r.activities.readCancelRequested,

		enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_UPDATE_ADMITTED:  r.updates.readAdmitted,
		enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_UPDATE_ACCEPTED:  r.updates.readAccepted,
		enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_UPDATE_COMPLETED: r.updates.readCompleted,

		enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED: r.control.readSignal,

		enumspb.EVENT_TYPE_START_CHILD_WORKFLOW_EXECUTION_INITIATED: r.children.readInitiated,
		enumspb.EVENT_TYPE_CHILD_WORKFLOW_EXECUTION_STARTED:         r.children.readStarted,

		enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED:        r.ending.readCompleted,
		enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_FAILED:           r.ending.readFailed,
		enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_TIMED_OUT:        r.ending.readTimedOut,
		enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_CANCEL_REQUESTED: r.ending.readCancelRequested,
		enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_CANCELED:         r.ending.readCancelled,
		enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_TERMINATED:       r.ending.readTerminated,
		enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_CONTINUED_AS_NEW: r.readContinued,
	}}
}

// Add takes the next event of the history and returns the events that it means: none, one or
// several. The error names the history event; it is ErrNotARun or ErrUnreadable.
func (d *Deriver) Add(event *historypb.HistoryEvent) ([]api.Event, error) {
	d.run.out = nil
	if event.GetEventType() == enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_STARTED {
		err := d.run.begin(event)
		return d.run.out, err
	}
	if !d.run.open {
		return nil, fmt.Errorf("event %d (%s): the history does not start with the start of a run: %w",
			event.GetEventId(), event.GetEventType(), ErrNotARun)
	}
	d.run.part().HistoryEvents++
	handle := d.handlers[event.GetEventType()]
	if handle == nil {
		return nil, nil
	}
	err := handle(event)
	return d.run.out, err
}

// StopNumbering leaves sequence numbers out of the events, because the first histories are missing.
func (d *Deriver) StopNumbering() { d.run.unnumbered = true }

// NumberAfter numbers the next events from sequence+1 on.
func (d *Deriver) NumberAfter(sequence int) { d.run.unnumbered, d.run.sequence = false, sequence }

// HasNumbers reports whether events have sequence numbers.
func (d *Deriver) HasNumbers() bool { return !d.run.unnumbered }

// Sequence returns the number of events so far.
func (d *Deriver) Sequence() int { return d.run.sequence }

// Before returns the number of events in the executions before the current one.
func (d *Deriver) Before() int { return d.run.before }

// Run returns the ID of the first execution of the chain, Execution that of the current one.
func (d *Deriver) Run() string { return d.run.summary.Run }

// Execution is described with Run.
func (d *Deriver) Execution() string { return d.run.runID }

// Next returns the execution that continues the run if the history ended with continue-as-new;
// empty otherwise.
func (d *Deriver) Next() string { return d.run.next }

// RunningCalls returns the records of the calls that are not over, in the order in which they were
// made. History does not say whether a scheduled call has started: audit.Pending does.
func (d *Deriver) RunningCalls() []api.Record {
	var records []api.Record
	for _, a := range d.run.activities.openInOrder() {
		r := a.record
		r.Notes = slices.Concat(r.Notes, d.run.questions.waitsFor(a.id))
		records = append(append(records, r), d.run.calls.batching[a.id]...)
	}
	for _, a := range inOrder(d.run.calls.waiting) {
		records = append(append(records, a.record), d.run.calls.batching[a.id]...)
	}
	for _, w := range d.run.admission.wanted.inOrder() {
		records = append(records, d.run.admission.newUnscheduled(w))
	}
	for i, r := range records {
		records[i] = d.run.hidden.record(r)
	}
	return records
}

// Summary returns the summary of the run so far.
func (d *Deriver) Summary() Summary {
	s := d.run.summary
	s.Parts = append([]Part(nil), s.Parts...)
	s.SubAgents = append([]SubAgent(nil), s.SubAgents...)
	s.Questions = append([]api.Question(nil), d.run.questions.list...)
	s.Approvals = slices.Clone(d.run.summary.Approvals)
	for i := range s.Approvals {
		s.Approvals[i] = *d.run.hidden.approval(&s.Approvals[i])
	}
	if h := d.run.hidden.hider; h != nil {
		s.Prompt, s.Failure = h.Text(s.Prompt), h.Text(s.Failure)
		s.Problems = callview.HideProblems(h, s.Problems)
		s.Result = d.run.hidden.runResult(s.Result)
		for i, q := range s.Questions {
			s.Questions[i].Text = h.Text(q.Text)
		}
	}
	return s
}
