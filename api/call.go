package api

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/switchyard/switchyard/internal/value/jsonvalue"
)

// Phase is one of the five phases that every call goes through (requirement E1).
type Phase string

// The phases, in order. A failing call ends with error_handling.
const (
	PhasePreValidation Phase = "pre_validation"
	PhasePreExecution  Phase = "pre_execution"
	PhaseExecution     Phase = "execution"
	PhasePostExecution Phase = "post_execution"
	PhaseErrorHandling Phase = "error_handling"
)

// CallerType is the kind of caller.
type CallerType string

// The kinds of caller.
const (
	CallerAgent   CallerType = "agent"
	CallerPlan    CallerType = "plan"
	CallerSession CallerType = "session"
	CallerDirect  CallerType = "direct"
)

// Caller is who made a call: the name of an agent or a plan, or for a direct call the person or
// program.
type Caller struct {
	Type CallerType `json:"type"`
	ID   string     `json:"id,omitempty"`
	// Auth is how the one who started the run was authenticated, and Claims are the claims of that
	// identity, as JSON values. The callers of all calls of a run have those of the run's caller;
	// each call of a session has its own.
	Auth   AuthMethod     `json:"auth,omitempty"`
	Claims map[string]any `json:"claims,omitempty"`
	// Principal is that identity, if ID is not: for calls of agents and plans.
	Principal string `json:"principal,omitempty"`
}

// Identity returns the identity that Auth and Claims belong to.
func (c Caller) Identity() string { return cmp.Or(c.Principal, c.ID) }

// Is reports whether both are the same identity. Its claims differ from token to token.
func (c Caller) Is(other Caller) bool {
	return c.Auth == other.Auth && c.Identity() == other.Identity()
}

// Bare returns the caller without its claims.
func (c Caller) Bare() Caller {
	c.Claims = nil
	return c
}

// Passed returns the caller for the inputs of activities. Only the run and admission read the rest.
func (c Caller) Passed() Caller {
	c.Claims, c.Principal = nil, ""
	return c
}

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

// Asked returns the ID of the call that its caller asked for: that of the call, or of the one on
// whose behalf the run makes it.
func (c Call) Asked() string { return cmp.Or(c.TargetCallID, c.ID) }

// AdmissionDecision is what admission decided about one call. It is recorded in history.
type AdmissionDecision struct {
	ID string `json:"call_id"`
	// Arguments are the validated arguments if they differ from the caller's (defaults, coercions).
	Arguments json.RawMessage `json:"arguments,omitempty"`
	// Notes say what was dropped, coerced or should be known (a deprecated tool).
	Notes []string `json:"notes,omitempty"`
	// Tokens estimates the size of the arguments for a model.
	Tokens int `json:"tokens,omitempty"`
	// ExpectedTokens is the usual size of the result according to the toolspec; zero if unknown.
	ExpectedTokens int `json:"expected_tokens,omitempty"`
	// Question is the question to a person, for a call of a human tool, with sensitive arguments
	// redacted.
	Question string `json:"question,omitempty"`
	// Prompt is the prompt of a sub-agent: the tool's template, filled in.
	Prompt string `json:"prompt,omitempty"`
	// Claim is how many further calls of the run's budget the call claims: one for a sub-agent with
	// tools.
	Claim int `json:"claim,omitempty"`
	// Route is where the call goes.
	Route Route `json:"route,omitzero"`
	// Hooks are the effects of hooks before the call.
	Hooks []HookAction `json:"hooks,omitempty"`
	// Plan is the execution plan of the call; Arguments are without it.
	Plan *ExecutionPlan `json:"plan,omitempty"`
	// Policies are the effects of the rules that matched.
	Policies []PolicyAction `json:"policies,omitempty"`
	// Labels are the labels the run had collected by then, if a rule matched.
	Labels []string `json:"labels,omitempty"`
	// Sources are the sources of values that rules asked about.
	Sources []ValueSources `json:"sources,omitempty"`
	// Reserved is set if ledgers count the call for rules about time.
	Reserved *Reservation `json:"reserved,omitempty"`
	// Approval is set if a person has to approve the call before it runs.
	Approval *ApprovalNeed `json:"approval,omitempty"`
	// Batch is the id of the first call of the batch, which may be this one; empty without
	// batching.
	Batch string `json:"batch,omitempty"`
	// Result is set if a hook or a dry run answers the call instead of the tool, which must not
	// run.
	Result *Result `json:"result,omitempty"`
	// DryRun says that Result is a WithheldEffect.
	DryRun bool `json:"dry_run,omitempty"`
	// Error is set if the call must not run.
	Error *Error `json:"error,omitempty"`
	// Pinned are the rules of the worker that decided, if the run was pinned to none before. The
	// run is pinned to them from then on. Only the first decision has them.
	Pinned *Packed[PinnedPolicies] `json:"pinned,omitempty"`
	// CallPurpose and Tool are those of a call with a purpose: no earlier event of the history
	// names them.
	CallPurpose
	Tool string `json:"tool,omitempty"`
}

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
	// Requeues is how often the call was scheduled again because it had not started, on a lane with
	// a key.
	Requeues int `json:"requeues,omitempty"`
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

// Origin is what all calls of one run share.
type Origin struct {
	// Run is the id of the first execution of the run's chain, stable over continue-as-new.
	Run    string `json:"run_id"`
	Caller Caller `json:"caller"`
	// Conversation groups runs; if it is empty, a CallContext has the workflow id instead.
	Conversation string         `json:"conversation,omitempty"`
	Trace        string         `json:"trace,omitempty"`
	Variables    map[string]any `json:"variables,omitempty"`
	// VariablesDigest stands for Variables that are too large for the input of every call. Workers
	// get them by VariablesQuery.
	VariablesDigest string `json:"variables_digest,omitempty"`
	// DryRun says that the run withholds calls that may change something. Hooks run nevertheless
	// and can check it.
	DryRun bool `json:"dry_run,omitempty"`
}

// maxPassedVariables bounds the variables in the input of every call, in bytes as JSON.
const maxPassedVariables = 4 << 10

// Passed returns the origin for the inputs of activities: with the digest of the variables in their
// place if they are large.
func (o Origin) Passed() Origin {
	o.Caller = o.Caller.Passed()
	data, err := json.Marshal(o.Variables)
	if err == nil && len(data) > maxPassedVariables {
		o.Variables, o.VariablesDigest = nil, Digest(data)
	}
	return o
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

// CallDigest identifies what a call asks for: tool and arguments, regardless of formatting and of
// the execution plan.
func CallDigest(tool, arguments string) string {
	if strings.TrimSpace(arguments) == "" {
		arguments = "{}"
	}
	if value, err := jsonvalue.Decode([]byte(arguments)); err == nil {
		if object, ok := value.(map[string]any); ok {
			delete(object, PlanArgument)
		}
		if data, err := jsonvalue.Encode(value); err == nil {
			arguments = string(data)
		}
	}
	return Digest([]byte(fmt.Sprintf("%q %q", tool, arguments)))
}

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
