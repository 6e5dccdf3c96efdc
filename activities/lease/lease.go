package lease

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/switchyard/switchyard/internal/core/lanerules"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
)

// Lease is this process's proof that it owns an instance or slots of a lane. A heartbeat that the
// server accepted proves it for the heartbeat timeout, counted from its sending, because the server
// reassigns the activity only after that. The lease ends slightly earlier, so that its users have
// time to stop.
type Lease struct {
	client client.Client
	// timeout is the activity's heartbeat timeout, a time.Duration.
	timeout atomic.Int64
	// state returns the details of the next heartbeat, which the next owner reads.
	state func() any

	// beating serializes heartbeats, so that the last one to arrive has the newest state.
	beating sync.Mutex

	mu    sync.Mutex
	token []byte
	until time.Time
	// accepted is when the last heartbeat that the server accepted was sent. unanswered means that
	// a later one got no answer.
	accepted   time.Time
	unanswered bool
	expiry     *time.Timer
	// period ends with the lease; it is replaced when an ended lease is renewed.
	period    context.Context
	endPeriod context.CancelCauseFunc
	// parked means that the run continues as new and has not yet adopted the instance.
	parked  bool
	changed chan struct{}
	Lost    chan struct{}
}

var (
	// ErrOver is the cause with which users of the lease are stopped. A message before it names the
	// reason.
	ErrOver = errors.New("the lease is over, so that another worker may have taken over")
	// ErrHostGone means that the server no longer knows the activity, because it timed out or its
	// run is closed.
	ErrHostGone = errors.New("the server no longer knows the activity")
	// ErrHostCancelled means that the run has cancelled the activity. The server accepted the
	// heartbeat nevertheless.
	ErrHostCancelled = errors.New("the run no longer needs the instance")
)

// overError is the ErrOver of a lease that was not renewed in time. Its message names the reason.
type overError struct {
	// Silence is the time since the last heartbeat that the server accepted.
	Silence time.Duration
	// Unanswered means that the server did not answer a heartbeat since then. Otherwise this
	// process sent none, because it was suspended or had no time.
	Unanswered bool
}

// Error implements error.
func (e overError) Error() string {
	silence := e.Silence.Round(100 * time.Millisecond)
	if e.Unanswered {
		return fmt.Sprintf("no connection to Temporal for %s: %v", silence, ErrOver)
	}
	return fmt.Sprintf("this process sent no heartbeat for %s: %v", silence, ErrOver)
}

// Unwrap returns ErrOver.
func (overError) Unwrap() error { return ErrOver }

// New returns a lease that is not valid before its first Beat. timeout is the heartbeat timeout of
// the activity that token identifies; state returns the details of heartbeats.
func New(c client.Client, token []byte, timeout time.Duration, state func() any) *Lease {
	l := &Lease{client: c, state: state, token: token, changed: make(chan struct{}),
		Lost: make(chan struct{})}
	l.timeout.Store(int64(timeout))
	l.period, l.endPeriod = context.WithCancelCause(context.Background())
	l.endPeriod(ErrOver)
	l.expiry = time.AfterFunc(time.Hour, l.expire)
	l.expiry.Stop()
	return l
}

// Interval returns the time between two heartbeats while the lease is in use. It is a small part of
// the timeout, so that most of the lease is left when an outage begins.
func (l *Lease) Interval() time.Duration { return lanerules.LeaseInterval(l.Timeout()) }

// Timeout returns the activity's heartbeat timeout.
func (l *Lease) Timeout() time.Duration { return time.Duration(l.timeout.Load()) }

// Third returns a third of the timeout.
func (l *Lease) Third() time.Duration { return l.Timeout() / 3 }

// IdleInterval returns the time between two heartbeats while nothing depends on the lease. It
// leaves time for several attempts.
func (l *Lease) IdleInterval() time.Duration { return l.Timeout() * 2 / 3 }

// RetryInterval returns the time between two heartbeats while the server does not answer.
func (l *Lease) RetryInterval() time.Duration { return min(l.Interval(), time.Second) }

