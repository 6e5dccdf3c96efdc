package lease

import (
	"context"
	"errors"
	"sync"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
)

// lease is this process's proof that it is the one that holds something: an instance, or slots of a
// lane. A heartbeat that the server took proves it for the heartbeat timeout, counted from its
// sending: the server gives it to nobody else before. A little earlier the lease is over, so that
// what uses it has time to stop.
type Lease struct {
	client client.Client
	// timeout is the hold's heartbeat timeout.
	timeout time.Duration
	// state is what the next heartbeat tells whoever holds it after this process.
	state func() any

	// beating lets one heartbeat go at a time, so that the last one to arrive has the newest state.
	beating sync.Mutex

	Mu     sync.Mutex
	token  []byte
	Until  time.Time
	expiry *time.Timer
	// period ends when the lease is over; it is a new one after a lease that was over has been
	// taken up again.
	period    context.Context
	endPeriod context.CancelCauseFunc
	// parked: the run continues as new, and nobody has asked yet for the instance to be adopted.
	parked  bool
	changed chan struct{}
	Lost    chan struct{}
}

var (
	// errLeaseOver is why what used the instance was stopped.
	ErrOver = errors.New("the lease of this worker is over, so that another one may have taken over")
	// errHoldGone: the server knows the hold no more, because it timed out or its run is over.
	ErrHostGone = errors.New("the server knows the hold no more")
	// errHoldCancelled: the run has asked for the hold's end. The heartbeat was taken nevertheless.
	ErrHostCancelled = errors.New("the run needs the instance no more")
)

func New(c client.Client, token []byte, timeout time.Duration, state func() any) *Lease {
	l := &Lease{client: c, state: state, token: token, timeout: timeout,
		changed: make(chan struct{}), Lost: make(chan struct{})}
	l.period, l.endPeriod = context.WithCancelCause(context.Background())
	l.endPeriod(ErrOver)
	l.expiry = time.AfterFunc(time.Hour, l.expire)
	l.expiry.Stop()
	return l
}

// interval is the time between two heartbeats: short enough for one to fail, and for a run to end
// without waiting on servers that do not push cancellation.
func (l *Lease) Interval() time.Duration { return min(l.timeout/4, 500*time.Millisecond) }

// patience is how long one heartbeat, or one question to the server, may take.
func (l *Lease) Patience() time.Duration { return min(l.timeout/3, 5*time.Second) }

// margin is how long before the server's timeout the lease is over.
func (l *Lease) Margin() time.Duration { return l.timeout / 5 }

// beat sends one heartbeat. nil and errHoldCancelled say that the server took it; errHoldGone that
// it knows the hold no more; any other error says nothing.
func (l *Lease) Beat(ctx context.Context) error {
	l.beating.Lock()
	defer l.beating.Unlock()
	l.Mu.Lock()
	token := l.token
	l.Mu.Unlock()
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
	return err
}

func (l *Lease) renew(sent time.Time) {
	l.Mu.Lock()
	defer l.Mu.Unlock()
	l.Until = sent.Add(l.timeout - l.Margin())
	left := time.Until(l.Until)
	if l.IsLost() || left <= 0 {
		return
	}
	l.expiry.Reset(left)
	if l.period.Err() != nil {
		l.period, l.endPeriod = context.WithCancelCause(context.Background())
	}
	l.wake()
}

// wake tells whoever waits that something has changed. The caller holds mu.
func (l *Lease) wake() {
	close(l.changed)
	l.changed = make(chan struct{})
}

// expire ends the lease when its time is over: what uses the instance is stopped, and unless the
// instance waits to be adopted, it is lost.
func (l *Lease) expire() {
	l.Mu.Lock()
	defer l.Mu.Unlock()
	if time.Until(l.Until) > 0 {
		return // renewed in the meantime
	}
	l.endPeriod(ErrOver)
	if !l.parked {
		l.lose()
	}
	l.wake()
}

// giveUp ends the lease for good, whatever is left of its time.
func (l *Lease) GiveUp(cause error) {
	l.Mu.Lock()
	defer l.Mu.Unlock()
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

// park says that the execution which the hold belonged to is over and continues as new: no call may
// begin until the instance is adopted.
func (l *Lease) Park() {
	l.Mu.Lock()
	defer l.Mu.Unlock()
	l.parked = true
}

// adopt makes the lease one of another hold. The next heartbeat proves it; without one the instance
// is lost.
func (l *Lease) Adopt(token []byte) {
	l.beating.Lock() // a heartbeat for the old hold must not prove anything for the new one
	defer l.beating.Unlock()
	l.Mu.Lock()
	defer l.Mu.Unlock()
	l.parked, l.token = false, token
	l.expiry.Reset(l.timeout - l.Margin())
}

// valid reports whether this process can prove now that it holds the instance. It reads the clock,
// so that the answer is right even when timers are late.
func (l *Lease) Valid() bool {
	l.Mu.Lock()
	defer l.Mu.Unlock()
	return l.period.Err() == nil && time.Until(l.Until) > 0
}

// acquire waits until the lease is held and returns a context that ends with it. Its error is the
// cause of ctx's end, or errLeaseOver where the instance is lost.
func (l *Lease) Acquire(ctx context.Context) (context.Context, error) {
	for {
		l.Mu.Lock()
		period, changed := l.period, l.changed
		hosted := !l.parked && period.Err() == nil && time.Until(l.Until) > 0
		lost := l.IsLost()
		l.Mu.Unlock()
		switch {
		case lost:
			return nil, ErrOver
		case hosted:
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

// retryPause is the wait after a heartbeat of commit that failed.
const retryPause = 50 * time.Millisecond

// commit returns when the server has the state as it is now, or with errLeaseOver when the instance
// is lost before.
func (l *Lease) Commit() error {
	ctx := context.Background() // what ends the call must not keep its effect from being kept
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

// leased is a context whose Err asks the lease: a process that was suspended and goes on learns
// from it that its time is over before any timer tells.
type leased struct {
	context.Context
	lease *Lease
	end   context.CancelCauseFunc
}

// Err implements context.Context.
func (c leased) Err() error {
	if c.Context.Err() == nil && !c.lease.Valid() {
		c.end(ErrOver)
	}
	return c.Context.Err()
}

// Bind returns a context whose Err also asks the lease, and which end cancels when the lease is
// over.
func (l *Lease) Bind(ctx context.Context, end context.CancelCauseFunc) context.Context {
	return leased{ctx, l, end}
}
