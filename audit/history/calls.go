package history

import (
	"cmp"
	"encoding/json"
	"slices"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit/internal/pb"
	commonpb "go.temporal.io/api/common/v1"
	historypb "go.temporal.io/api/history/v1"
)

// activity is a call, a model step or a hook of the run that is scheduled and not over.
type activity struct {
	id    string
	order int64
	step  bool
	// hook is set for a hook of the run.
	hook *api.HookAction
	// inline says that it ran within a workflow task, and waits for another attempt.
	inline bool
	// route is where a call was sent and by which rules.
	route api.Route
	// handBacks counts how often workers handed the call back, attempts those that were made before it was scheduled last.
	// begun says that one before the last attempt may have begun.
	requeues, attempts int
	begun              bool
	// fault is why the outcome of the last attempt is unknown, while the run finds out what became of it.
	fault *api.Error
	// record is the call's so far; of a model step only its timing is used.
	record api.Record
}

// scheduled reads the start of a call or of a model step.
func (d *Deriver) scheduled(e *historypb.HistoryEvent) error {
	a := e.GetActivityTaskScheduledEventAttributes()
	name := a.GetActivityType().GetName()
	timing := api.Timing{Lane: api.LaneOf(d.base, a.GetTaskQueue().GetName()), Scheduled: pb.TimeOf(e.GetEventTime())}
	if d.rescheduled(e, a.GetActivityId()) {
		return nil
	}
	if name == api.ModelActivity {
		var request api.ModelRequest
		if err := d.decodeEvent(e, "model request", a.GetInput(), &request); err != nil {
			return err
		}
		d.limitOver(e, api.DecisionTimeout)
		d.abandon(e, "the run reached a limit before this call ran")
		d.turn = request.Turn
		d.open[e.GetEventId()] = &activity{id: a.GetActivityId(), step: true, record: api.Record{Timing: timing}}
		return nil
	}
	switch name {
	case api.LoadConversationActivity:
		d.loadConversation = e.GetEventId()
	case api.HostInstanceActivity:
		return d.hosted(e)
	case api.HookActivity:
		return d.hookScheduled(e)
	}
	if !IsTool(name) {
		return nil
	}
	return d.called(e, timing)
}

// called reads the start of a call: its activity is scheduled for the first time.
func (d *Deriver) called(e *historypb.HistoryEvent, timing api.Timing) error {
	a := e.GetActivityTaskScheduledEventAttributes()
	var execution api.Execution
	if err := d.decodeEvent(e, "input", a.GetInput(), &execution); err != nil {
		return err
	}
	call := &activity{id: a.GetActivityId(), order: e.GetEventId()}
	r := d.record(call.id, a.GetActivityType().GetName(), execution.Arguments)
	question := ""
	w := d.wanted.take(call.id)
	r = d.ofRun(r, w.Call)
	if v := w.decision; v != nil {
		r = d.admitted(r, *v, execution.Arguments)
		question, call.route = v.Question, v.Route
		timing.Lane = d.laneOf(r.Tool, v.Route, timing.Lane)
	}
	r.Status, r.Phase, r.Timing = api.CallRunning, api.PhasePreExecution, timing
	r.Digest, r.Notes, r.Priority = execution.Digest, execution.Notes, d.priorityAt(a.GetPriority())
	if len(execution.Parts) > 0 {
		r = d.ofBatch(r, w)
	}
	call.record = r
	d.open[e.GetEventId()] = call
	d.tellBegun(e, r)
	d.begunWith(e, r, execution.Parts)
	d.askPerson(e, r, question)
	return nil
}

// laneOf returns a call's lane: with its key, and as that of its queue where that is not the lane's own. derived is what the
// queue's name says.
func (d *Deriver) laneOf(tool string, route api.Route, derived string) string {
	lane := d.tools[tool].Lane
	switch {
	case route.Key != "":
		return lane + "/" + route.Key
	case route.Queue == "" || route.Queue == api.BypassQueue(d.base, lane):
		return derived
	}
	return lane
}

// priorityAt returns the priority that the server gives to what was scheduled with p.
func (d *Deriver) priorityAt(p *commonpb.Priority) api.Priority {
	return api.PriorityAt(int(cmp.Or(p.GetPriorityKey(), d.level)))
}

// record is what is known of a call from the run alone.
func (d *Deriver) record(id, tool string, arguments json.RawMessage) api.Record {
	t := d.tools[tool]
	return api.Record{CallID: id, Tool: tool, Version: t.Version, Digest: t.Digest, Arguments: d.shown(tool, arguments),
		Status: api.CallRunning, Turn: d.turn, Caller: d.caller, Conversation: d.summary.Conversation,
		Run: d.summary.Run, WorkflowID: d.workflowID, Parent: d.parent(), Path: api.CallPath(d.parent(), id),
		Approval: d.asked.approvals.decided[id]}
}

