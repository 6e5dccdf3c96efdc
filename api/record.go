package api

import (
	"encoding/json"
	"time"
)

// EventType is the type of an event of a run (requirement R2).
type EventType string

// Events derived from a run's history, and step_delta and attempt_failed, which only followers of a
// run receive.
const (
	EventRunStarted        EventType = "run_started"
	EventStepDelta         EventType = "step_delta"
	EventAttemptFailed     EventType = "attempt_failed"
	EventStepCompleted     EventType = "step_completed"
	EventToolStarted       EventType = "tool_started"
	EventToolCompleted     EventType = "tool_completed"
	EventToolFailed        EventType = "tool_failed"
	EventValidationError   EventType = "validation_error"
	EventQuestionAsked     EventType = "question_asked"
	EventQuestionClosed    EventType = "question_closed"
	EventApprovalRequested EventType = "approval_requested"
	EventApprovalDecided   EventType = "approval_decided"
	// EventApprovalRefused: a decision was rejected, because it was for another call, a second one,
	// or without an identity.
	EventApprovalRefused EventType = "approval_refused"
	EventHookEnded       EventType = "hook_ended"
	EventMessageSent     EventType = "message_sent"
	EventRunPaused       EventType = "run_paused"
	EventRunResumed      EventType = "run_resumed"
	EventInstanceClosed  EventType = "instance_closed"
	EventRunCompleted    EventType = "run_completed"
	EventRunFailed       EventType = "run_failed"
	EventRunCancelled    EventType = "run_cancelled"
)

// Event is one event of a run, derived from its history.
type Event struct {
	// Sequence counts from 1 within the run, over continue-as-new, without gaps. A step_delta and
	// an attempt_failed have none.
	Sequence int `json:"sequence,omitempty"`
	// TreeSequence counts from 1 over the events of a run and its sub-agents, and Parent is the
	// path of the call that the event's run executes, below the run at the top. Both are set only
	// where a tree of runs is followed.
	TreeSequence int    `json:"tree_sequence,omitempty"`
	Parent       string `json:"parent,omitempty"`
	// Type is what happened, Time when.
	Type EventType `json:"type"`
	Time time.Time `json:"time"`
	// WorkflowID and RunID identify the execution whose history has the event, the next three what
	// it is about.
	WorkflowID string `json:"workflow_id"`
	RunID      string `json:"run_id"`
	Turn       int    `json:"turn,omitempty"`
	CallID     string `json:"call_id,omitempty"`
	Tool       string `json:"tool,omitempty"`
	// Summary describes a call in one line, without sensitive values.
	Summary string `json:"summary,omitempty"`
	// Step is set on step_completed. Sensitive arguments of the calls it asks for are redacted.
	Step *ModelResponse `json:"step,omitempty"`
	// Delta is set on step_delta: the model's text since the previous one.
	Delta *Live `json:"delta,omitempty"`
	// Timing is set on step_completed, on tool_started as far as known: the lane and when it was
	// scheduled, and on attempt_failed: the lane and how many attempts have failed.
	Timing *Timing `json:"timing,omitempty"`
	// StepFailures are set on step_completed and on the event that ends the run: model steps that
	// failed since the last of these events, after all their attempts.
	StepFailures []StepFailure `json:"step_failures,omitempty"`
	// Child is set on tool_started if a sub-agent executes the call.
	Child *ChildRun `json:"child,omitempty"`
	// Question is set on question_asked and, without its schema, on question_closed. Reply, on
	// question_closed, says who replied, without the answer; it is nil if the question expired or
	// was withdrawn.
	Question *Question `json:"question,omitempty"`
	Reply    *Reply    `json:"reply,omitempty"`
	// Approval is set on approval_requested, Decided on approval_decided and
	// approval_refused, where Failure is the reason.
	Approval *Approval `json:"approval,omitempty"`
	Decided  *Decided  `json:"decided,omitempty"`
	// Hook is set on hook_ended, for hooks of the run. Effects of hooks on a call are in its
	// record.
	Hook *HookAction `json:"hook,omitempty"`
	// Sent is set on message_sent, Pause on run_paused and run_resumed: by whom, and why.
	Sent  *Sent  `json:"sent,omitempty"`
	Pause *Pause `json:"pause,omitempty"`
	// Closes is set on instance_closed: which instance a person closes, and why.
	Closes *CloseInstance `json:"closes,omitempty"`
	// Record is set on the event that ends a call.
	Record *Record `json:"record,omitempty"`
	// Continues is set on the event that ends the run, if it continued an earlier run of its
	// conversation.
	Continues *ContinuedRun `json:"continues,omitempty"`
	// Result is set on the event that ends the run; for a run that did not complete it may have
	// only the usage, or be nil.
	Result *RunResult `json:"result,omitempty"`
	// Failure says why the run failed or who stopped it, or why an attempt failed; FailureType and
	// Problems are set if the run itself reported them.
	Failure     string       `json:"failure,omitempty"`
	FailureType RunErrorType `json:"failure_type,omitempty"`
	Problems    []Problem    `json:"problems,omitempty"`
}

