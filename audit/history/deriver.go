package history

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit/internal/pb"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
)

// Deriver turns the history events of a run's chain, in order, into the run's events. It holds what is open, not what
// is over, so its memory does not grow with the run, but for a line for each sub-agent.
type Deriver struct {
	workflowID string
	// runID is the execution whose history is being read, next the one that continues it.
	runID, next string
	// begun is set between the first and the last event of an execution.
	begun    bool
	sequence int
	// before is how many events the executions before this one had. unnumbered says that nobody knows, because their histories
	// are gone.
	before     int
	unnumbered bool
	turn       int
	// base is the workflows' task queue, from which those of the lanes derive, level the priority of the workflow, zero for
	// none.
	base  string
	level int32
	input api.RunInput
	// caller is that of the calls.
	caller api.Caller
	tools  map[string]api.Tool
	wanted wantedCalls
	open   map[int64]*activity
	// together are, by the id of the first one, the records of other calls that are made as one with it.
	batching map[string][]api.Record
	// handedBack are calls that workers gave up before they began them, and that the run is about to make again, by id.
	requeued map[string]*activity
	// recall is the event that scheduled the reading of the conversation's earlier runs; zero where there was none.
	loadConversation int64
	asked            asked
	hidden           hidden
	// sent are the ids of the messages that the run was sent.
	sent  map[string]bool
	hosts hosts
	// clock is when the run last went on within its workflow task, decider the worker that made the last one.
	clock   time.Time
	decider string
	// cancelRequest says who asked the run to stop, and why; empty while nobody has.
	cancelRequest string
	// withheld, if set, takes the calls that a dry run does not make, with arguments that are not redacted.
	withheld func(api.WithheldCall)
	// stepFailures are the model steps that failed since the last one that did not.
	stepFailures []api.StepFailure
	summary      Summary
	out          []api.Event
}

// NewDeriver returns a Deriver for the chain that starts with execution runID of workflowID. Either may be empty: the
// history's first event says them too.
func NewDeriver(workflowID, runID string) *Deriver {
	return &Deriver{workflowID: workflowID, next: runID, wanted: wantedCalls{}, open: map[int64]*activity{},
		requeued: map[string]*activity{}, batching: map[string][]api.Record{}, sent: map[string]bool{}, tools: map[string]api.Tool{}, asked: newAsked(), hosts: newHosts()}
}

// Add takes the next event of the history and returns what it means: none, one or several events. An error says which
// history event cannot be read; it is an ErrNotARun or an ErrUnreadable.
func (d *Deriver) Add(event *historypb.HistoryEvent) ([]api.Event, error) {
	d.out = nil
	if event.GetEventType() == enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_STARTED {
		err := d.begin(event)
		return d.out, err
	}
	if !d.begun {
		return nil, fmt.Errorf("event %d (%s): the history does not begin with the start of a run: %w", event.GetEventId(), event.GetEventType(), ErrNotARun)
	}
	d.part().HistoryEvents++
	handle := handlers[event.GetEventType()]
	if handle == nil {
		return nil, nil
	}
	err := handle(d, event)
	return d.out, err
}

// OnWithheld has take called with each call that a dry run withholds, with arguments that are not
// redacted.
func (d *Deriver) OnWithheld(take func(api.WithheldCall)) { d.withheld = take }

// StopNumbering leaves the sequence numbers out of the events: the histories before them are missing.
func (d *Deriver) StopNumbering() { d.unnumbered = true }

// NumberAfter numbers the next events from sequence+1 on.
func (d *Deriver) NumberAfter(sequence int) { d.unnumbered, d.sequence = false, sequence }

// Numbered reports whether events have sequence numbers.
func (d *Deriver) Numbered() bool { return !d.unnumbered }

// Sequence returns the number of events so far.
func (d *Deriver) Sequence() int { return d.sequence }

// Before returns the number of events in the executions before the current one.
func (d *Deriver) Before() int { return d.before }

// Run returns the ID of the first execution of the chain, Execution that of the current one.
func (d *Deriver) Run() string { return d.summary.Run }

// Execution is described with Run.
func (d *Deriver) Execution() string { return d.runID }

