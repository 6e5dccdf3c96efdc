package api

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// ErrorType says why a call produced no result. The set is closed (requirement E6).
type ErrorType string

// The error types of a call.
const (
	ErrToolNotFound         ErrorType = "tool_not_found"
	ErrToolNotActive        ErrorType = "tool_not_active"
	ErrValidation           ErrorType = "validation_error"
	ErrPreconditionFailed   ErrorType = "precondition_failed"
	ErrInvalidExecutionPlan ErrorType = "invalid_execution_plan"
	ErrPolicyViolation      ErrorType = "policy_violation"
	ErrApprovalDenied       ErrorType = "approval_denied"
	ErrApprovalTimeout      ErrorType = "approval_timeout"
	ErrBlockedByHook        ErrorType = "blocked_by_hook"
	ErrBudgetExceeded       ErrorType = "budget_exceeded"
	ErrQueueFull            ErrorType = "queue_full"
	ErrQueueTimeout         ErrorType = "queue_timeout"
	ErrTimeout              ErrorType = "timeout"
	ErrExecutorNotFound     ErrorType = "executor_not_found"
	ErrExecution            ErrorType = "execution_error"
	ErrInvalidOutput        ErrorType = "invalid_output"
	ErrWorkerLost           ErrorType = "worker_lost"
	ErrOutcomeUnknown       ErrorType = "outcome_unknown"
	ErrCancelled            ErrorType = "cancelled"
)

// errorAdvice has, for each type, advice to the model. Its keys are the closed set.
var errorAdvice = map[ErrorType]string{
	ErrToolNotFound:         "There is no such tool. Use one of the tools you were given.",
	ErrToolNotActive:        "This tool is disabled. Use another one.",
	ErrValidation:           "The arguments were rejected and nothing ran. Correct them and call again.",
	ErrPreconditionFailed:   "A dependency of this call is missing; nothing ran.",
	ErrInvalidExecutionPlan: "The execution plan of the call is missing or invalid; nothing ran.",
	ErrPolicyViolation:      "A policy forbids this call; nothing ran. Do not try it again.",
	ErrApprovalDenied:       "A person declined this call.",
	ErrApprovalTimeout:      "The person did not answer in time.",
	ErrBlockedByHook:        "A check before the call stopped it; nothing ran. Do not try it again as it is.",
	ErrBudgetExceeded:       "The run's budget does not allow this call; nothing ran.",
	ErrQueueFull:            "Too many calls wait for this tool; nothing ran. Try again later.",
	ErrQueueTimeout:         "The call waited too long for a slot; nothing ran.",
	ErrTimeout:              "The tool did not answer in time and was stopped.",
	ErrExecutorNotFound:     "No worker can run this tool; nothing ran.",
	ErrExecution:            "The tool ran and failed.",
	ErrInvalidOutput:        "The tool ran, but its result does not match the declared schema.",
	ErrWorkerLost:           "The worker was lost while the tool ran. Unless the message says otherwise, the tool may be called again.",
	ErrOutcomeUnknown:       "The call may or may not have taken effect. Check before calling it again.",
	ErrCancelled:            "The call was cancelled.",
}

// notStartedAdvice is the advice on a failure whose type alone does not say that nothing ran.
const notStartedAdvice = neverRanAdvice + " It may be called again."

// neverRanAdvice is the advice on a call of an instance that was lost before.
const neverRanAdvice = "Nothing left the worker, so the tool did not run."

// notDoneAdvice is the advice on a call that had no effect.
const notDoneAdvice = "The call had no effect. It may be called again."

// impliesStart are the types whose advice says that the tool ran.
var impliesStart = []ErrorType{ErrExecution, ErrTimeout, ErrWorkerLost}

// ErrorTypes returns the closed set, sorted.
func ErrorTypes() []ErrorType {
	types := make([]ErrorType, 0, len(errorAdvice))
	for t := range errorAdvice {
		types = append(types, t)
	}
	slices.Sort(types)
	return types
}

// Known reports whether t belongs to the closed set.
func (t ErrorType) Known() bool { _, ok := errorAdvice[t]; return ok }

// Problem is one fault of a value: where (a JSON path such as "$.items[2].name"), which rule, and
// what to do.
type Problem struct {
	Path    string `json:"path"`
	Rule    string `json:"rule"`
	Message string `json:"message"`
}

func (p Problem) String() string { return p.Path + ": " + p.Message }

// Error is the failure of one call.
type Error struct {
	Type    ErrorType `json:"type"`
	Message string    `json:"message"`
	// Phase is the phase in which the call failed.
	Phase Phase `json:"phase,omitempty"`
	// Problems lists all faults of the arguments or of the output.
	Problems []Problem `json:"problems,omitempty"`
	// Details are lines for people, such as the text an outside server wants models to read. Models
	// do not see them.
	Details []string `json:"details,omitempty"`
	// Near lists tools the caller may have meant: similar names, or the active ones.
	Near []string `json:"near,omitempty"`
	// Retryable says that another attempt may succeed. The tool's retry policy decides whether to
	// make one.
	Retryable bool `json:"retryable,omitempty"`
	// RetryAfter is the earliest time of the next attempt that the remote server named; zero leaves
	// it to the retry policy.
	RetryAfter Duration `json:"retry_after,omitzero"`
	// WaitedMicros is how long the call waited on its worker for a slot, in microseconds.
	WaitedMicros int64 `json:"waited_us,omitempty"`
	// NotStarted says that nothing of the call left the worker: it sent no request and started no
	// program or function.
	NotStarted bool `json:"not_started,omitempty"`
	// Requeue says that a worker returned the call before it started it. The run schedules the call
	// again, whatever the tool's effect.
	Requeue bool `json:"requeue,omitempty"`
	// Unclear says that the call may have taken effect although its type does not say so. Such a
	// failure of a tool with effect once has the type outcome_unknown.
	Unclear bool `json:"unclear,omitempty"`
	// Notes say what the reader of the failure should know besides it, as those of a result: that
	// the call ran on a new instance, for example.
	Notes []string `json:"notes,omitempty"`
	// NotDone says that the outcome of the call was unknown, and that verifying it found that the
	// call had no effect. Its type is execution_error.
	NotDone bool `json:"not_done,omitempty"`
}

