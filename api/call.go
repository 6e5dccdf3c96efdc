package api

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
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

// CallerType says what kind of run made a call.
type CallerType string

// The kinds of caller.
const (
	CallerAgent   CallerType = "agent"
	CallerPlan    CallerType = "plan"
	CallerSession CallerType = "session"
	CallerDirect  CallerType = "direct"
)

// Caller is who made a call: for an agent its name, for a plan the plan's, for a direct call the person or program.
type Caller struct {
	Type CallerType `json:"type"`
	ID   string     `json:"id,omitempty"`
}

// Call is one request to one tool, as it stands before admission.
type Call struct {
	// ID is stable over attempts, workers and continue-as-new, and unique in its run: "3.1" is the first call of the
	// third turn; in a plan it is the id that the plan gives.
	ID   string `json:"call_id"`
	Tool string `json:"tool"`
	// Arguments is the text of the arguments exactly as the caller wrote it; it need not be valid JSON.
	Arguments string `json:"arguments"`
	// Priority overrides those of the run and of the tool; only calls of a plan have one.
	Priority Priority `json:"priority,omitempty"`
	CallPurpose
	// Problem says why a call that undoes another one cannot be made; empty if it can.
	Problem string `json:"problem,omitempty"`
	// Ask is why a person has to approve the call, beside what its tool and the rules say; only calls of a plan have one.
	Ask string `json:"ask,omitempty"`
	// Plan is the call's execution plan where it has been taken off the arguments already.
	Plan *ExecutionPlan `json:"plan,omitempty"`
}

// Verdict is what admission decided about one call. It is recorded in history.
type AdmissionDecision struct {
	ID string `json:"call_id"`
	// Arguments are the validated arguments where they differ from what the caller wrote (defaults, coercions).
	Arguments json.RawMessage `json:"arguments,omitempty"`
	// Notes tell what was dropped, coerced or should be known (a deprecated tool).
	Notes []string `json:"notes,omitempty"`
	// Tokens estimates the arguments' size for a model.
	Tokens int `json:"tokens,omitempty"`
	// ExpectedTokens is what the result takes as a rule, as the toolspec says; zero where that says nothing.
	ExpectedTokens int `json:"expected_tokens,omitempty"`
	// Question is what a person is asked, for a call of a human tool; sensitive arguments are redacted.
	Question string `json:"question,omitempty"`
	// Prompt is what a sub-agent is asked: the tool's template, filled.
	Prompt string `json:"prompt,omitempty"`
	// Claim is how many calls beside itself the call claims of the run's budget: one for a sub-agent that has tools.
	Claim int `json:"claim,omitempty"`
	// Route is where the call goes.
	Route Route `json:"route,omitzero"`
	// Hooks are what hooks before the call did to it.
	Hooks []HookAction `json:"hooks,omitempty"`
	// Plan is the execution plan that the call carried; Arguments are then without it.
	Plan *ExecutionPlan `json:"plan,omitempty"`
	// Policies are what rules did to it, those that it did not meet left out.
	Policies []PolicyAction `json:"policies,omitempty"`
	// Labels are, where a rule met, those that the run had seen by then.
	Labels []string `json:"labels,omitempty"`
	// Approval is set where a person has to approve the call before it runs.
	Approval *ApprovalNeed `json:"approval,omitempty"`
	// Batch is the id of the first of the calls that are made together with this one, itself included; empty for a call that is made
	// alone.
	Batch string `json:"batch,omitempty"`
	// Result is set where the call is answered in the tool's place, by a hook or because it is a dry run: it must not run.
	Result *Result `json:"result,omitempty"`
	// DryRun says that Result, a Withheld, tells what the call would have done.
	DryRun bool `json:"dry_run,omitempty"`
	// Error is set where the call must not run.
	Error *Error `json:"error,omitempty"`
	// CallPurpose and Tool are those of a call with a purpose: no earlier event of the history names
	// them.
	CallPurpose
	Tool string `json:"tool,omitempty"`
}

