package executor

import (
	"context"
	"sync"
	"time"
)

// toolClock ends a call when its tool has run for the tool's timeout. The time in which a person is
// asked does not count.
type Clock struct {
	end func()

	mu    sync.Mutex
	timer *time.Timer
	// left is what the tool had left of its timeout at since, when it last went on or was last
	// paused.
	left  time.Duration
	since time.Time
	// pauses are how many questions are open now; paused is for how long there have been some.
	pauses int
	paused time.Duration
}

// withToolClock returns a context that ends with the cause errToolTimeout when the clock says so.
// It has no deadline of its own, because nobody knows it.
func WithClock(ctx context.Context, timeout time.Duration) (context.Context, *Clock,
	context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	c := &Clock{end: func() { cancel(ErrTimeout) }, left: timeout, since: time.Now()}
	c.timer = time.AfterFunc(timeout, c.end)
	return ctx, c, func() {
		c.Pause()
		cancel(nil)
	}
}

// pause stops the clock until resume is called as often.
func (c *Clock) Pause() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.pauses++; c.pauses > 1 {
		return
	}
	c.timer.Stop()
	now := time.Now()
	c.left, c.since = c.left-now.Sub(c.since), now
}

func (c *Clock) Resume() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.pauses--; c.pauses > 0 {
		return
	}
	now := time.Now()
	c.paused += now.Sub(c.since)
	c.since = now
	c.timer = time.AfterFunc(c.left, c.end)
}

// asked is for how long people have been asked so far.
func (c *Clock) Asked() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.pauses > 0 {
		return c.paused + time.Since(c.since)
	}
	return c.paused
}