// ofRun completes the record of a call that the run makes by itself, on behalf of another one; of others it changes nothing.
func (d *Deriver) ofRun(r api.Record, c api.Call) api.Record {
	r.Purpose, r.TargetCallID = c.Purpose, c.TargetCallID
	if c.TargetCallID == "" {
		return r
	}
	r.Parent = api.CallPath(d.parent(), c.TargetCallID)
	r.Path = api.CallPath(r.Parent, r.CallID)
	return r
}

// parent is the path of the call that the run works for; empty where it works for none.
func (d *Deriver) parent() string {
	if p := d.summary.Parent; p != nil {
		return p.Call
	}
	return ""
}

// shown returns arguments as they may be shown, as JSON even where the caller wrote something else.
func (d *Deriver) shown(tool string, arguments json.RawMessage) json.RawMessage {
	if len(arguments) == 0 {
		return nil
	}
	mask := d.tools[tool].ArgumentMask()
	d.hidden.note(mask, arguments)
	redacted := mask.Redact(arguments)
	if json.Valid(redacted) {
		return redacted
	}
	text, err := api.EncodeJSON(string(redacted))
	if err != nil {
		return nil
	}
	return text
}

// line describes a call whose arguments are redacted already.
func (d *Deriver) line(r api.Record) string {
	return api.Summary(r.Tool, r.Arguments, nil)
}

// started reads what the server says of the last attempt. It writes this event when the activity is over.
func (d *Deriver) started(e *historypb.HistoryEvent) error {
	a := e.GetActivityTaskStartedEventAttributes()
	open := d.open[a.GetScheduledEventId()]
	if open == nil {
		return nil
	}
	open.record.Phase = api.PhaseExecution
	t := &open.record.Timing
	t.Attempts, t.Worker, t.Started = open.attempts+int(a.GetAttempt()), a.GetIdentity(), pb.TimeOf(e.GetEventTime())
	t.LastFailure = cmp.Or(pb.FailureMessage(a.GetLastFailure()), t.LastFailure)
	if open.begun = open.begun || a.GetAttempt() > 1; !open.begun {
		t.QueueWait = pb.Between(t.Scheduled, t.Started)
	}
	return nil
}

// take removes and returns the activity that was scheduled by that event and is over now; nil if it is none of ours.
func (d *Deriver) take(scheduled int64, closed time.Time) *activity {
	a := d.open[scheduled]
	if a != nil {
		delete(d.open, scheduled)
		a.record.Closed = closed
		a.record.Duration = pb.Between(a.record.Started, closed)
	}
	return a
}

func (d *Deriver) completed(e *historypb.HistoryEvent) error {
	attributes := e.GetActivityTaskCompletedEventAttributes()
	if scheduled := attributes.GetScheduledEventId(); scheduled > 0 && scheduled == d.loadConversation {
		return d.loaded(e, attributes.GetResult())
	}
	a := d.take(attributes.GetScheduledEventId(), pb.TimeOf(e.GetEventTime()))
	if a == nil {
		return nil
	}
	if a.hook != nil {
		return d.hookCompleted(e, a, attributes.GetResult())
	}
	if a.step {
		var response api.ModelResponse
		if err := d.decodeEvent(e, "model response", attributes.GetResult(), &response); err != nil {
			return err
		}
		d.stepCompleted(e, a, response)
		return nil
	}
	var result api.Result
	if err := d.decodeEvent(e, "result", attributes.GetResult(), &result); err != nil {
		return err
	}
	d.end(e, withResult(a.record, result))
	return nil
}

// recalled reads which run this one goes on with.
func (d *Deriver) loaded(e *historypb.HistoryEvent, result *commonpb.Payloads) error {
	var r struct { // the messages beside it are large, and of no use here
		api.LoadedConversation
		Messages json.RawMessage `json:"messages"`
	}
	if err := d.decodeEvent(e, "earlier messages", result, &r); err != nil {
		return err
	}
	if r.RunID != "" {
		d.summary.Continues = &api.ContinuedRun{WorkflowID: r.WorkflowID, RunID: r.RunID}
	}
	return nil
}

// withResult completes the record of a call that gave a result.
func withResult(r api.Record, result api.Result) api.Record {
	r.Status, r.Phase, r.Result = api.CallCompleted, api.PhasePostExecution, &result
	r.Notes, r.ResultTokens, r.ActualTokens = result.Notes, result.Tokens, r.ArgumentTokens()+result.Tokens
	r.Hooks = slices.Concat(r.Hooks, result.Hooks)
	r = hosted(r, result.WaitedMicros)
	for phase, micros := range map[api.Phase]int64{
		api.PhaseExecution: result.ExecutionMicros, api.PhasePostExecution: result.PostMicros} {
		if micros > 0 {
			if r.Phases == nil {
				r.Phases = map[api.Phase]api.Duration{}
			}
			r.Phases[phase] = api.Duration(time.Duration(micros) * time.Microsecond)
		}
	}
	return r
}

