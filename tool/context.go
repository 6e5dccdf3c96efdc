package tool

import (
	"context"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/callcontext"
)

// Types of package api that tools and hooks use.
type (
	// CallContext is what a tool or hook can know about the call that it works for.
	CallContext = api.CallContext
	// Progress says how far a call has come.
	Progress = api.Progress
	// Error is the error of a call. ErrorType values are the constants api.Err….
	Error = api.Error
	// Message is one message of a conversation.
	Message = api.Message
)

// CallFromContext returns the CallContext of the call that ctx belongs to; false outside of a call.
func CallFromContext(ctx context.Context) (CallContext, bool) { return callcontext.From(ctx) }

// WithCallContext returns a context with a CallContext, for tests of tools.
func WithCallContext(ctx context.Context, c CallContext) context.Context {
	return callcontext.With(ctx, c)
}

// ReportProgress reports how far the call of ctx has come. Observers of the run see the last
// report, up to a second late. It never blocks, and does nothing outside of a call.
func ReportProgress(ctx context.Context, p Progress) { callcontext.ReportProgress(ctx, p) }

// Errorf returns an error of a call with one of the types api.Err….
func Errorf(t api.ErrorType, format string, args ...any) *Error {
	return api.Errorf(t, format, args...)
}

// Transient marks an error that another attempt may cure, no earlier than after. Zero leaves the
// wait to the tool's retry policy. Calls of tools with effect once are not retried.
func Transient(err error, after time.Duration) error {
	return api.Transient(err,
		api.Duration(after))
}
