package api

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// ErrorType names why a call did not produce a result. The set is closed (requirement E6).
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

// errorAdvice says, per type, what the model should make of it. Its keys are the closed set.
var errorAdvice = map[ErrorType]string{
	ErrToolNotFound:         "There is no such tool. Use one of the tools you were given.",
	ErrToolNotActive:        "This tool is switched off. Use another one.",
	ErrValidation:           "The arguments were refused and nothing ran. Correct them and call again.",
	ErrPreconditionFailed:   "Something this call needs is not in place; nothing ran.",
	ErrInvalidExecutionPlan: "The execution plan of the call is missing or wrong; nothing ran.",
	ErrPolicyViolation:      "A policy forbids this call; nothing ran. Do not try it again.",
	ErrApprovalDenied:       "A person declined this call.",
	ErrApprovalTimeout:      "Nobody answered in time.",
	ErrBlockedByHook:        "A check before the call stopped it; nothing ran. Do not try it again as it is.",
	ErrBudgetExceeded:       "The run's budget does not allow this call; nothing ran.",
	ErrQueueFull:            "Too many calls wait for this tool; nothing ran. Try again later.",
	ErrQueueTimeout:         "The call waited too long for its turn; nothing ran.",
	ErrTimeout:              "The tool did not answer in time and was stopped.",
	ErrExecutorNotFound:     "No worker knows how to run this tool; nothing ran.",
	ErrExecution:            "The tool ran and failed.",
	ErrInvalidOutput:        "The tool ran, but its answer does not have the declared form.",
	ErrWorkerLost:           "The worker was lost while the tool ran. Unless the message says otherwise, the tool may be called again.",
	ErrOutcomeUnknown:       "The worker was lost while the tool ran: it may or may not have taken effect. Check before calling it again.",
	ErrCancelled:            "The call was cancelled.",
}

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

// Problem is one thing wrong with a value: where (a JSON path such as "$.items[2].name"), which rule, and what to do.
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
	// Phase is the pipeline phase in which the call failed.
	Phase Phase `json:"phase,omitempty"`
	// Problems lists every fault of the arguments or of the output, where that is the reason.
	Problems []Problem `json:"problems,omitempty"`
	// Details are lines for people, such as what an outside server wants models to read now. A model is not told them.
	Details []string `json:"details,omitempty"`
	// Near lists what the caller may have meant: tools with similar names, or the active ones.
	Near []string `json:"near,omitempty"`
	// Retryable says that another attempt may succeed. The tool's retry policy decides whether there is one.
	Retryable bool `json:"retryable,omitempty"`
	// RetryAfter is the earliest next attempt where the far side named one; zero leaves it to the retry policy.
	RetryAfter Duration `json:"retry_after,omitzero"`
	// HeldMicros is how long the call waited with its lane's holder before it ran.
	WaitedMicros int64 `json:"waited_us,omitempty"`
	// NotBegun says that a worker took the call, did not begin it, and handed it back: the run makes it again by itself,
	// whatever the tool's effect.
	NotStarted bool `json:"not_started,omitempty"`
}

// Error returns type, message, problems and details.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.known())
	for _, line := range e.Details {
		b.WriteString("\n  " + line)
	}
	return b.String()
}

// known is what everybody may know.
func (e *Error) known() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s", e.Type, e.Message)
	for _, p := range e.Problems {
		b.WriteString("\n  " + p.String())
	}
	return b.String()
}

// Is makes errors.Is(err, &Error{Type: t}) true for every error of type t.
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	return ok && t.Type == e.Type
}

// ForModel returns what a model is told of the failure: type, message, every problem, near names and what to do.
func (e *Error) ForModel() string {
	var b strings.Builder
	b.WriteString("ERROR " + e.known())
	if len(e.Near) > 0 {
		b.WriteString("\nDid you mean: " + strings.Join(e.Near, ", ") + "?")
	}
	if advice := errorAdvice[e.Type]; advice != "" {
		b.WriteString("\n" + advice)
	}
	return b.String()
}

// Errorf returns an Error of the given type; the message is formatted as by fmt.Sprintf.
func Errorf(t ErrorType, format string, args ...any) *Error {
	return &Error{Type: t, Message: fmt.Sprintf(format, args...)}
}

// Transient marks a tool's error as one that another attempt may cure. A tool's plain error is its answer and is told
// to the model at once; a transient one is retried by the tool's retry policy first. after is the earliest next
// attempt; zero leaves it to the policy. A nil err gives nil.
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

// AsError turns any error of a tool into an Error: one that already is stays as it is, a transient one becomes a
// retryable execution_error, every other an execution_error. nil gives nil.
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

// RunErrorType names why a whole run failed. These are the types of the workflow's failure; a run whose calls fail
// does not fail by that alone.
type RunErrorType string

// The error types of a run.
const (
	// RunInvalid: the input is wrong (unknown tool, cyclic plan); nothing ran.
	RunInvalid RunErrorType = "invalid_run"
	// RunModelFailed: the model could not be reached or refused the request for good.
	RunModelFailed RunErrorType = "model_failed"
	// RunRefused: the model declined the task.
	RunRefused RunErrorType = "model_refused"
	// RunCallsFailed: a plan or a direct call ended with a failed call.
	RunCallsFailed RunErrorType = "calls_failed"
	// RunBlocked: a hook of the agent refused the run, or failed where its failure blocks.
	RunBlocked RunErrorType = "blocked_by_hook"
)
