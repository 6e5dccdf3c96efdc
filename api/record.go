package api

import (
	"encoding/json"
	"time"
)

// EventType names what happened in a run (requirement R2).
type EventType string

// The events that are derived from a run's history, and step_delta, which only who follows a run is told of.
const (
	EventRunStarted      EventType = "run_started"
	EventStepDelta       EventType = "step_delta"
	EventStepCompleted   EventType = "step_completed"
	EventToolStarted     EventType = "tool_started"
	EventToolCompleted   EventType = "tool_completed"
	EventToolFailed      EventType = "tool_failed"
	EventValidationError EventType = "validation_error"
	EventQuestionAsked   EventType = "question_asked"
	EventQuestionClosed  EventType = "question_closed"
	// EventApprovalRefused tells of a decision that did not count: of another call, a second one, or one of nobody.
	EventApprovalRequested EventType = "approval_requested"
	EventApprovalDecided   EventType = "approval_decided"
	EventApprovalRefused   EventType = "approval_refused"
	// EventApprovalEscalated: nobody decided in time, and the approval is open for as long again.
	EventApprovalEscalated EventType = "approval_escalated"
	EventHookEnded         EventType = "hook_ended"
	EventMessageSent       EventType = "message_sent"
	EventRunPaused         EventType = "run_paused"
	EventRunResumed        EventType = "run_resumed"
	EventRunCompleted      EventType = "run_completed"
	EventRunFailed         EventType = "run_failed"
	EventRunCancelled      EventType = "run_cancelled"
)

// Event is one thing that happened in a run, derived from its history.
type Event struct {
	// Sequence counts from 1 within the run, over continue-as-new, without gaps. A step_delta, which is not in history, has
	// none.
	Sequence int       `json:"sequence,omitempty"`
	Type     EventType `json:"type"`
	Time     time.Time `json:"time"`
	// WorkflowID and RunID name the execution in whose history it stands.
	WorkflowID string `json:"workflow_id"`
	RunID      string `json:"run_id"`
	Turn       int    `json:"turn,omitempty"`
	CallID     string `json:"call_id,omitempty"`
	Tool       string `json:"tool,omitempty"`
	// Summary describes a call in one line, without its sensitive values.
	Summary string `json:"summary,omitempty"`
	// Step is set on step_completed. Sensitive arguments of the calls it asks for are redacted.
	Step *ModelResponse `json:"step,omitempty"`
	// Delta is set on step_delta: what the model said since the one before.
	Delta *Live `json:"delta,omitempty"`
	// Timing is set on step_completed, and on tool_started as far as it is known then: the lane and when it was scheduled.
	Timing *Timing `json:"timing,omitempty"`
	// StepFailures are set on step_completed and on the event that ends the run: the model steps since the last of these events that
	// failed for good, with all of their attempts.
	StepFailures []StepFailure `json:"step_failures,omitempty"`
	// Child is set on tool_started where a sub-agent executes the call.
	Child *ChildRun `json:"child,omitempty"`
	// Question is set on question_asked and, without its schema, on question_closed. There Reply says who replied, without
	// the answer itself; it is nil where nobody did: the question was given up or withdrawn.
	Question *Question `json:"question,omitempty"`
	Reply    *Reply    `json:"reply,omitempty"`
	// Approval is set on approval_requested and approval_escalated. Decided is on approval_decided, and on approval_refused, where Failure says why the
	// decision did not count.
	Approval *Approval `json:"approval,omitempty"`
	Decided  *Decided  `json:"decided,omitempty"`
	// Hook is set on hook_ended: what a hook of the run did. What hooks did to a call stands in its record.
	Hook *HookAction `json:"hook,omitempty"`
	// Sent is set on message_sent, Pause on run_paused and run_resumed: who did it, and why.
	Sent  *Sent  `json:"sent,omitempty"`
	Pause *Pause `json:"pause,omitempty"`
	// Record is set on the event that ends a call.
	Record *Record `json:"record,omitempty"`
	// Continues is set on the event that ends the run, where that went on with an earlier run of its conversation.
	Continues *ContinuedRun `json:"continues,omitempty"`
	// Result is set on the event that ends the run; of a run that did not complete it may hold the usage alone, or be nil.
	Result *RunResult `json:"result,omitempty"`
	// Failure says in words why the run failed or who stopped it; FailureType and Problems are set where the run itself
	// said so.
	Failure     string       `json:"failure,omitempty"`
	FailureType RunErrorType `json:"failure_type,omitempty"`
	Problems    []Problem    `json:"problems,omitempty"`
}

// ContinuedRun is a run that a later one of its conversation goes on with.
type ContinuedRun struct {
	WorkflowID string `json:"workflow_id"`
	RunID      string `json:"run_id"`
}

// StepFailure is a model step that gave no result. Where the run ended by it, its end says why.
type StepFailure struct {
	Turn int `json:"turn,omitempty"`
	// Type is that of the failure, such as ModelOverflow; "timeout" where the step took too long or its worker was lost.
	Type string `json:"type"`
	Timing
}

