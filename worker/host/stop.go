package host

import (
	"context"
	"time"

	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/worker"
)

// reportTime is the time that cancelled calls have to report their outcome after the stop timeout.
// The SDK would close the connection together with the cancellation.
const reportTime = 3 * time.Second

// canceller cancels the running activities of a worker after its stop timeout.
type canceller struct {
	interceptor.WorkerInterceptorBase
	over   context.Context
	cancel context.CancelFunc
}

func newCanceller() *canceller {
	over, cancel := context.WithCancel(context.Background())
	return &canceller{over: over, cancel: cancel}
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
	defer context.AfterFunc(a.over, func() { cancel(worker.ErrWorkerShutdown) })()
	return a.Next.ExecuteActivity(ctx, in)
}
