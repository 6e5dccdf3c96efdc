package slots

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/switchyard/switchyard/activities/lease"
	"github.com/switchyard/switchyard/api"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"
)

// waiter heartbeats for a task in the wait queue. Each heartbeat records that the call has not
// started, so that it can be repeated safely if this process is lost.
//
// The heartbeat timeout of a call with effect once is long, because a call that was wrongly
// reported as lost cannot be repeated. That does not matter before the call starts. The waiter of a
// call that waits for longer than shortenAfter therefore has the server shorten the timeout, so
// that the call soon runs on another worker if this one is lost, and lengthen it again before the
// call starts.
type waiter struct {
	queue *slotQueue
	info  activity.Info
	// earlier is what earlier attempts reported, also that they wait. Each heartbeat passes it on,
	// because the server keeps the last one only.
	earlier api.Heartbeat
	// cancel ends the waiting when the server reports that the call was cancelled.
	cancel context.CancelCauseFunc

	stop func()
	// over is closed when no heartbeat is in flight; result is that of the last one.
	over   chan struct{}
	result error
	// short is the heartbeat timeout that the server may have in place of that of info; zero if it
	// has that of info.
	short time.Duration
	// fixed means that the server does not change timeouts.
	fixed bool
}

// shortenAfter is how long a call waits before its heartbeat timeout is shortened. Calls that soon
// get their turn cost no requests for that. It is a variable for tests.
var shortenAfter = time.Second

func (w *waiter) begin() {
	ctx, stop := context.WithCancel(context.Background())
	w.stop, w.over = stop, make(chan struct{})
	go func() {
		defer close(w.over)
		w.beats(ctx)
	}()
}

func (w *waiter) beats(ctx context.Context) {
	if w.info.HeartbeatTimeout <= 0 {
		<-ctx.Done()
		return
	}
	for waited := false; ; waited = true {
		w.result = w.beat(true)
		switch {
		case temporal.IsCanceledError(w.result):
			w.cancel(w.result)
		case w.result == nil && waited && w.shortens():
			w.shorten(ctx)
		}
		select {
		case <-time.After(w.pause()):
		case <-ctx.Done():
			return
		}
	}
}

// pause returns the time until the next heartbeat.
func (w *waiter) pause() time.Duration {
	if w.shortens() {
		return shortenAfter
	}
	return cmp.Or(w.short, w.info.HeartbeatTimeout) / 2
}

// shortens reports whether the heartbeat timeout is to be shortened. A call with several attempts
// keeps its timeout, because the next attempt, on another worker, would have the short one.
func (w *waiter) shortens() bool {
	retry := w.info.RetryPolicy
	return w.short == 0 && !w.fixed && retry != nil && retry.MaximumAttempts == 1 &&
		w.shorter() < w.info.HeartbeatTimeout
}

// shorter returns the heartbeat timeout of a waiting call.
func (w *waiter) shorter() time.Duration { return 2 * w.queue.holder.lease.Timeout() }

// shorten has the server shorten the heartbeat timeout. After an error other than a refusal the
// server may have done it.
func (w *waiter) shorten(ctx context.Context) {
	w.short = w.shorter()
	if lease.RefusedTimeout(w.resize(ctx, w.short)) {
		w.short, w.fixed = 0, true
	}
}

func (w *waiter) resize(ctx context.Context, timeout time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, w.queue.holder.lease.Patience())
	defer cancel()
	return lease.SetTimeout(ctx, w.queue.holder.config.Client, w.info, timeout)
}

// beat records that the call waits, or that it starts.
func (w *waiter) beat(waits bool) error {
	ctx, cancel := context.WithTimeout(context.Background(), w.queue.holder.lease.Patience())
	defer cancel()
	told := w.earlier
	told.Waiting, told.Progress = waits, api.Progress{}
	// An attempt that did not say that it was harmless may have acted.
	told.Acted = told.Acted || told.Harmless < w.info.Attempt-1
	err := w.queue.holder.config.Client.RecordActivityHeartbeat(ctx, w.info.TaskToken, told)
	if errors.Is(err, activity.ErrActivityPaused) || errors.Is(err, activity.ErrActivityReset) {
		return nil
	}
	return err
}

// recordStart records at the server that a waiting call starts now, so that from now on it counts
// as
// started, and restores its heartbeat timeout. It returns an error if the call was cancelled, if an
// earlier heartbeat may still be in flight, or if the server may still have the short timeout.
func (w *waiter) recordStart() error {
	if w.stop == nil && w.info.Attempt <= 1 && !w.earlier.Waiting {
		return nil
	}
	w.end()
	if w.result != nil {
		return w.result
	}
	if w.short > 0 {
		if err := w.resize(context.Background(), w.info.HeartbeatTimeout); err != nil {
			return err
		}
	}
	return w.beat(false)
}

// end stops the heartbeats.
func (w *waiter) end() {
	if w.stop != nil {
		w.stop()
		<-w.over
	}
}