// ContinuedRun is a run that a later run of its conversation continued.
type ContinuedRun struct {
	WorkflowID string `json:"workflow_id"`
	RunID      string `json:"run_id"`
}

// StepFailure is a model step without a result.
type StepFailure struct {
	Turn int `json:"turn,omitempty"`
	// Type is the failure type, such as ModelOverflow; "timeout" if the step took too long or its
	// worker was lost.
	Type string `json:"type"`
	Timing
}

// Timing is where and when a call or a model step ran, by the server's clock.
type Timing struct {
	// Lane is the lane of the call, with its key.
	Lane string `json:"lane,omitempty"`
	// Attempts counts the attempts that a worker accepted, requeued ones included. Zero means none,
	// or unknown for a call that was open when the server ended the run.
	Attempts int `json:"attempts,omitempty"`
	// Worker is the identity of the worker of the last attempt.
	Worker string `json:"worker,omitempty"`
	// LastFailure is the failure of the last attempt but one; history has no earlier ones.
	LastFailure string `json:"last_failure,omitempty"`
	// Scheduled is when it was given to the lane, Started the start of the last attempt, and Closed
	// the end.
	Scheduled time.Time `json:"scheduled,omitzero"`
	Started   time.Time `json:"started,omitzero"`
	Closed    time.Time `json:"closed,omitzero"`
	// QueueWait is the time from Scheduled to Started if there was no earlier attempt, plus the
	// wait on the worker for a slot. History does not have the waits of later attempts. Duration is
	// the time from Started to Closed without the part that belongs to QueueWait.
	QueueWait Duration `json:"queue_wait,omitzero"`
	Duration  Duration `json:"duration,omitzero"`
}

