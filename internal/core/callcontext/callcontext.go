// Package callcontext has what a tool learns of its call from its context, and what it reports
// through it.
package callcontext

import (
	"context"

	"github.com/switchyard/switchyard/api"
)

type callContextKey struct{}

// With returns a context from which From reads c.
func With(ctx context.Context, c api.CallContext) context.Context {
	return context.WithValue(ctx, callContextKey{}, c)
}

// From returns the context of the call that ctx belongs to; false outside of a call.
func From(ctx context.Context) (api.CallContext, bool) {
	c, ok := ctx.Value(callContextKey{}).(api.CallContext)
	return c, ok
}

type logKey struct{}

// WithLog returns a context of a call whose Log goes to log.
func WithLog(ctx context.Context, log func(api.LogLine)) context.Context {
	return context.WithValue(ctx, logKey{}, log)
}

// Log reports a log message of the call that ctx belongs to. Outside of a call it does
// nothing.
func Log(ctx context.Context, l api.LogLine) {
	if log, ok := ctx.Value(logKey{}).(func(api.LogLine)); ok {
		log(l)
	}
}

type progressKey struct{}

// WithProgress returns a context of a call whose ReportProgress goes to report.
func WithProgress(ctx context.Context, report func(api.Progress)) context.Context {
	return context.WithValue(ctx, progressKey{}, report)
}

// ReportProgress reports the progress of the call that ctx belongs to. Watchers of the run see the
// last report, up to a second late. Tools may call it at any rate; it never blocks. Outside of a
// call it does nothing.
func ReportProgress(ctx context.Context, p api.Progress) {
	if report, ok := ctx.Value(progressKey{}).(func(api.Progress)); ok {
		report(p)
	}
}

type questionKey struct{}

// WithQuestionName returns a context in which questions have a name that the tool gives them.
func WithQuestionName(ctx context.Context, name string) context.Context {
	return context.WithValue(ctx, questionKey{}, name)
}

// QuestionName returns the name of the questions of a context; empty for none.
func QuestionName(ctx context.Context) string {
	name, _ := ctx.Value(questionKey{}).(string)
	return name
}
