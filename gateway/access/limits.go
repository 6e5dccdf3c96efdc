package access

import (
	"fmt"
	"net/http"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// Defaults of limits.
const (
	defaultRequests = 50
	defaultBurst    = 100
	defaultInFlight = 100
	defaultBody     = 4 << 20
)

// maxPrincipals bounds the principals that are remembered. Beyond it those without a request in
// flight are forgotten.
const maxPrincipals = 10_000

// limits bound what one principal may ask of one replica.
type limits struct {
	// Requests is how many requests per second, Burst how many at once after a pause.
	Requests float64
	Burst    int
	// InFlight is how many requests may be open at a time, streams of events not counted.
	InFlight int
	// Body is the size of a request in bytes.
	Body int64
}

// limiter counts the requests of each principal.
type limiter struct {
	limits limits
	now    func() time.Time
	mu     sync.Mutex
	by     map[string]*usage
}

type usage struct {
	rate     *rate.Limiter
	inFlight int
}

func newLimiter(l limits, now func() time.Time) *limiter {
	return &limiter{limits: l, now: now, by: map[string]*usage{}}
}

// enter counts a request until done is called. The error is a refusal.
func (l *limiter) enter(principal, method string) (done func(), err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	u := l.of(principal)
	now := l.now()
	if reservation := u.rate.ReserveN(now, 1); reservation.DelayFrom(now) > 0 {
		wait := reservation.DelayFrom(now)
		reservation.CancelAt(now)
		return nil, &refusal{status: http.StatusTooManyRequests, code: "rate_limited", retry: wait,
			message: fmt.Sprintf("more than %g requests per second", l.limits.Requests)}
	}
	if method == http.MethodGet { // a stream of events, which stays open
		return func() {}, nil
	}
	if u.inFlight >= l.limits.InFlight {
		return nil, &refusal{status: http.StatusTooManyRequests, code: "too_many_in_flight",
			retry:   time.Second,
			message: fmt.Sprintf("more than %d requests are in flight", l.limits.InFlight)}
	}
	u.inFlight++
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		u.inFlight--
	}, nil
}

// Enter counts a request of a page until done is called. ok is false if the principal asks for too
// much; it may try again after a while.
func (a *Access) Enter(principal, method string) (done func(), retry time.Duration, ok bool) {
	done, err := a.rules().limits.enter(principal, method)
	if err != nil {
		return nil, asRefusal(err).retry, false
	}
	return done, 0, true
}

func (l *limiter) of(principal string) *usage {
	if u := l.by[principal]; u != nil {
		return u
	}
	if len(l.by) >= maxPrincipals {
		for id, u := range l.by {
			if u.inFlight == 0 {
				delete(l.by, id)
			}
		}
	}
	u := &usage{rate: rate.NewLimiter(rate.Limit(l.limits.Requests), l.limits.Burst)}
	l.by[principal] = u
	return u
}
