package activities

import (
	"context"
	"time"

	"go.temporal.io/sdk/activity"
)

// keepAlive heartbeats for the activity of ctx until stop is called, so that no tool's author has to: a lost worker is
// noticed within the heartbeat timeout. Short activities end before the first beat and cost nothing.
func keepAlive(ctx context.Context) (stop func()) {
	timeout := activity.GetInfo(ctx).HeartbeatTimeout
	if timeout <= 0 {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	var timer *time.Timer
	started := make(chan struct{})
	timer = time.AfterFunc(timeout/3, func() {
		<-started
		if ctx.Err() == nil {
			activity.RecordHeartbeat(ctx)
			timer.Reset(timeout / 3)
		}
	})
	close(started)
	return func() {
		cancel()
		timer.Stop()
	}
}
