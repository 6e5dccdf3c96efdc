package host

import (
	"context"
	"time"

	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/worker"
)

// handBack is how long calls that were cancelled at the end of the stop timeout have to report what became of them. The
// SDK itself would close the connection at the moment it cancels them.
const requeue = 3 * time.Second

// canceller cancels the activities of a worker that run when its stop timeout is over.
type canceller struct {
	interceptor.WorkerInterceptorBase
	over   context.Context
	cancel context.CancelFunc
}

func newCanceller() *canceller {
	over, cancel := context.WithCancel(context.Background())
	return &canceller{over: over, cancel: cancel}
}

// InterceptActivity stands around every activity.
func (c *canceller) InterceptActivity(_ context.Context, next interceptor.ActivityInboundInterceptor) interceptor.ActivityInboundInterceptor {
	return &cancellable{ActivityInboundInterceptorBase: interceptor.ActivityInboundInterceptorBase{Next: next}, canceller: c}
}

type cancellable struct {
	interceptor.ActivityInboundInterceptorBase
	*canceller
}

func (a *cancellable) ExecuteActivity(ctx context.Context, in *interceptor.ExecuteActivityInput) (any, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(a.over, func() { cancel(worker.ErrWorkerShutdown) })()
	return a.Next.ExecuteActivity(ctx, in)
}
