package workflows

import (
	"time"

	"github.com/switchyard/switchyard/api"
	"go.temporal.io/sdk/workflow"
)

// The pauses before a call that was handed back is scheduled again. The first is not nothing, because the SDK takes an
// activity's id again only with the next decision.
const (
	firstPause = time.Millisecond
	pauseStep  = time.Second
	maxPause   = 10 * time.Second
)

// again schedules a call once more that a worker has handed back before it began it, as failure says: with the same id and
// the same options. It returns nil where the call is over: it began, it was handed back too often, or the run is cancelled;
// over is its error then.
func (p *pipeline) again(ctx workflow.Context, c api.Call, v api.AdmissionDecision, failure *api.Error) (next workflow.Future, over *api.Error) {
	n := p.requeued[c.ID]
	switch {
	case !failure.NotStarted || n == api.MaxRequeues:
		return nil, failure
	case ctx.Err() != nil:
		return nil, api.NotStartedError()
	}
	p.requeued[c.ID]++
	next, end := workflow.NewFuture(ctx)
	workflow.Go(ctx, func(ctx workflow.Context) {
		var r api.Result
		options := workflow.TimerOptions{Summary: "call " + c.ID + " was handed back"}
		if workflow.NewTimerWithOptions(ctx, pauseAfter(n), options).Get(ctx, nil) != nil || p.control.goOn(ctx) != nil {
			end.SetError(api.NotStartedError())
			return
		}
		err := p.schedule(ctx, c, v).Get(ctx, &r)
		end.Set(r, err)
	})
	return next, nil
}

// pauseAfter returns the pause after a call was handed back n times before.
func pauseAfter(n int) time.Duration {
	if n == 0 {
		return firstPause
	}
	return min(time.Duration(n)*pauseStep, maxPause)
}