// Timing is where and when a call or a model step ran, by the server's clock.
type Timing struct {
	Lane string `json:"lane,omitempty"`
	// Attempts counts those that started, those among them that a worker handed back unbegun. Zero says that none did, or, of a call that was open when the server ended the
	// run, that history does not tell.
	Attempts int `json:"attempts,omitempty"`
	// Worker is the identity of the worker that made the last attempt.
	Worker string `json:"worker,omitempty"`
	// LastFailure is why the attempt before the last one failed; history keeps no earlier ones.
	LastFailure string `json:"last_failure,omitempty"`
	// Started is the last attempt's start.
	Scheduled time.Time `json:"scheduled,omitzero"`
	Started   time.Time `json:"started,omitzero"`
	Closed    time.Time `json:"closed,omitzero"`
	// QueueWait is from Scheduled to Started where no attempt before the last one began, and what the call waited with its
	// lane's holder after that. History does not tell how long later attempts waited for a worker. Duration is from Started
	// to Closed, without what is part of QueueWait.
	QueueWait Duration `json:"queue_wait,omitzero"`
	Duration  Duration `json:"duration,omitzero"`
}

// CallStatus is how a call stands.
type CallStatus string

// The states of a call. A refused one never ran.
const (
	CallRunning   CallStatus = "running"
	CallCompleted CallStatus = "completed"
	CallFailed    CallStatus = "failed"
	CallRefused   CallStatus = "refused"
	CallCancelled CallStatus = "cancelled"
)

// Record is the audit entry of one tool call, derived from history (requirement R3).
type Record struct {
	CallID  string `json:"call_id"`
	Tool    string `json:"tool"`
	Version string `json:"version,omitempty"`
	Digest  string `json:"digest,omitempty"`
	// Priority is that which the call has, or would have had, in its lane's queue.
	Priority Priority `json:"priority,omitempty"`
	// Arguments are the validated ones of a call that was admitted, else what the caller wrote: text that is no JSON
	// stands here as a JSON string. Sensitive values are redacted.
	Arguments json.RawMessage `json:"arguments,omitempty"`
	Status    CallStatus      `json:"status"`
	Result    *Result         `json:"result,omitempty"`
	Error     *Error          `json:"error,omitempty"`
	// Phase is the last phase the call reached, error_handling aside: post_execution for a completed call, for every
	// other one that in which it stopped or stands.
	Phase Phase    `json:"phase"`
	Turn  int      `json:"turn,omitempty"`
	Notes []string `json:"notes,omitempty"`
	Timing
	// Hooks are what hooks did to the call, in order. A call that one of them answered in the tool's place is completed in the
	// phase pre_execution.
	Hooks []HookAction `json:"hooks,omitempty"`
	// Policies are the rules that the call met, and what each did; Labels are then those that the run had seen.
	Policies []PolicyAction `json:"policies,omitempty"`
	Labels   []string       `json:"labels,omitempty"`
	// Batched says that the call was made together with others, Activity as what: the id of the first of them.
	Batched  bool   `json:"batched,omitempty"`
	Activity string `json:"activity,omitempty"`
	// DryRun says that the call was withheld: its result tells what it would have done. It is completed in the phase
	// pre_execution.
	DryRun bool `json:"dry_run,omitempty"`
	// Plan is the execution plan that the call carried, with the values of sensitive arguments replaced in its texts.
	Plan *ExecutionPlan `json:"plan,omitempty"`
	// Phases are the times that the phases took where they are known.
	Phases map[Phase]Duration `json:"phases,omitempty"`
	// Approval is what a person decided about the call, where it had to be approved; while it waits, it has no decision.
	Approval     *Decided `json:"approval,omitempty"`
	Caller       Caller   `json:"caller,omitzero"`
	Conversation string   `json:"conversation,omitempty"`
	Run          string   `json:"run_id"`
	WorkflowID   string   `json:"workflow_id"`
	// Parent is the path of the call that the run works for, where it is a sub-agent's, and of a call that undoes or
	// verifies another the path of that one; Path is the call's own, and orders it among those of the whole tree of runs.
	Parent string `json:"parent,omitempty"`
	Path   string `json:"path,omitempty"`
	// Purpose says why the run itself made the call; empty for all other calls. TargetCallID is the
	// ID of the call that it undoes or verifies, or its path if the run of a sub-agent made it.
	Purpose      Purpose `json:"purpose,omitempty"`
	TargetCallID string  `json:"target_call_id,omitempty"`
	// Child is the sub-agent's run that executed the call, and Usage what that run used.
	Child *ChildRun `json:"child,omitempty"`
	Usage Usage     `json:"usage,omitzero"`
	// EstimatedTokens are those of the arguments and, where the toolspec says how many a result takes as a rule, those too, which are ExpectedTokens.
	EstimatedTokens int `json:"estimated_tokens,omitempty"`
	ExpectedTokens  int `json:"expected_tokens,omitempty"`
	// ResultTokens are those of the result, ActualTokens those of the arguments and the result of a call that its tool answered.
	ResultTokens int `json:"result_tokens,omitempty"`
	ActualTokens int `json:"actual_tokens,omitempty"`
	// Verdict is that on the run at the top of the call's tree, where records of many runs are read; nil elsewhere.
	Evaluation *EvaluatedResult `json:"evaluation,omitempty"`
}

// ArgumentTokens are those of the call's arguments.
func (r Record) ArgumentTokens() int { return r.EstimatedTokens - r.ExpectedTokens }
