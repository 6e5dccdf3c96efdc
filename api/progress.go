package api

import "context"

type progressKey struct{}

// WithProgress returns a context of a call whose ReportProgress goes to report.
func WithProgress(ctx context.Context, report func(Progress)) context.Context {
	return context.WithValue(ctx, progressKey{}, report)
}

// ReportProgress tells how far the call that ctx belongs to has come. Whoever watches the run sees the last report, up to
// a second late; it may be called as often as the tool likes and never waits. Outside of a call it does nothing.
func ReportProgress(ctx context.Context, p Progress) {
	if report, ok := ctx.Value(progressKey{}).(func(Progress)); ok {
		report(p)
	}
}
