package switchyard

import (
	"encoding/json"
	"time"
)

// EventType names what happened in a run (requirement R2).
type EventType string

// The events that are derived from a run's history.
const (
	EventRunStarted      EventType = "run_started"
	EventStepDelta       EventType = "step_delta"
	EventStepCompleted   EventType = "step_completed"
	EventToolStarted     EventType = "tool_started"
	EventToolCompleted   EventType = "tool_completed"
	EventToolFailed      EventType = "tool_failed"
	EventValidationError EventType = "validation_error"
	EventRunCompleted    EventType = "run_completed"
	EventRunFailed       EventType = "run_failed"
	EventRunCancelled    EventType = "run_cancelled"
)

// Event is one thing that happened in a run, derived from its history.
type Event struct {
	// Sequence counts from 1 within the run, over continue-as-new, without gaps.
	Sequence int       `json:"sequence"`
	Type     EventType `json:"type"`
	Time     time.Time `json:"time"`
	// WorkflowID and RunID name the execution in whose history it stands.
	WorkflowID string `json:"workflow_id"`
	RunID      string `json:"run_id"`
	Turn       int    `json:"turn,omitempty"`
	CallID     string `json:"call_id,omitempty"`
	Tool       string `json:"tool,omitempty"`
	// Step is set on step_completed.
	Step *ModelResponse `json:"step,omitempty"`
	// Record is set on the event that ends a call.
	Record *Record `json:"record,omitempty"`
	// Result and Failure are set on the event that ends the run.
	Result  *RunResult `json:"result,omitempty"`
	Failure string     `json:"failure,omitempty"`
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
	CallID    string          `json:"call_id"`
	Tool      string          `json:"tool"`
	Version   string          `json:"version,omitempty"`
	Digest    string          `json:"digest,omitempty"`
	Arguments json.RawMessage `json:"arguments,omitempty"`
	Status    CallStatus      `json:"status"`
	Result    *Result         `json:"result,omitempty"`
	Error     *Error          `json:"error,omitempty"`
	// Phase is the last phase the call reached.
	Phase    Phase    `json:"phase"`
	Lane     string   `json:"lane,omitempty"`
	Attempts int      `json:"attempts,omitempty"`
	Worker   string   `json:"worker,omitempty"`
	Turn     int      `json:"turn,omitempty"`
	Notes    []string `json:"notes,omitempty"`
	// Scheduled, Started and Closed are the server's times; Started is the last attempt's.
	Scheduled time.Time `json:"scheduled,omitzero"`
	Started   time.Time `json:"started,omitzero"`
	Closed    time.Time `json:"closed,omitzero"`
	// QueueWait is from Scheduled to Started, Duration from Started to Closed.
	QueueWait Duration `json:"queue_wait,omitzero"`
	Duration  Duration `json:"duration,omitzero"`
	// Phases are the times that the phases took where they are known.
	Phases          map[Phase]Duration `json:"phases,omitempty"`
	Caller          Caller             `json:"caller,omitzero"`
	Conversation    string             `json:"conversation,omitempty"`
	Run             string             `json:"run"`
	WorkflowID      string             `json:"workflow_id"`
	Parent          string             `json:"parent,omitempty"`
	EstimatedTokens int                `json:"estimated_tokens,omitempty"`
	ResultTokens    int                `json:"result_tokens,omitempty"`
}