// Patience returns the timeout of one heartbeat or one query to the server.
func (l *Lease) Patience() time.Duration { return min(l.Third(), 5*time.Second) }

// Margin returns how long before the server's timeout the lease ends.
func (l *Lease) Margin() time.Duration { return lanerules.LeaseMargin(l.Timeout()) }

// Silence returns the time since the last heartbeat that the server accepted was sent, and whether
// the server left a later one unanswered.
func (l *Lease) Silence() (silence time.Duration, unanswered bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return time.Since(l.accepted), l.unanswered
}

// over returns the error of a lease that was not renewed in time. The caller holds mu.
func (l *Lease) over() error {
	return overError{Silence: time.Since(l.accepted), Unanswered: l.unanswered}
}

// Beat sends one heartbeat. The server accepted it if Beat returns nil or ErrHostCancelled;
// ErrHostGone means that the server no longer knows the activity; any other error is inconclusive.
func (l *Lease) Beat(ctx context.Context) error {
	l.beating.Lock()
	defer l.beating.Unlock()
	l.mu.Lock()
	token := l.token
	l.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, l.Patience())
	defer cancel()
	sent := time.Now()
	err := l.client.RecordActivityHeartbeat(ctx, token, l.state())
	if _, gone := errors.AsType[*serviceerror.NotFound](err); gone {
		return ErrHostGone
	}
	cancelled := temporal.IsCanceledError(err)
	if err == nil || cancelled || errors.Is(err, activity.ErrActivityPaused) ||
		errors.Is(err, activity.ErrActivityReset) {
		l.renew(sent)
		if cancelled {
			return ErrHostCancelled
		}
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.unanswered = true
	return err
}

// First sends the first heartbeat, again and again until the server has answered: an outage ends
// nothing that has not begun. It returns as Beat does, or the cause of the end of ctx.
func (l *Lease) First(ctx context.Context) error {
	for {
		err := l.Beat(ctx)
		if err == nil || errors.Is(err, ErrHostCancelled) || errors.Is(err, ErrHostGone) {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-activity.GetWorkerStopChannel(ctx):
			return fmt.Errorf("the worker stops, and the last heartbeat failed: %w", err)
		case <-time.After(l.RetryInterval()):
		}
	}
}

func (l *Lease) renew(sent time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.accepted, l.unanswered = sent, false
	l.extend()
}

// extend computes the end of the lease from the last accepted heartbeat. The caller holds mu.
func (l *Lease) extend() {
	l.until = l.accepted.Add(l.Timeout() - l.Margin())
	left := time.Until(l.until)
	if l.IsLost() || left <= 0 {
		return
	}
	l.expiry.Reset(left)
	if l.period.Err() != nil {
		l.period, l.endPeriod = context.WithCancelCause(context.Background())
	}
	l.wake()
}

// wake wakes all waiters. The caller holds mu.
func (l *Lease) wake() {
	close(l.changed)
	l.changed = make(chan struct{})
}

// expire ends the lease when its time has passed. It stops the users of the instance, and gives the
// instance up unless it waits for adoption.
func (l *Lease) expire() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if time.Until(l.until) > 0 {
		return // renewed in the meantime
	}
	l.endPeriod(l.over())
	if !l.parked {
		l.lose()
	}
	l.wake()
}

// GiveUp ends the lease permanently, whatever its remaining time.
func (l *Lease) GiveUp(cause error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.expiry.Stop()
	l.endPeriod(cause)
	l.lose()
	l.wake()
}

func (l *Lease) lose() {
	if !l.IsLost() {
		close(l.Lost)
	}
}

func (l *Lease) IsLost() bool {
	select {
	case <-l.Lost:
		return true
	default:
		return false
	}
}

// Park records that the execution to which the activity belonged has ended and continues as new: no
// call may start until the instance is adopted.
func (l *Lease) Park() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.parked = true
}