// Execution is the input of a tool's activity. The activity's type is the tool's name, its id the call's.
type Execution struct {
	// Digest names the exact toolspec.
	Digest string `json:"digest"`
	// Arguments are validated.
	Arguments json.RawMessage `json:"arguments"`
	Origin    Origin          `json:"origin"`
	// Notes are those of the call's verdict; they come back with the result.
	Notes []string `json:"notes,omitempty"`
	// Parent is the path of the call on whose behalf this one runs: for sub-agents, and for calls that undo or verify another.
	Parent string `json:"parent,omitempty"`
	// Hooks are those that run after the call.
	Hooks []Hook `json:"hooks,omitempty"`
	// QueueTimeout bounds the wait of a call that may wait with its lane's holder; zero is no bound.
	QueueTimeout Duration `json:"queue_timeout,omitzero"`
	// Timeout bounds an attempt where the call's execution plan does; zero leaves it to the tool.
	Timeout Duration `json:"timeout,omitzero"`
	// Parts are the calls that are made together; Arguments have the elements of all of them. Empty for a single call.
	Parts []Part `json:"parts,omitempty"`
}

// Origin is what all calls of one run have in common.
type Origin struct {
	// Run is the id of the first execution of the run's chain; it stays the same over continue-as-new.
	Run    string `json:"run_id"`
	Caller Caller `json:"caller"`
	// Conversation ties runs together; empty where the run is its own, and then a CallContext has the workflow's id.
	Conversation string         `json:"conversation,omitempty"`
	Trace        string         `json:"trace,omitempty"`
	Variables    map[string]any `json:"variables,omitempty"`
	// DryRun says that the run withholds what may change anything. Hooks run all the same, and can look at it.
	DryRun bool `json:"dry_run,omitempty"`
}

// Result is what a tool's activity returns for a call that succeeded.
type Result struct {
	// Output is the tool's whole answer, a JSON value, cut at the spec's max_result.
	Output json.RawMessage `json:"output"`
	// Cut is the number of bytes that were left out; zero says that Output is whole.
	Cut int `json:"cut,omitempty"`
	// Whole refers to the whole answer in the payload store, where there is one and Output is cut.
	Whole string   `json:"whole,omitempty"`
	Notes []string `json:"notes,omitempty"`
	// Tokens counts the result as the model sees it.
	Tokens int `json:"tokens,omitempty"`
	// ExecutionMicros and PostMicros are the times spent in the phases execution and post_execution.
	ExecutionMicros int64 `json:"execution_us,omitempty"`
	PostMicros      int64 `json:"post_us,omitempty"`
	// HeldMicros is how long the call waited with its lane's holder; it is no time of a phase.
	WaitedMicros int64 `json:"waited_us,omitempty"`
	// Slow marks a call that took longer than the spec's slow threshold.
	Slow bool `json:"slow,omitempty"`
	// Hooks are what hooks after the call did to it.
	Hooks []HookAction `json:"hooks,omitempty"`
	// Parts are the outcomes of calls that were made together; Output is then empty.
	Parts []CallOutcome `json:"parts,omitempty"`
}

// NotesBegin stands before the notes of a result in what a model is told.
const NotesBegin = "\n[note: "

// ResultBytes is how many bytes of history the output of a tool with that max_result takes at most: JSON writes some characters with
// six bytes.
func ResultBytes(maxResult int) int { return min(6*maxResult, max(2*maxResult, 64<<10)) }

// ForModel returns the result as text: a JSON string without its quotes, any other value as compact JSON, then notes.
func (r Result) ForModel() string {
	text := PlainText(r.Output)
	if len(r.Notes) > 0 {
		text += NotesBegin + strings.Join(r.Notes, "; ") + "]"
	}
	return text
}

