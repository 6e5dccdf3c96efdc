package instances

import (
	"context"
	"time"

	"github.com/switchyard/switchyard/activities/lease"
	"github.com/switchyard/switchyard/internal/core/instancerules"
)

const (
	// maxIdleAfter bounds how long an instance is unused before its lease is lengthened.
	maxIdleAfter = time.Minute
	// resizePause is the wait after a failed change of the lease.
	resizePause = 5 * time.Second
)

// leaseSize is the heartbeat timeout of an instance's host, which the host changes on the server:
// an instance that no call uses has instancerules.IdleLease, so that it sends few heartbeats, and
// one that is used has the tool's heartbeat, so that the loss of its worker is noticed soon.
type leaseSize struct {
	// confirmed is the timeout that the server is known to have; zero while that is unknown.
	confirmed time.Duration
	// fixed means that the server does not change timeouts.
	fixed bool
	// tried is when the last change began.
	tried time.Time
}

// chooseTimeout returns the heartbeat timeout that fits the current use of the instance of h.
func (*leaseSize) chooseTimeout(h *hosting) time.Duration {
	heartbeat := h.spec.Execution.Heartbeat
	after := min(4*heartbeat.Std(), maxIdleAfter)
	if i := h.instance.Load(); i != nil && i.idle() >= after {
		return instancerules.IdleLease(heartbeat).Std()
	}
	return heartbeat.Std()
}

// adjust changes the heartbeat timeout if another one fits the use of the instance of h. Its errors
// are those of heartbeats.
func (s *leaseSize) adjust(ctx context.Context, h *hosting) error {
	want := s.chooseTimeout(h)
	if s.fixed || want == s.confirmed || time.Since(s.tried) < resizePause && s.confirmed == 0 {
		return nil
	}
	*s = leaseSize{tried: time.Now()}
	err := h.lease.Resize(ctx, want, func(ctx context.Context) error {
		return lease.SetTimeout(ctx, h.config.Client, h.info, want)
	})
	if err == nil {
		s.confirmed, h.beaten = want, s.tried
		return nil
	}
	if s.fixed = lease.RefusedTimeout(err); s.fixed {
		h.log.Warn("the server does not change the heartbeat timeout of activities; unused instances "+
			"heartbeat as often as used ones", "error", err)
	}
	return err
}
