package executor

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/failures"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"
)

// Failure converts an error of the closed set to a Temporal failure: the failure has the error's
// type, the whole error as its first detail, followed by more, and only retryable errors are
// retried. It is the only place of this conversion; workflows convert it back.
//
// Failure replaces invalid UTF-8 in texts, because the server would reject it and the end of the
// call would never be reported.
func Failure(failed *api.Error, more ...any) error {
	return FailureAfter(failed, failed.RetryAfter.Std(), more...)
}

// FailureAfter is Failure with the wait before the next attempt. Zero leaves it to the retry
// policy.
func FailureAfter(failed *api.Error, wait time.Duration, more ...any) error {
	e := ValidError(failed)
	return temporal.NewApplicationErrorWithOptions(e.Message, string(e.Type),
		temporal.ApplicationErrorOptions{
			NonRetryable:   !e.Retryable,
			NextRetryDelay: wait,
			Details:        append([]any{e}, more...),
			// A tool's failure is an answer and not a fault of the worker: the SDK neither logs nor
			// counts a benign error.
			Category: temporal.ApplicationErrorCategoryBenign,
		})
}

// CancelledError converts the error of a call that was stopped on request to Temporal's error of a
// cancelled activity, with the whole error as its detail.
func CancelledError(failed *api.Error) error {
	return temporal.NewCanceledError(
		ValidError(failed))
}

// Refusal converts the error of an attempt that was refused before its tool started. The run learns
// of the last attempt only: that of a call says what an earlier one may have done. call is false
// for a model step.
func Refusal(ctx context.Context, refused *api.Error, call bool) error {
	if call && LastHeartbeat(ctx).Harmless < activity.GetInfo(ctx).Attempt-1 {
		refused = failures.AfterEffect(refused)
	}
	if refused.Type == api.ErrCancelled {
		return CancelledError(refused)
	}
	return Failure(refused)
}

// LastHeartbeat returns the last heartbeat of the activity's earlier attempts; a zero one if there
// is none, or if ctx is not that of an activity.
func LastHeartbeat(ctx context.Context) (last api.Heartbeat) {
	if !activity.IsActivity(ctx) || !activity.HasHeartbeatDetails(ctx) ||
		activity.GetHeartbeatDetails(ctx, &last) != nil {
		return api.Heartbeat{}
	}
	last.Harmless = harmlessAttempts(last, activity.GetInfo(ctx).Attempt)
	return last
}

// harmlessAttempts returns how many attempts before this one had no effect, from the first. If the
// last heartbeat says that a call waits for a slot, it also says whether an attempt before may have
// had one.
func harmlessAttempts(last api.Heartbeat, attempt int32) int32 {
	if last.Waiting && !last.Acted {
		return attempt - 1
	}
	return last.Harmless
}

// ValidError returns the error with all of its text as valid UTF-8.
func ValidError(failed *api.Error) api.Error {
	e := *failed
	e.Message = ValidText(e.Message)
	e.Problems = slices.Clone(e.Problems)
	for i, p := range e.Problems {
		e.Problems[i] = api.Problem{Path: ValidText(p.Path), Rule: ValidText(p.Rule),
			Message: ValidText(p.Message)}
	}
	e.Near, e.Details = validTexts(e.Near), validTexts(e.Details)
	e.Notes = validTexts(e.Notes)
	return e
}

// ValidText returns s with invalid UTF-8 replaced.
func ValidText(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

func validTexts(texts []string) []string {
	texts = slices.Clone(texts)
	for i, t := range texts {
		texts[i] = ValidText(t)
	}
	return texts
}
