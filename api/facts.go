package api

import (
	"encoding/json"
	"sync/atomic"
	"time"
)

// PastCalls counts the calls of a run by tool, for policies.
type PastCalls struct {
	Tool      string `json:"tool"`
	Completed int    `json:"completed,omitempty"`
	Failed    int    `json:"failed,omitempty"`
	Refused   int    `json:"refused,omitempty"`
	// Running counts calls that were admitted and have not ended.
	Running int `json:"running,omitempty"`
}

// All returns the number of calls with any outcome.
func (p PastCalls) All() int { return p.Completed + p.Failed + p.Refused + p.Running }

// Plus returns the sum of the calls of one tool.
func (p PastCalls) Plus(other PastCalls) PastCalls {
	p.Completed += other.Completed
	p.Failed += other.Failed
	p.Refused += other.Refused
	p.Running += other.Running
	return p
}

// RunFacts are the facts of a run that policies can use, besides those in AdmissionRequest.
type RunFacts struct {
	// Run is the id of the first execution of the run's chain.
	Run          string `json:"run_id,omitempty"`
	Conversation string `json:"conversation,omitempty"`
	// Turn is the turn of an agent run.
	Turn int `json:"turn,omitempty"`
	// Labels are the labels the run has collected, sorted.
	Labels []string `json:"labels,omitempty"`
	// Calls are the run's calls by tool. Calls of sub-agents count for their own runs.
	Calls   []PastCalls `json:"calls,omitempty"`
	Usage   Usage       `json:"usage,omitzero"`
	Limits  Limits      `json:"limits,omitzero"`
	Started time.Time   `json:"started,omitzero"`
	// Earlier are the run's earlier calls as far as they are kept, the oldest first, and Statements
	// the texts that it was given. They pass within one process, are never encoded, and are not
	// changed.
	Earlier    []*EarlierCall `json:"-"`
	Statements []*Statement   `json:"-"`
	// Values are the values of the run's variables.
	Values map[string]any `json:"-"`
	// NoStatements says that the run no longer knows what people wrote, because the rules at its
	// start did not read it.
	NoStatements bool `json:"-"`
}

// EarlierCall is an earlier call of a run, for policies. It is not changed once it is shared.
type EarlierCall struct {
	ID   string `json:"call_id"`
	Tool string `json:"tool"`
	// Arguments are the validated arguments of an admitted call, else those of the caller.
	Arguments string `json:"arguments,omitempty"`
	// Result is the output of a completed call, as far as it is kept. Text is the message of a
	// failed one, or an output that is cut.
	Result json.RawMessage `json:"result,omitempty"`
	Text   string          `json:"text,omitempty"`
	// Status is completed, failed, refused or running.
	Status CallStatus `json:"status"`
	Turn   int        `json:"turn,omitempty"`
	// Time is when the call was admitted, or refused.
	Time time.Time `json:"time,omitzero"`
	// Labels are those of the result, and RunLabels those of the run when the call was admitted.
	Labels    []string `json:"labels,omitempty"`
	RunLabels []string `json:"run_labels,omitempty"`
	// Place counts the calls that have ended, up to this one; zero while it runs. After is the
	// place of the last call that had ended when this one was admitted: its arguments can come from
	// the results up to there.
	Place int `json:"place,omitempty"`
	After int `json:"after,omitempty"`
	// Batch is the first call of the batch in which the call was executed; empty for none. The tool
	// saw the arguments of all of them.
	Batch string `json:"batch,omitempty"`
	// Unknown says that Arguments lacks those of the call: they are too long, or the run itself
	// made the call.
	Unknown bool `json:"unknown_arguments,omitempty"`
	// NotKept says that the run keeps no results, because the rules at its start did not read them.
	NotKept bool `json:"-"`
	// Derived is what a worker computed from the call.
	Derived atomic.Value `json:"-"`
}

// Size is the approximate size of arguments and result in bytes.
func (c *EarlierCall) Size() int { return len(c.Arguments) + len(c.Result) + len(c.Text) }

// CallStatus is the status of a call.
type CallStatus string

// The statuses of a call. A refused one never ran.
const (
	CallRunning   CallStatus = "running"
	CallCompleted CallStatus = "completed"
	CallFailed    CallStatus = "failed"
	CallRefused   CallStatus = "refused"
	CallCancelled CallStatus = "cancelled"
)
