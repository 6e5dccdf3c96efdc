package executor

import (
	"context"
	"sync"
	"time"
)

// Clock ends a call when its tool has run for the tool's timeout. Time during which a person is
// asked does not count.
type Clock struct {
	end func()

	mu    sync.Mutex
	timer *time.Timer
	// left is what was left of the timeout at since, when the clock was last resumed or paused.
	left  time.Duration
	since time.Time
	// pauses counts the currently open questions; paused is for how long any have been open.
	pauses int
	paused time.Duration
}

// WithClock returns a context that ends with a timeout cause when the clock expires. It has no
// deadline, because pauses move the expiry.
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

// Pause stops the clock until resume was called as often as Pause.
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

// PausedTime returns for how long people have been asked so far.
func (c *Clock) PausedTime() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.pauses > 0 {
		return c.paused + time.Since(c.since)
	}
	return c.paused
}
