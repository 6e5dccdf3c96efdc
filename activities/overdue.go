package activities

import (
	"cmp"
	"context"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/failures"
	"go.temporal.io/sdk/temporal"
)

// overdue returns why an attempt must not start any more. If its task is older than the heartbeat
// timeout, because the process was suspended or the task was delayed on its way, the server may
// have lost patience, and another attempt may have completed the call. The server is then asked
// whether it still waits for this one.
func (a *Activities) overdue(ctx context.Context, t attempt) *api.Error {
	patience := t.info.HeartbeatTimeout
	if t.inline != nil || patience <= 0 || time.Since(t.info.StartedTime) < patience {
		return nil
	}
	err := heartbeat(ctx, a.config.Client, min(patience, maxBeatWait))
	cause := context.Cause(ctx)
	if err == nil && cause == nil {
		return nil
	}
	if temporal.IsCanceledError(cause) {
		return failures.CancelledBeforeStart()
	}
	e := api.Errorf(api.ErrWorkerLost, "the worker received the call %s after the server had sent "+
		"it, and the server does not wait for it any more: %v; nothing ran",
		time.Since(t.info.StartedTime).Round(time.Millisecond), cmp.Or(err, cause))
	e.Phase, e.NotStarted, e.Requeue = api.PhasePreExecution, true, true
	return e
}
