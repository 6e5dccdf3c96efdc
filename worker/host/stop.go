package host

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"go.temporal.io/sdk/interceptor"

	"github.com/switchyard/switchyard/toolspecs"
	"github.com/switchyard/switchyard/toolspecs/folder"
)

// reportTime is the time that cancelled calls have to report their outcome after the stop timeout.
// The SDK would close the connection together with the cancellation.
const reportTime = 3 * time.Second

// canceller cancels the running activities of a worker after its stop timeout.
type canceller struct {
	interceptor.WorkerInterceptorBase
	over    context.Context
	cancel  context.CancelFunc
	timeout time.Duration
}

func newCanceller(timeout time.Duration) *canceller {
	over, cancel := context.WithCancel(context.Background())
	return &canceller{over: over, cancel: cancel, timeout: timeout}
}

// stoppedError is the cause of calls that are cancelled because their worker stops.
type stoppedError struct{ timeout time.Duration }

func (e stoppedError) Error() string {
	return fmt.Sprintf("the worker stopped, and the call did not end within --stop-timeout %s",
		e.timeout)
}

// InterceptActivity wraps every activity.
func (c *canceller) InterceptActivity(_ context.Context,
	next interceptor.ActivityInboundInterceptor) interceptor.ActivityInboundInterceptor {
	return &cancellable{ActivityInboundInterceptorBase: interceptor.ActivityInboundInterceptorBase{
		Next: next}, canceller: c}
}

type cancellable struct {
	interceptor.ActivityInboundInterceptorBase
	*canceller
}

func (a *cancellable) ExecuteActivity(ctx context.Context,
	in *interceptor.ExecuteActivityInput) (any, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(a.over, func() { cancel(stoppedError{a.timeout}) })()
	return a.Next.ExecuteActivity(ctx, in)
}

// maxWarned bounds the tools that a warning names.
const maxWarned = 10

// listLongTools returns the tools of the served lanes whose calls may run for longer than the stop
// timeout.
func (c Config) listLongTools(catalog *toolspecs.Catalog) []string {
	var names []string
	for _, compiled := range catalog.All() {
		tool := compiled.Tool()
		served := len(c.Lanes) == 0 || slices.Contains(c.Lanes, tool.Lane)
		if served && tool.Dispatch.Schedules() && tool.Timeout.Std() > c.StopTimeout {
			names = append(names, tool.Name)
		}
	}
	return names
}

// warnOutlasting logs which calls a stop of the worker can cut off, now and after each reload that
// changes them.
func (c Config) warnOutlasting(tools *folder.Watcher) {
	var last []string
	warn := func() {
		names := c.listLongTools(tools.Catalog())
		if len(names) > 0 && !slices.Equal(names, last) {
			c.Logger.Warn("calls of tools with a timeout above --stop-timeout are cut off when "+
				"this worker stops: raise --stop-timeout and the grace period of the process",
				slog.Duration("stop_timeout", c.StopTimeout), slog.Int("tools", len(names)),
				slog.Any("names", names[:min(len(names), maxWarned)]))
		}
		last = names
	}
	warn()
	tools.Subscribe(func(e folder.CatalogEvent) {
		if e.Type == folder.ReloadCompleted {
			warn()
		}
	})
}