// Resize changes the heartbeat timeout of the activity to timeout by set, which has the server
// change it. The server counts the changed timeout from the last heartbeat, so Resize sends one
// before. The lease has the shorter timeout as long as the server may have either. Errors are those
// of Beat and of set.
func (l *Lease) Resize(ctx context.Context, timeout time.Duration,
	set func(context.Context) error) error {
	if err := l.Beat(ctx); err != nil {
		return err
	}
	l.beating.Lock() // no heartbeat may count for the timeout that is being changed
	defer l.beating.Unlock()
	ctx, cancel := context.WithTimeout(ctx, l.Patience())
	defer cancel()
	if timeout < l.Timeout() {
		l.setTimeout(timeout)
	}
	if err := set(ctx); err != nil {
		return err
	}
	l.setTimeout(timeout)
	return nil
}

// setTimeout sets the timeout of the lease and computes its end.
func (l *Lease) setTimeout(timeout time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.timeout.Store(int64(timeout))
	l.extend()
}

// Adopt moves the lease to another activity with another heartbeat timeout. The next heartbeat
// proves it; without one the instance is lost.
func (l *Lease) Adopt(token []byte, timeout time.Duration) {
	l.beating.Lock() // a heartbeat for the old activity must not count for the new one
	defer l.beating.Unlock()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.parked, l.token = false, token
	l.timeout.Store(int64(timeout))
	left := timeout - l.Margin()
	if until := time.Now().Add(left); until.Before(l.until) {
		l.until = until // heartbeats of the other activity prove no more than that
	}
	l.expiry.Reset(left)
}

// Valid reports whether this process can currently prove its ownership. It reads the clock, so that
// late timers do not matter.
func (l *Lease) Valid() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.period.Err() == nil && time.Until(l.until) > 0
}

// Acquire waits until the lease is valid and returns a context that ends with it. It returns the
// cause of ctx's end, or ErrOver if the instance is lost.
func (l *Lease) Acquire(ctx context.Context) (context.Context, error) {
	for {
		l.mu.Lock()
		period, changed := l.period, l.changed
		valid := !l.parked && period.Err() == nil && time.Until(l.until) > 0
		lost := l.IsLost()
		l.mu.Unlock()
		switch {
		case lost:
			return nil, ErrOver
		case valid:
			return period, nil
		}
		select {
		case <-changed:
		case <-l.Lost:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// retryPause is the wait after a failed heartbeat of Commit.
const retryPause = 50 * time.Millisecond

// Commit returns when the server has accepted the current state, or with ErrOver if the instance is
// lost before.
func (l *Lease) Commit() error {
	ctx := context.Background() // the end of the call must not prevent the commit
	for {
		if _, err := l.Acquire(ctx); err != nil {
			return err
		}
		if err := l.Beat(ctx); err == nil || errors.Is(err, ErrHostCancelled) {
			return nil
		}
		select {
		case <-l.Lost:
			return ErrOver
		case <-time.After(retryPause):
		}
	}
}

// leased is a context whose Err checks the lease, so that a process that was suspended learns that
// its lease has ended before any timer fires.
type leased struct {
	context.Context
	lease *Lease
	end   context.CancelCauseFunc
}

// Err implements context.Context.
func (c leased) Err() error {
	if c.Context.Err() == nil && !c.lease.Valid() {
		c.lease.mu.Lock()
		over := c.lease.over()
		c.lease.mu.Unlock()
		c.end(over)
	}
	return c.Context.Err()
}

// leasedKey is the key of the innermost leased context.
type leasedKey struct{}

// Value implements context.Context.
func (c leased) Value(key any) any {
	if key == (leasedKey{}) {
		return c
	}
	return c.Context.Value(key)
}

// Bind returns a context whose Err also checks the lease; end is called when the lease ends.
// Contexts derived from it check the lease only after Rebind.
func (l *Lease) Bind(ctx context.Context, end context.CancelCauseFunc) context.Context {
	return leased{ctx, l, end}
}

// Rebind returns a context whose Err also checks the lease of the context that ctx is derived from,
// such as one with a timeout. It returns ctx if there is no lease.
func Rebind(ctx context.Context) context.Context {
	if outer, ok := ctx.Value(leasedKey{}).(leased); ok {
		return leased{ctx, outer.lease, outer.end}
	}
	return ctx
}
