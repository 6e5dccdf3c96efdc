package activities

import (
	"github.com/switchyard/switchyard"
	"go.temporal.io/sdk/temporal"
)

// Failure maps an error of the closed set to what Temporal records: the error's type is the failure's, the whole error
// its details, and only a retryable one is tried again. It is the one place in this direction; workflows map it back.
func Failure(e *switchyard.Error) error {
	return temporal.NewApplicationErrorWithOptions(e.Message, string(e.Type), temporal.ApplicationErrorOptions{
		NonRetryable:   !e.Retryable,
		NextRetryDelay: e.RetryAfter.Std(),
		Details:        []any{e},
		// A tool that fails is an answer, not a fault of the worker: the SDK neither logs nor counts it as one.
		Category: temporal.ApplicationErrorCategoryBenign,
	})
}