// Record is the audit entry of one tool call, derived from history (requirement R3).
type Record struct {
	// CallID identifies the call within its run. Version and Digest are those of its tool.
	CallID  string `json:"call_id"`
	Tool    string `json:"tool"`
	Version string `json:"version,omitempty"`
	Digest  string `json:"digest,omitempty"`
	// Priority is the priority of the call in its lane.
	Priority Priority `json:"priority,omitempty"`
	// Arguments are the validated arguments of an admitted call, else the caller's; text that is
	// not JSON is a JSON string here. Sensitive values are redacted.
	Arguments json.RawMessage `json:"arguments,omitempty"`
	// Status says whether the call is open, or how it ended: with a Result or an Error.
	Status CallStatus `json:"status"`
	Result *Result    `json:"result,omitempty"`
	Error  *Error     `json:"error,omitempty"`
	// Phase is the last phase the call reached, apart from error_handling: post_execution for a
	// completed call, else the phase in which it stopped or is.
	Phase Phase `json:"phase"`
	// Turn is the model step that asked for the call.
	Turn int `json:"turn,omitempty"`
	// Notes are remarks for people and models, such as that the result was cut.
	Notes []string `json:"notes,omitempty"`
	Timing
	// Hooks are the effects of hooks on the call, in order. A call that a hook answered is
	// completed in the phase pre_execution.
	Hooks []HookAction `json:"hooks,omitempty"`
	// Policies are the rules that matched and their effects; Labels are then the labels the run had
	// collected.
	Policies []PolicyAction `json:"policies,omitempty"`
	Labels   []string       `json:"labels,omitempty"`
	// Sources are where values that rules asked about occurred before.
	Sources []ValueSources `json:"sources,omitempty"`
	// Batched says that the call was batched, and Activity is the id of the first call of the
	// batch.
	Batched  bool   `json:"batched,omitempty"`
	Activity string `json:"activity,omitempty"`
	// DryRun says that the call was withheld; its result is a WithheldEffect. It is completed in
	// the phase pre_execution.
	DryRun bool `json:"dry_run,omitempty"`
	// Plan is the execution plan of the call, with sensitive values replaced.
	Plan *ExecutionPlan `json:"plan,omitempty"`
	// Phases are the durations of the phases, where known.
	Phases map[Phase]Duration `json:"phases,omitempty"`
	// Approval is the approval of the call, without a decision while it waits.
	Approval *Decided `json:"approval,omitempty"`
	// Caller is who asked for the call. The other three identify its run.
	Caller       Caller `json:"caller,omitzero"`
	Conversation string `json:"conversation,omitempty"`
	Run          string `json:"run_id"`
	WorkflowID   string `json:"workflow_id"`
	// Parent is the path of the call for which a sub-agent's run works, or that this call undoes or
	// verifies. Path is the path of the call itself and orders it in the tree of runs.
	Parent string `json:"parent,omitempty"`
	Path   string `json:"path,omitempty"`
	// Purpose says why the run itself made the call; empty for all other calls. TargetCallID is the
	// ID of the call that it undoes or verifies, or its path if the run of a sub-agent made it.
	Purpose      Purpose `json:"purpose,omitempty"`
	TargetCallID string  `json:"target_call_id,omitempty"`
	// Trace is the W3C traceparent of the request for the call, if that had one of its own. MCP is
	// set if an MCP client asked for the call, or an MCP server executes it.
	Trace string      `json:"trace,omitempty"`
	MCP   *MCPMessage `json:"mcp,omitempty"`
	// Child is the sub-agent's run that executed the call, and Usage what that run used.
	Child *ChildRun `json:"child,omitempty"`
	Usage Usage     `json:"usage,omitzero"`
	// EstimatedTokens is the size of the arguments plus ExpectedTokens, the usual size of the
	// result according to the toolspec.
	EstimatedTokens int `json:"estimated_tokens,omitempty"`
	ExpectedTokens  int `json:"expected_tokens,omitempty"`
	// ResultTokens is the size of the result, ActualTokens that of arguments and result of a call
	// that its tool answered.
	ResultTokens int `json:"result_tokens,omitempty"`
	ActualTokens int `json:"actual_tokens,omitempty"`
	// Evaluation is that of the run at the top of the tree, where records of many runs are read;
	// nil elsewhere.
	Evaluation *EvaluatedResult `json:"evaluation,omitempty"`
}

// ArgumentTokens is the size of the call's arguments.
func (r Record) ArgumentTokens() int { return r.EstimatedTokens - r.ExpectedTokens }

// Live is a piece of a model's text while its step runs, without tool calls. Heartbeats of the
// model step carry it; history does not.
type Live struct {
	// Turn is the turn of the step.
	Turn int `json:"turn,omitempty"`
	// Attempt counts the attempts of the step from 1. Each attempt starts the text from the
	// beginning.
	Attempt int `json:"attempt"`
	// From is the offset of Text in the text of the attempt, in bytes. A piece that starts after
	// the end of the previous one shows that text in between was missed.
	From int    `json:"from"`
	Text string `json:"text"`
}

// Until is the offset of the end of the piece.
func (l Live) Until() int { return l.From + len(l.Text) }

// The transports of an MCPMessage.
const (
	TransportHTTP  = "tcp"
	TransportStdio = "pipe"
)