// held takes a call's wait with its lane's holder from its duration to its wait.
func hosted(r api.Record, micros int64) api.Record {
	wait := api.Duration(time.Duration(micros) * time.Microsecond)
	r.QueueWait, r.Duration = r.QueueWait+wait, max(r.Duration-wait, 0)
	return r
}

// stepCompleted tells of a model step; the calls that it asks for are wanted from here on.
func (d *Deriver) stepCompleted(e *historypb.HistoryEvent, a *activity, response api.ModelResponse) {
	d.summary.Usage.AddStep(response.Usage)
	if a.id != api.SummaryStepID {
		d.wanted.add(response.Message.Calls...)
	}
	response.Message.Calls = slices.Clone(response.Message.Calls)
	for i, c := range response.Message.Calls {
		if len(d.tools[c.Tool].Sensitive) > 0 {
			response.Message.Calls[i].Arguments = string(d.shown(c.Tool, json.RawMessage(c.Arguments)))
		}
	}
	d.emit(e, api.Event{Type: api.EventStepCompleted, Turn: d.turn, Step: &response, Timing: &a.record.Timing, StepFailures: d.takeStepFailures()})
}

// stepFailed keeps a model step that failed for good: what the run did about it tells of it, another step or its end.
func (d *Deriver) stepFailed(a *activity, f api.ActivityFailure) {
	kind := f.Type
	if f.Timeout != "" {
		kind = string(api.ErrTimeout)
	}
	if !f.Cancelled {
		d.stepFailures = append(d.stepFailures, api.StepFailure{Turn: d.turn, Type: kind, Timing: a.record.Timing})
	}
}

func (d *Deriver) takeStepFailures() []api.StepFailure {
	failures := d.stepFailures
	d.stepFailures = nil
	return failures
}

func (d *Deriver) failed(e *historypb.HistoryEvent) error {
	a := e.GetActivityTaskFailedEventAttributes()
	d.endFailed(e, a.GetScheduledEventId(), activityFailure(a.GetFailure()))
	return nil
}

func (d *Deriver) timedOut(e *historypb.HistoryEvent) error {
	a := e.GetActivityTaskTimedOutEventAttributes()
	d.endFailed(e, a.GetScheduledEventId(), activityFailure(a.GetFailure()))
	return nil
}

func (d *Deriver) cancelled(e *historypb.HistoryEvent) error {
	a := e.GetActivityTaskCanceledEventAttributes()
	d.endFailed(e, a.GetScheduledEventId(), api.ActivityFailure{Cancelled: true})
	return nil
}

// endFailed ends a call or a model step that gave no result.
func (d *Deriver) endFailed(e *historypb.HistoryEvent, scheduled int64, f api.ActivityFailure) {
	if d.hostFailed(scheduled, f) {
		return
	}
	a := d.take(scheduled, pb.TimeOf(e.GetEventTime()))
	switch {
	case a == nil:
		return
	case a.hook != nil:
		d.hookFailed(e, a, f)
		return
	case a.step:
		d.stepFailed(a, f)
		return
	}
	fault := d.callError(a.record.Tool, a.route, f)
	if d.requeue(a, fault) || d.verify(a, fault) {
		return
	}
	r := a.record
	r.Error = fault
	onlyWaited(&r)
	r.Status = failedStatus(r.Error)
	r = hosted(r, r.Error.WaitedMicros)
	d.end(e, r)
}

// failedStatus is the status of a call that ran and gave no result.
func failedStatus(e *api.Error) api.CallStatus {
	if e.Type == api.ErrCancelled {
		return api.CallCancelled
	}
	return api.CallFailed
}

// end tells of a call that is over, and of those that were made together as it.
func (d *Deriver) end(e *historypb.HistoryEvent, r api.Record) {
	others := d.batching[r.CallID]
	if len(others) == 0 {
		d.endOne(e, r)
		return
	}
	delete(d.batching, r.CallID)
	d.endOne(e, apart(r, r))
	for _, own := range others {
		d.endOne(e, apart(own, r))
	}
}

func (d *Deriver) endOne(e *historypb.HistoryEvent, r api.Record) {
	kind := api.EventToolCompleted
	if r.Error != nil {
		kind = api.EventToolFailed
		if r.Status == api.CallRefused && r.Error.Type == api.ErrValidation {
			kind = api.EventValidationError
		}
		if r.Error.Phase != "" && r.Status != api.CallCancelled {
			r.Phase = r.Error.Phase
		}
		d.summary.Usage.Failed++
	}
	r.Closed = pb.TimeOf(e.GetEventTime())
	r.Result = d.hidden.result(r.CallID, d.tools[r.Tool].OutputMask, r.Result)
	d.closeQuestions(e, r)
	r.Approval = d.endApproval(e, r)
	if r.Child != nil {
		d.subAgent(r.CallID).Status = r.Status
	}
	d.emit(e, api.Event{Type: kind, Turn: r.Turn, CallID: r.CallID, Tool: r.Tool, Summary: d.line(r), Record: &r})
}