// Next returns the execution that continues the run, if the history so far ended with continue-as-new; else "".
func (d *Deriver) Next() string { return d.next }

// Summary returns what is known of the run so far.
func (d *Deriver) Summary() Summary {
	s := d.summary
	s.Parts = append([]Part(nil), s.Parts...)
	s.SubAgents = append([]SubAgent(nil), s.SubAgents...)
	s.Questions = append([]api.Question(nil), d.asked.open...)
	s.Approvals = slices.Clone(d.summary.Approvals)
	for i := range s.Approvals {
		s.Approvals[i] = *d.hidden.approval(&s.Approvals[i])
	}
	if h := d.hidden.hider; h != nil {
		s.Prompt, s.Failure, s.Problems, s.Result = h.Text(s.Prompt), h.Text(s.Failure), h.Problems(s.Problems), d.hidden.runResult(s.Result)
		for i, q := range s.Questions {
			s.Questions[i].Text = h.Text(q.Text)
		}
	}
	return s
}

// handlers say what the history events mean that mean something; all others are skipped.
var handlers = map[enumspb.EventType]func(*Deriver, *historypb.HistoryEvent) error{
	enumspb.EVENT_TYPE_WORKFLOW_TASK_STARTED:                    (*Deriver).taskStarted,
	enumspb.EVENT_TYPE_WORKFLOW_TASK_COMPLETED:                  (*Deriver).taskCompleted,
	enumspb.EVENT_TYPE_MARKER_RECORDED:                          (*Deriver).marker,
	enumspb.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED:                  (*Deriver).scheduled,
	enumspb.EVENT_TYPE_ACTIVITY_TASK_STARTED:                    (*Deriver).started,
	enumspb.EVENT_TYPE_ACTIVITY_TASK_COMPLETED:                  (*Deriver).completed,
	enumspb.EVENT_TYPE_ACTIVITY_TASK_FAILED:                     (*Deriver).failed,
	enumspb.EVENT_TYPE_ACTIVITY_TASK_TIMED_OUT:                  (*Deriver).timedOut,
	enumspb.EVENT_TYPE_ACTIVITY_TASK_CANCELED:                   (*Deriver).cancelled,
	enumspb.EVENT_TYPE_ACTIVITY_TASK_CANCEL_REQUESTED:           (*Deriver).cancelRequested,
	enumspb.EVENT_TYPE_TIMER_STARTED:                            (*Deriver).timerStarted,
	enumspb.EVENT_TYPE_TIMER_FIRED:                              (*Deriver).timerFired,
	enumspb.EVENT_TYPE_TIMER_CANCELED:                           (*Deriver).timerCancelled,
	enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_UPDATE_ADMITTED:       (*Deriver).updateAdmitted,
	enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_UPDATE_ACCEPTED:       (*Deriver).updateAccepted,
	enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_UPDATE_COMPLETED:      (*Deriver).updateCompleted,
	enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED:              (*Deriver).signalled,
	enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_PAUSED:                (*Deriver).pausedOnServer,
	enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_UNPAUSED:              (*Deriver).resumedOnServer,
	enumspb.EVENT_TYPE_START_CHILD_WORKFLOW_EXECUTION_INITIATED: (*Deriver).childInitiated,
	enumspb.EVENT_TYPE_CHILD_WORKFLOW_EXECUTION_STARTED:         (*Deriver).childStarted,
	enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED:             (*Deriver).runCompleted,
	enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_FAILED:                (*Deriver).runFailed,
	enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_TIMED_OUT:             (*Deriver).runTimedOut,
	enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_CANCEL_REQUESTED:      (*Deriver).runCancelRequested,
	enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_CANCELED:              (*Deriver).runCancelled,
	enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_TERMINATED:            (*Deriver).runTerminated,
	enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_CONTINUED_AS_NEW:      (*Deriver).continued,
}

var runKinds = map[string]RunKind{
	api.AgentWorkflow: RunAgent,
	api.PlanWorkflow:  RunPlan,
	api.CallWorkflow:  RunCall,
}

// KindOf returns the kind of the runs of a workflow type; empty for a workflow that is not a run.
func KindOf(workflowType string) RunKind { return runKinds[workflowType] }

