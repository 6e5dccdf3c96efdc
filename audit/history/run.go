package history

import (
	"cmp"
	"encoding/json"
	"fmt"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit/internal/pb"
	"github.com/switchyard/switchyard/internal/core/callview"
	"github.com/switchyard/switchyard/internal/core/lanerules"
	"github.com/switchyard/switchyard/internal/core/people"
	"github.com/switchyard/switchyard/internal/core/queues"
	"github.com/switchyard/switchyard/internal/value/jsonvalue"
	commonpb "go.temporal.io/api/common/v1"
	historypb "go.temporal.io/api/history/v1"
)

// run is the state of a run, and the parts that read its history. Each part keeps the state of its
// subject; shared state is here.
type run struct {
	admission  admission
	activities activities
	calls      calls
	steps      steps
	hooks      hooks
	journal    journal
	children   children
	markers    markers
	questions  questions
	approvals  approvals
	updates    updates
	control    control
	submitted  submitted
	ending     ending

	workflowID string
	// runID is the execution whose history is being read, next the one that continues it.
	runID, next string
	// open is set between the first and the last event of an execution.
	open     bool
	sequence int
	// before is the number of events of the executions before this one. unnumbered is set where it
	// is unknown because their histories are gone.
	before     int
	unnumbered bool
	turn       int
	// base is the workflows' task queue, from which those of the lanes derive. level is the
	// priority of the workflow; zero for none.
	base  string
	level int32
	input api.RunInput
	// caller is the caller of the run's calls.
	caller api.Caller
	tools  map[string]api.Tool
	// transports are those of the MCP servers of tools, by tool.
	transports map[string]string
	hidden     hidden
	summary    Summary
	// out are the events that the current history event means.
	out []api.Event
}

func newRun(workflowID, runID string) *run {
	r := &run{workflowID: workflowID, next: runID, tools: map[string]api.Tool{},
		transports: map[string]string{}}
	r.admission = admission{run: r, wanted: wantedCalls{}}
	r.activities = newActivities(r)
	r.calls = calls{run: r, waiting: map[string]*activity{}, batching: map[string][]api.Record{}}
	r.steps = steps{run: r}
	r.hooks = hooks{run: r}
	r.journal = journal{run: r, expected: map[string]api.JournalEntry{}}
	r.children = children{run: r}
	r.markers = newMarkers(r)
	r.questions = newQuestions(r)
	r.approvals = newApprovals(r)
	r.submitted = submitted{run: r, known: map[string]bool{}, updates: map[string][]string{},
		requests: map[string]api.SessionCall{}}
	r.updates = newUpdates(r)
	r.control = control{run: r, sent: map[string]bool{}}
	r.ending = ending{run: r}
	return r
}

// begin reads the start of an execution. The run starts with the first execution of its chain.
func (r *run) begin(e *historypb.HistoryEvent) error {
	a := e.GetWorkflowExecutionStartedEventAttributes()
	kind := KindFromType(a.GetWorkflowType().GetName())
	if kind == "" {
		return fmt.Errorf("the workflow has type %q: %w", a.GetWorkflowType().GetName(), ErrNotARun)
	}
	r.runID, r.next = r.next, ""
	if r.runID == "" {
		r.runID = a.GetOriginalExecutionRunId()
	}
	if r.workflowID == "" {
		r.workflowID = a.GetWorkflowId()
	}
	r.before = r.sequence
	r.open, r.base, r.level = true, a.GetTaskQueue().GetName(), a.GetPriority().GetPriorityKey()
	r.summary.Parts = append(r.summary.Parts,
		Part{RunID: r.runID, Started: pb.Time(e.GetEventTime()), HistoryEvents: 1})
	if r.summary.Kind != "" {
		return nil
	}
	if err := r.decodeEvent(e, "input", a.GetInput(), &r.input); err != nil {
		return err
	}
	r.introduce(kind, pb.Time(e.GetEventTime()))
	r.summary.Run = a.GetFirstExecutionRunId()
	if continueState := r.input.State; continueState != nil {
		// The history of a later execution alone does not have the start of the run.
		r.summary.Run, r.summary.Started = continueState.Run, continueState.Started
		r.summary.Usage = continueState.Usage
		r.admission.pin(continueState.Pinned.Value)
		r.summary.Paused = continueState.Paused
		r.submitted.resume(continueState.Session)
		r.stand()
	} else {
		r.emit(e, api.Event{Type: api.EventRunStarted})
	}
	r.input.State = nil // may be large and is no longer needed
	return nil
}

