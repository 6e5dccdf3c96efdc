package activities

import (
	"context"
	"sync/atomic"
	"time"

	"go.temporal.io/sdk/activity"
)

// keepAlive heartbeats for the activity of ctx until stop is called, so that no tool's author has to: a lost worker is
// noticed within the heartbeat timeout. A call that was cancelled is kept alive too, for as long as it takes to end: its
// silence would count as a lost worker. Short activities end before the first beat and cost nothing.
func keepAlive(ctx context.Context) (stop func()) {
	info := activity.GetInfo(ctx)
	timeout := info.HeartbeatTimeout
	if timeout <= 0 {
		return func() {}
	}
	ctx = context.WithoutCancel(ctx)
	var stopped atomic.Bool
	var timer *time.Timer
	started := make(chan struct{})
	timer = time.AfterFunc(timeout/3, func() {
		<-started
		if !stopped.Load() && time.Now().Before(info.Deadline) {
			activity.RecordHeartbeat(ctx)
			timer.Reset(timeout / 3)
		}
	})
	close(started)
	return func() {
		stopped.Store(true)
		timer.Stop()
	}
}