// Error returns type, message, problems, notes and details.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.known())
	for _, line := range e.Details {
		b.WriteString("\n  " + line)
	}
	return b.String()
}

// known returns type, message, problems and notes, without details.
func (e *Error) known() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s", e.Type, e.Message)
	for _, p := range e.Problems {
		b.WriteString("\n  " + p.String())
	}
	for _, note := range e.Notes {
		b.WriteString("\n  note: " + note)
	}
	return b.String()
}

// Is makes errors.Is(err, &Error{Type: t}) true for every error of type t.
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	return ok && t.Type == e.Type
}

// ForModel returns the text of the failure for a model: type, message, all problems, notes, near
// names and advice.
func (e *Error) ForModel() string {
	var b strings.Builder
	b.WriteString("ERROR " + e.known())
	if len(e.Near) > 0 {
		b.WriteString("\nDid you mean: " + strings.Join(e.Near, ", ") + "?")
	}
	if advice := e.advice(); advice != "" {
		b.WriteString("\n" + advice)
	}
	return b.String()
}

func (e *Error) advice() string {
	switch {
	case e.Gone():
		return neverRanAdvice
	case e.NotStarted && slices.Contains(impliesStart, e.Type):
		return notStartedAdvice
	case e.NotDone:
		return notDoneAdvice
	}
	return errorAdvice[e.Type]
}

// Errorf returns an Error of the given type; the message is formatted as by fmt.Sprintf.
func Errorf(t ErrorType, format string, args ...any) *Error {
	return &Error{Type: t, Message: fmt.Sprintf(format, args...)}
}

// Transient marks a tool's error as one that another attempt may cure. A plain error of a tool is
// its answer and goes to the model; a transient one is first retried by the tool's retry policy.
// after is the earliest time of the next attempt; zero leaves it to the policy. A nil err gives
// nil.
func Transient(err error, after Duration) error {
	if err == nil {
		return nil
	}
	return &transientError{err: err, after: after}
}

type transientError struct {
	err   error
	after Duration
}

func (t *transientError) Error() string { return t.err.Error() }
func (t *transientError) Unwrap() error { return t.err }

// AsError converts any error of a tool: an *Error stays as it is, a transient error becomes a
// retryable execution_error, every other error an execution_error. nil gives nil.
func AsError(err error) *Error {
	if err == nil {
		return nil
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	e := &Error{Type: ErrExecution, Message: err.Error(), Phase: PhaseExecution}
	if t, ok := errors.AsType[*transientError](err); ok {
		e.Retryable, e.RetryAfter = true, t.after
	}
	return e
}

// RunErrorType says why a run failed. It is the type of the workflow's failure. A run does not fail
// just because calls fail.
type RunErrorType string

// The error types of a run.
const (
	// RunInvalid: the input is wrong (unknown tool, cyclic plan), and nothing ran.
	RunInvalid RunErrorType = "invalid_run"
	// RunModelFailed: the model could not be reached, or rejected the request permanently.
	RunModelFailed RunErrorType = "model_failed"
	// RunRefused: the model declined the task.
	RunRefused RunErrorType = "model_refused"
	// RunCallsFailed: a plan or a direct call ended with a failed call.
	RunCallsFailed RunErrorType = "calls_failed"
	// RunBlocked: a hook of the agent refused the run, or failed and blocks on failure.
	RunBlocked RunErrorType = "blocked_by_hook"
)

// Gone reports whether the call was refused because its instance was lost before.
func (e *Error) Gone() bool {
	return e.NotStarted && e.Type == ErrWorkerLost && !e.Retryable && !e.Requeue
}

// BeforeStart reports whether the call failed before its tool started.
func (e *Error) BeforeStart() bool {
	return e.NotStarted || e.Phase == PhasePreValidation || e.Phase == PhasePreExecution
}

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

// TooLarge returns the error of a value that is refused for its size. remedy says what to do.
func TooLarge(what string, size, limit int, remedy string) *Error {
	e := Errorf(ErrValidation, "%s: %d bytes as JSON, the limit is %d bytes; %s", what, size, limit,
		remedy)
	e.Phase = PhasePreValidation
	return e
}

// MayHaveActed reports whether a failed call may have taken effect: it started and did not clearly
// report that it failed. A call that failed after its execution has taken effect.
func (e *Error) MayHaveActed() bool {
	switch {
	case e.BeforeStart():
		return false
	case e.Unclear || e.Phase == PhasePostExecution:
		return true
	}
	switch e.Type {
	case ErrTimeout, ErrWorkerLost, ErrOutcomeUnknown, ErrInvalidOutput:
		return true
	}
	return false
}
