package executor

import (
	"slices"
	"strings"

	"github.com/switchyard/switchyard/api"
	"go.temporal.io/sdk/temporal"
)

// Failure maps an error of the closed set to what Temporal records: the error's type is the
// failure's, the whole error first detail, before what else there is, and only a retryable one is
// tried again. It is the one place in this direction; workflows map it back.
//
// Text that is not UTF-8 is made so: what the server refuses would be a call whose end is never
// reported.
func Failure(failed *api.Error, more ...any) error {
	e := ValidError(failed)
	return temporal.NewApplicationErrorWithOptions(e.Message, string(e.Type),
		temporal.ApplicationErrorOptions{
			NonRetryable:   !e.Retryable,
			NextRetryDelay: e.RetryAfter.Std(),
			Details:        append([]any{e}, more...),
			// A tool that fails is an answer, not a fault of the worker: the SDK neither logs nor
			// counts it as one.
			Category: temporal.ApplicationErrorCategoryBenign,
		})
}

// validError returns the error with all its text as UTF-8.
func ValidError(failed *api.Error) api.Error {
	e := *failed
	e.Message = ValidText(e.Message)
	e.Problems = slices.Clone(e.Problems)
	for i, p := range e.Problems {
		e.Problems[i] = api.Problem{Path: ValidText(p.Path), Rule: ValidText(p.Rule),
			Message: ValidText(p.Message)}
	}
	e.Near, e.Details = validTexts(e.Near), validTexts(e.Details)
	return e
}

func ValidText(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

func validTexts(texts []string) []string {
	texts = slices.Clone(texts)
	for i, t := range texts {
		texts[i] = ValidText(t)
	}
	return texts
}
