package slots

import (
	"context"
	"errors"
	"time"

	"github.com/switchyard/switchyard/activities/lease"
	"github.com/switchyard/switchyard/internal/core/lanerules"
)

// lookInterval is the time between two periodic checks of a group. They send nothing unless
// something is due.
const lookInterval = 500 * time.Millisecond

// pause returns the time between the last heartbeat and the next one. Heartbeats are rare while no
// call depends on the lease and the server knows the current state.
func (h *slotGroup) pause() time.Duration {
	_, unanswered := h.lease.Silence()
	h.mu.Lock()
	told := h.told
	h.mu.Unlock()
	switch now := h.state(); {
	case unanswered:
		return h.lease.RetryInterval()
	case now.Running > 0 || now.Waiting > 0 || now.Counts != told.Counts:
		return h.lease.Interval()
	default:
		return h.lease.IdleInterval()
	}
}

// look sends a heartbeat when one is due, and runs the periodic checks.
func (h *slotGroup) look(ctx context.Context) release {
	switch err := h.beatIfDue(ctx); {
	case errors.Is(err, lease.ErrHostCancelled):
		return releaseUnneeded
	case errors.Is(err, lease.ErrHostGone):
		h.unkept()
		return releaseLost
	}
	h.configure()
	if h.shareOut(context.WithoutCancel(ctx), time.Now()) {
		return releaseShared
	}
	return ""
}

func (h *slotGroup) beatIfDue(ctx context.Context) error {
	if time.Since(h.beaten) < h.pause() {
		return nil
	}
	return h.beat(ctx)
}

func (h *slotGroup) beat(ctx context.Context) error {
	h.beaten = time.Now()
	return h.lease.Beat(context.WithoutCancel(ctx))
}

// tell returns the details of a heartbeat and remembers them.
func (h *slotGroup) tell() lanerules.SlotsState {
	s := h.state()
	h.mu.Lock()
	defer h.mu.Unlock()
	h.told = s
	return s
}