// begin reads the start of an execution. The run starts with the first of its chain only.
func (d *Deriver) begin(e *historypb.HistoryEvent) error {
	a := e.GetWorkflowExecutionStartedEventAttributes()
	kind := KindOf(a.GetWorkflowType().GetName())
	if kind == "" {
		return fmt.Errorf("the workflow has type %q: %w", a.GetWorkflowType().GetName(), ErrNotARun)
	}
	d.runID, d.next = d.next, ""
	if d.runID == "" {
		d.runID = a.GetOriginalExecutionRunId()
	}
	if d.workflowID == "" {
		d.workflowID = a.GetWorkflowId()
	}
	d.before = d.sequence
	d.begun, d.base, d.level = true, a.GetTaskQueue().GetName(), a.GetPriority().GetPriorityKey()
	d.summary.Parts = append(d.summary.Parts, Part{RunID: d.runID, Started: pb.TimeOf(e.GetEventTime()), HistoryEvents: 1})
	if d.summary.Kind != "" {
		return nil
	}
	if err := d.decodeEvent(e, "input", a.GetInput(), &d.input); err != nil {
		return err
	}
	d.introduce(kind, pb.TimeOf(e.GetEventTime()))
	d.summary.Run = a.GetFirstExecutionRunId()
	if continueState := d.input.State; continueState != nil {
		// The history of a later part alone: the run's start is not in it.
		d.summary.Run, d.summary.Started, d.summary.Usage = continueState.Run, continueState.Started, continueState.Usage
		d.pin(continueState.Pinned.Value)
		d.hosts.resume(continueState.Instances)
		d.summary.Paused = continueState.Paused
		d.stand()
	} else {
		d.emit(e, api.Event{Type: api.EventRunStarted})
	}
	d.input.State = nil // it may be large, and is of no more use
	return nil
}

// introduce fills in what the input says of the run.
func (d *Deriver) introduce(kind RunKind, started time.Time) {
	in, s := &d.input, &d.summary
	s.WorkflowID, s.Kind, s.Status, s.Started = d.workflowID, kind, RunRunning, started
	s.Prompt, s.Conversation, s.TaskQueue, s.Parent = in.Prompt, in.Conversation, d.base, in.Parent
	s.DryRun, s.FromDryRun, s.Trace, s.Caller = in.DryRun, in.FromDryRun, in.Trace, in.Caller
	if s.Conversation == "" {
		s.Conversation = d.workflowID
	}
	if s.Caller.ID != "" {
		s.Caller.Type = cmp.Or(s.Caller.Type, api.CallerDirect)
	}
	switch {
	case kind == RunAgent && in.Agent != nil:
		s.Name, s.Provider, s.Model = in.Agent.Name, in.Agent.Model.Provider, in.Agent.Model.Name
		d.caller = api.Caller{Type: api.CallerAgent, ID: s.Name}
	case kind == RunPlan && in.Plan != nil:
		s.Name = in.Plan.Value.Name
		d.caller = api.Caller{Type: api.CallerPlan, ID: s.Name}
	case kind == RunCall && in.Call != nil:
		s.Name = in.Call.Tool
		d.caller = api.Caller{Type: api.CallerDirect, ID: in.Caller.ID}
	}
}

// part is the execution that is being read.
func (d *Deriver) part() *Part { return &d.summary.Parts[len(d.summary.Parts)-1] }

func (d *Deriver) continued(e *historypb.HistoryEvent) error {
	d.next = e.GetWorkflowExecutionContinuedAsNewEventAttributes().GetNewExecutionRunId()
	d.begun = false
	clear(d.hosts.tools) // the holds end with their execution
	return nil
}

// emit completes an event that the history event e means, and appends it to what Add returns.
func (d *Deriver) emit(e *historypb.HistoryEvent, event api.Event) {
	d.sequence++
	if !d.unnumbered {
		event.Sequence = d.sequence
	}
	event.Time = pb.TimeOf(e.GetEventTime())
	event.WorkflowID, event.RunID = d.workflowID, d.runID
	d.out = append(d.out, d.hidden.event(event))
}

// isTool tells a tool's activity from those of Switchyard itself, whose types have a slash.
func IsTool(activityType string) bool { return !strings.Contains(activityType, "/") }