// PlainText returns a JSON string's content, or the compact JSON text where it is another kind of value. The answer is
// the same before and after the value went through encoding/json, which escapes some characters.
func PlainText(value json.RawMessage) string {
	var s string
	if bytes.HasPrefix(bytes.TrimLeft(value, " \t\r\n"), []byte{'"'}) && json.Unmarshal(value, &s) == nil {
		return s
	}
	var b bytes.Buffer
	if json.Compact(&b, value) != nil {
		return string(value)
	}
	return unescape(b.String())
}

// escapes are what encoding/json writes by default in place of characters that JSON lets stand.
var escapes = map[string]string{"u003c": "<", "u003e": ">", "u0026": "&", "u2028": "\u2028", "u2029": "\u2029"}

func unescape(text string) string {
	if !strings.Contains(text, `\u`) {
		return text
	}
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] != '\\' || i+1 == len(text) {
			b.WriteByte(text[i])
			continue
		}
		if plain, ok := escapes[text[i+1:min(i+6, len(text))]]; ok {
			b.WriteString(plain)
			i += 5
			continue
		}
		b.WriteString(text[i : i+2])
		i++
	}
	return b.String()
}

// CallOutcome is what became of one call: exactly one of Result and Error is set.
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
	// WorkflowID and RunID name the execution that made this attempt; Origin.Run is stable over continue-as-new.
	WorkflowID string
	RunID      string
	ParentCall string
	// Parts are the calls that are made together as this one; empty for a single call. The key of each is IdempotencyKey(Run, ID).
	Parts []Part
	// Attempt counts from 1.
	Attempt int
	Timeout Duration
	// Key is the call's idempotency key: stable over attempts, workers and continue-as-new, different for every call.
	Key string
	// Generation is the fencing number of the instance that a stateful tool's call runs on: it grows with every instance
	// that the run has of the tool, so that whoever is written to can refuse an older one. Zero for other kinds.
	Generation int
	// Lane is the lane on which the call runs, of a keyed lane with the key's part: "android/pixel-7".
	Lane string
	// Fence is the fencing number of the worker's lease for the lane: it grows with every change of holder, so that whoever
	// is written to can refuse a call of an earlier one. It can be compared among the calls of a lane that has one holder,
	// and of a key. Zero on lanes without a limit.
	Fence int64
}

type callContextKey struct{}

// WithCallContext returns a context from which ContextOf reads c.
func WithCallContext(ctx context.Context, c CallContext) context.Context {
	return context.WithValue(ctx, callContextKey{}, c)
}

// ContextOf returns the context of the call that ctx belongs to; false outside of a call.
func ContextOf(ctx context.Context) (CallContext, bool) {
	c, ok := ctx.Value(callContextKey{}).(CallContext)
	return c, ok
}

// IdempotencyKey returns the key of a call: the first run of the chain and the call's id, never its content, because
// two equal calls are two calls.
func IdempotencyKey(run, callID string) string { return run + "/" + callID }

// CallDigest identifies what a call asks for: equal ones have the same tool and arguments, however those are written. What the
// call's execution plan says makes no difference.
func CallDigest(tool, arguments string) string {
	if strings.TrimSpace(arguments) == "" {
		arguments = "{}"
	}
	if value, err := DecodeJSON([]byte(arguments)); err == nil {
		if object, ok := value.(map[string]any); ok {
			delete(object, PlanArgument)
		}
		if data, err := EncodeJSON(value); err == nil {
			arguments = string(data)
		}
	}
	return Digest([]byte(fmt.Sprintf("%q %q", tool, arguments)))
}

// TurnCallID returns the id of the nth call (from 1) of a turn (from 1).
func TurnCallID(turn, n int) string { return fmt.Sprintf("%d.%d", turn, n) }

// CallTurn returns the turn of a call, the inverse of TurnCallID; zero for ids that are no turn's.
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

// SummaryStepID is the activity id of the summary step that ends a run at a limit.
const SummaryStepID = "summary"
