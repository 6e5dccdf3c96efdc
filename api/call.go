package api

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/switchyard/switchyard/internal/value/jsonvalue"
)

// Call is one request to one tool before admission.
type Call struct {
	// ID is stable over attempts, workers and continue-as-new, and unique in its run. "3.1" is the
	// first call of the third turn; calls of a plan have the ids of the plan.
	ID   string `json:"call_id"`
	Tool string `json:"tool"`
	// Arguments is the text of the arguments as the caller wrote it; it may be invalid JSON.
	Arguments string `json:"arguments"`
	// Priority overrides those of the run and of the tool; only calls of a plan have one.
	Priority Priority `json:"priority,omitempty"`
	CallPurpose
	// Problem says why a call that undoes another one cannot be made; empty if it can.
	Problem string `json:"problem,omitempty"`
	// Ask is a reason for which a person has to approve the call, besides tool and policies; only
	// calls of a plan have one.
	Ask string `json:"ask,omitempty"`
	// Plan is the call's execution plan if it is no longer among the arguments.
	Plan *ExecutionPlan `json:"plan,omitempty"`
	// Trace is the W3C traceparent of the call; empty is that of the run. Only calls of a session
	// have one.
	Trace string `json:"trace,omitempty"`
}

// RequestedID returns the ID of the call that its caller asked for: that of the call, or of the one
// on
// whose behalf the run makes it.
func (c Call) RequestedID() string { return cmp.Or(c.TargetCallID, c.ID) }

// Execution is the input of a tool's activity, whose type is the tool's name and whose id is the
// call's.
type Execution struct {
	// Digest identifies the exact toolspec.
	Digest string `json:"digest"`
	// Arguments are validated.
	Arguments json.RawMessage `json:"arguments"`
	Origin    Origin          `json:"origin"`
	// Notes are those of the admission decision; they return with the result.
	Notes []string `json:"notes,omitempty"`
	// Parent is the path of the call on whose behalf this one runs: for sub-agents, and for calls
	// that undo or verify another.
	Parent string `json:"parent,omitempty"`
	// Hooks are those that run after the call.
	Hooks []Hook `json:"hooks,omitempty"`
	// Key is the KeyPart of the call's key on a keyed lane, and Fairness its fairness key among the
	// calls with that key. The fairness key of the activity is the lane's key there.
	Key      string `json:"key,omitempty"`
	Fairness string `json:"fairness,omitempty"`
	// QueueTimeout bounds the wait on a worker for a slot of the lane; zero is no bound.
	QueueTimeout Duration `json:"queue_timeout,omitzero"`
	// Timeout bounds an attempt if the execution plan does; zero leaves it to the tool.
	Timeout Duration `json:"timeout,omitzero"`
	// Parts are the calls of a batch; Arguments have the elements of all of them. Empty for a
	// single call.
	Parts []Part `json:"parts,omitempty"`
	// Task is the remote task that an earlier attempt of the call waited for. This attempt waits
	// for its end and does not execute the call again.
	Task *RemoteTask `json:"remote_task,omitempty"`
	// HasErrors says that an earlier call of the run had failed.
	HasErrors bool `json:"has_errors,omitempty"`
	// Own says that the run itself makes the call, such as to undo another one. Its lane does not
	// refuse it for load, and executes it before the calls that wait there.
	Own bool `json:"own,omitempty"`
}

// Result is the result of a tool's activity for a successful call.
type Result struct {
	// Output is the tool's answer, a JSON value, cut at the toolspec's max_result.
	Output json.RawMessage `json:"output"`
	// Cut is the number of bytes left out; zero if Output is complete.
	Cut int `json:"cut,omitempty"`
	// Whole refers to the complete answer in the payload store, if there is a store and Output is
	// cut.
	Whole string   `json:"whole,omitempty"`
	Notes []string `json:"notes,omitempty"`
	// Tokens is the size of the result as a model sees it.
	Tokens int `json:"tokens,omitempty"`
	// ExecutionMicros and PostMicros are the durations of the phases execution and post_execution.
	ExecutionMicros int64 `json:"execution_us,omitempty"`
	PostMicros      int64 `json:"post_us,omitempty"`
	// WaitedMicros is how long the call waited on its worker for a slot; it belongs to no phase.
	WaitedMicros int64 `json:"waited_us,omitempty"`
	// Slow marks a call that exceeded the toolspec's slow threshold.
	Slow bool `json:"slow,omitempty"`
	// Hooks are the effects of hooks after the call.
	Hooks []HookAction `json:"hooks,omitempty"`
	// Parts are the outcomes of the calls of a batch; Output is then empty.
	Parts []CallOutcome `json:"parts,omitempty"`
	// NotEmitted are the labels of the tool that this result does not have, because their
	// conditions are false. Cleared are the labels that the tool removes from the run.
	NotEmitted []string   `json:"not_emitted,omitempty"`
	Cleared    []Clearing `json:"cleared,omitempty"`
	// Reports are what the tool reported during the call, as far as MaxReports allows.
	Reports []Report `json:"reports,omitempty"`
}