// introduce fills the summary from the input of the run.
func (r *run) introduce(kind RunKind, started time.Time) {
	in, s := &r.input, &r.summary
	s.WorkflowID, s.Kind, s.Status, s.Started = r.workflowID, kind, RunRunning, started
	s.Prompt, s.Conversation, s.TaskQueue, s.Parent = in.Prompt, in.Conversation, r.base, in.Parent
	s.DryRun, s.Trace, s.Caller = in.DryRun, in.Trace, in.Caller
	s.Features = in.Features
	if in.Beginning != nil {
		s.Prompt = cmp.Or(in.Prompt, in.Beginning.Prompt)
	}
	if s.Conversation == "" {
		s.Conversation = r.workflowID
	}
	if s.Caller.ID != "" {
		s.Caller.Type = cmp.Or(s.Caller.Type, api.CallerDirect)
	}
	r.name(kind)
	r.caller.Auth, r.caller.Claims = in.Caller.Auth, in.Caller.Claims
	if who := in.Caller.Identity(); who != r.caller.ID {
		r.caller.Principal = who
	}
}

// name sets the name of the run and the caller of its calls.
func (r *run) name(kind RunKind) {
	in, s := &r.input, &r.summary
	switch {
	case kind == RunAgent && in.Agent != nil:
		s.Name, s.Provider, s.Model = in.Agent.Name, in.Agent.Model.Provider, in.Agent.Model.Name
		limits := in.Agent.Limits
		limits.Turns = cmp.Or(limits.Turns, api.DefaultTurns)
		s.Limits = &limits
		r.caller = api.Caller{Type: api.CallerAgent, ID: s.Name}
	case kind == RunPlan && in.Plan != nil:
		s.Name = in.Plan.Value.Name
		r.caller = api.Caller{Type: api.CallerPlan, ID: s.Name}
	case kind == RunCall && in.Call != nil:
		s.Name = in.Call.Tool
		r.caller = api.Caller{Type: api.CallerDirect, ID: in.Caller.ID}
	case kind == RunSession && in.Session != nil:
		s.Name = in.Session.Client
		r.caller = api.Caller{Type: api.CallerSession, ID: in.Caller.ID}
	}
}

// addGrant adds what a person grants to the limits. Summaries that were returned keep theirs.
func (r *run) addGrant(g *api.Grant, at time.Time) {
	s := &r.summary
	if g == nil || s.Limits == nil {
		return
	}
	limits := people.ExtendLimits(*s.Limits, *g, s.Usage, s.Usage.Turns, at.Sub(s.Started))
	s.Limits = &limits
}

// part returns the execution that is being read.
func (r *run) part() *Part { return &r.summary.Parts[len(r.summary.Parts)-1] }

// readContinued reads that the run continues as new.
func (r *run) readContinued(e *historypb.HistoryEvent) error {
	r.next = e.GetWorkflowExecutionContinuedAsNewEventAttributes().GetNewExecutionRunId()
	r.open = false
	return nil
}

// emit completes an event that the history event e means, and appends it to what Add returns.
func (r *run) emit(e *historypb.HistoryEvent, event api.Event) {
	r.sequence++
	if !r.unnumbered {
		event.Sequence = r.sequence
	}
	event.Time = pb.Time(e.GetEventTime())
	event.WorkflowID, event.RunID = r.workflowID, r.runID
	r.out = append(r.out, r.hidden.event(event))
}

// decodeEvent decodes a payload of an event. The error names the event and the payload.
func (r *run) decodeEvent(e *historypb.HistoryEvent, what string, payloads *commonpb.Payloads,
	into any) error {
	if err := pb.Decode(payloads, into); err != nil {
		return fmt.Errorf("event %d (%s) of run %s: %w: its %s: %w", e.GetEventId(),
			e.GetEventType(), r.runID, ErrUnreadable, what, err)
	}
	return nil
}

// stand sets the status to running or paused.
func (r *run) stand() {
	r.summary.Status = RunRunning
	if r.summary.Paused != nil {
		r.summary.Status = RunPaused
	}
}

// findLane returns the lane of a call with its key. derived is the lane that the name of the queue
// says.
func (r *run) findLane(tool string, route api.Route, derived string) string {
	lane := r.tools[tool].Lane
	switch {
	case route.Key != "":
		return lane + "/" + route.Key
	case route.Queue == "" || route.Queue == queues.Bypass(r.base, lane):
		return derived
	}
	return lane
}

// priorityAt returns the priority of an activity that was scheduled with p.
func (r *run) priorityAt(p *commonpb.Priority) api.Priority {
	return lanerules.PriorityAt(int(cmp.Or(p.GetPriorityKey(), r.level)))
}

// parent returns the path of the call that the run works for; empty if it is not the run of a
// sub-agent.
func (r *run) parent() string {
	if p := r.summary.Parent; p != nil {
		return p.Call
	}
	return ""
}

// shown returns arguments with sensitive values redacted, as JSON even if the caller wrote
// something else.
func (r *run) shown(tool string, arguments json.RawMessage) json.RawMessage {
	if len(arguments) == 0 {
		return nil
	}
	mask := callview.ArgumentMask(r.tools[tool])
	r.hidden.note(mask, arguments)
	redacted := mask.Redact(arguments)
	if json.Valid(redacted) {
		return redacted
	}
	text, err := jsonvalue.Encode(string(redacted))
	if err != nil {
		return nil
	}
	return text
}

// line describes a call whose arguments are redacted.
func (r *run) line(of api.Record) string {
	return callview.Line(of.Tool, of.Arguments, nil)
}