// NotesBegin separates a result from its notes in the text for a model.
const NotesBegin = "\n[note: "

// ResultBytes bounds the history that the output of a tool with that max_result takes, in bytes.
// JSON escapes some characters with six bytes.
func ResultBytes(maxResult int) int { return min(6*maxResult, max(2*maxResult, 64<<10)) }

// ForModel returns the result as text: a JSON string without its quotes, any other value as compact
// JSON, then notes.
func (r Result) ForModel() string {
	text := jsonvalue.Plain(r.Output)
	if len(r.Notes) > 0 {
		text += NotesBegin + strings.Join(r.Notes, "; ") + "]"
	}
	return text
}

// CallOutcome is the outcome of one call: exactly one of Result and Error is set.
type CallOutcome struct {
	ID     string  `json:"call_id"`
	Tool   string  `json:"tool"`
	Result *Result `json:"result,omitempty"`
	Error  *Error  `json:"error,omitempty"`
}

// CallContext is what a tool can know about the call it executes (requirement E7).
type CallContext struct {
	CallID string
	Tool   string
	Origin
	// WorkflowID and RunID identify the execution that made this attempt; Origin.Run is stable over
	// continue-as-new.
	WorkflowID string
	RunID      string
	ParentCall string
	// Parts are the calls of a batch; empty for a single call. The key of each is
	// IdempotencyKey(Run, ID).
	Parts []Part
	// Attempt counts from 1. MaxAttempts is the number of attempts that the tool's retry policy
	// and the call's execution plan allow.
	Attempt     int
	MaxAttempts int
	Timeout     Duration
	// HasErrors says that when this attempt was scheduled a call of the run had failed or had been
	// refused. Always false in hooks before calls.
	HasErrors bool
	// Key is the idempotency key of the call: stable over attempts, workers and continue-as-new,
	// different for every call.
	Key string
	// Generation is the fencing number of a stateful tool's instance. It grows with every instance
	// of the tool in the run, so that a target system can reject an older one. Zero for other
	// kinds.
	Generation int
	// Lane is the lane of the call, with the key's part on a keyed lane: "android/pixel-7".
	Lane string
	// Fence is the fencing number of the worker's lease. It grows with every change of worker, so
	// that a target system can reject a call of an earlier one. Compare it among calls of one key,
	// or of a lane with one group. Zero on lanes without a limit.
	Fence int64
}

// IdempotencyKey returns the key of a call. It consists of the first run of the chain and the
// call's id and never of the content, because two equal calls are two calls.
func IdempotencyKey(run, callID string) string { return run + "/" + callID }

// TurnCallID returns the id of the nth call (from 1) of a turn (from 1).
func TurnCallID(turn, n int) string { return fmt.Sprintf("%d.%d", turn, n) }

// CallTurn returns the turn of a call, the inverse of TurnCallID; zero for other ids.
func CallTurn(id string) int {
	before, after, _ := strings.Cut(id, ".")
	turn, err := strconv.Atoi(before)
	n, fault := strconv.Atoi(after)
	if err != nil || fault != nil || TurnCallID(turn, n) != id {
		return 0
	}
	return turn
}

// TurnStepID returns the activity id of a turn's model step.
func TurnStepID(turn int) string { return fmt.Sprintf("turn-%d", turn) }

// SummaryStepID is the activity id of the summary step at a limit.
const SummaryStepID = "summary"
