package lease_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/switchyard/switchyard/activities/lease"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/test/activitytest"
	"github.com/switchyard/switchyard/internal/test/expect"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"
)

func leaseOf(server *activitytest.HostServer, timeout time.Duration) *lease.Lease {
	return lease.New(server, []byte("token"), timeout,
		func() any { return api.InstanceProgress{Generation: 7} })
}

// A lease is valid from an accepted heartbeat until a fifth before the timeout, counted from when
// the heartbeat was sent. Then its users are stopped, and the instance is lost.
func TestLease_EndsBeforeTheServersTimeout(t *testing.T) {
	l := leaseOf(&activitytest.HostServer{}, 500*time.Millisecond)
	if l.Valid() {
		t.Error("a lease without a heartbeat is valid")
	}
	before := time.Now()
	if err := l.Beat(t.Context()); err != nil || !l.Valid() {
		t.Fatalf("%v, valid %v", err, l.Valid())
	}
	period, err := l.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	expect.Receive(t, "the end of the lease", period.Done())
	if took := time.Since(before); took < 300*time.Millisecond {
		t.Errorf("the lease ended after %s", took)
	}
	expect.Receive(t, "the loss", l.Lost)
	if _, err := l.Acquire(t.Context()); !errors.Is(err, lease.ErrOver) ||
		!errors.Is(context.Cause(period), lease.ErrOver) || l.Valid() {
		t.Errorf("%v, %v, valid %v", err, context.Cause(period), l.Valid())
	}
	if l.Beat(t.Context()); l.Valid() {
		t.Error("a lost lease is valid again")
	}
}

// The end of a lease says whether the server did not answer, or the process sent no heartbeat.
func TestLease_NamesTheOutage(t *testing.T) {
	for _, unanswered := range []bool{false, true} {
		server := &activitytest.HostServer{}
		l := leaseOf(server, 500*time.Millisecond)
		if err := l.Beat(t.Context()); err != nil {
			t.Fatal(err)
		}
		period, err := l.Acquire(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if unanswered {
			server.Say(serviceerror.NewUnavailable("connection refused"))
			_ = l.Beat(t.Context())
		}
		expect.Receive(t, "the end of the lease", period.Done())
		cause := context.Cause(period)
		if !errors.Is(cause, lease.ErrOver) ||
			strings.HasPrefix(cause.Error(), "no connection to Temporal for ") != unanswered {
			t.Errorf("unanswered %v: the lease ended with %v", unanswered, cause)
		}
	}
}

// An answer proves the lease, also with a request of the run or of an operator. It does not if it
// is unknown whether the heartbeat arrived.
func TestLease_DependsOnTheAnswerToItsHeartbeat(t *testing.T) {
	broken := errors.New("broken pipe")
	for _, c := range []struct {
		answer, want error
		valid        bool
	}{
		{nil, nil, true},
		{temporal.NewCanceledError(), lease.ErrHostCancelled, true},
		{activity.ErrActivityPaused, nil, true},
		{activity.ErrActivityReset, nil, true},
		{serviceerror.NewNotFound("no such activity"), lease.ErrHostGone, false},
		{broken, broken, false},
	} {
		l := leaseOf(&activitytest.HostServer{Answer: c.answer}, time.Minute)
		if err := l.Beat(t.Context()); !errors.Is(err, c.want) || l.Valid() != c.valid {
			t.Errorf("%v gives %v, valid %v", c.answer, err, l.Valid())
		}
		l.GiveUp(lease.ErrOver)
	}
	hung := leaseOf(&activitytest.HostServer{Hang: true}, 60*time.Millisecond)
	if err := hung.Beat(t.Context()); !errors.Is(err, context.DeadlineExceeded) || hung.Valid() {
		t.Errorf("a heartbeat without an answer gives %v, valid %v", err, hung.Valid())
	}
}

func TestLease_IntervalLeavesTimeForAnOutage(t *testing.T) {
	for timeout, want := range map[time.Duration]time.Duration{
		900 * time.Millisecond: 300 * time.Millisecond, 2 * time.Second: 500 * time.Millisecond,
		15 * time.Second: 1500 * time.Millisecond} {
		if got := leaseOf(&activitytest.HostServer{}, timeout).Interval(); got != want {
			t.Errorf("of %s: %s, want %s", timeout, got, want)
		}
	}
}

// A state is committed when the server has accepted a heartbeat with it. Failed attempts are
// repeated until the instance is lost.
func TestLease_CommitsStates(t *testing.T) {
	server := &activitytest.HostServer{}
	l := leaseOf(server, time.Minute)
	if err := l.Beat(t.Context()); err != nil {
		t.Fatal(err)
	}
	server.Say(errors.New("broken pipe"))
	beaten := server.Watch()
	done := make(chan error, 1)
	go func() { done <- l.Commit() }()
	expect.Receive(t, "an attempt", beaten)
	expect.Receive(t, "another", beaten)
	server.Say(temporal.NewCanceledError())
	if err := expect.Receive(t, "the commit", done); err != nil || server.Last().Generation != 7 {
		t.Errorf("%v, %+v", err, server.Last())
	}
	server.Say(errors.New("broken pipe"))
	go func() { done <- l.Commit() }()
	l.GiveUp(lease.ErrOver)
	if err := expect.Receive(t, "the commit", done); !errors.Is(err, lease.ErrOver) {
		t.Errorf("after the loss: %v", err)
	}
}

// While it is not known which timeout the server has, the lease has the shorter one.
func TestLeaseResize_KeepsTheShorterTimeoutUntilTheServerAgrees(t *testing.T) {
	for name, c := range map[string]struct {
		timeout, during, after time.Duration
		answer                 error
	}{
		"longer":           {2 * time.Minute, time.Minute, 2 * time.Minute, nil},
		"longer, refused":  {2 * time.Minute, time.Minute, time.Minute, errors.New("broken pipe")},
		"shorter":          {time.Second, time.Second, time.Second, nil},
		"shorter, refused": {time.Second, time.Second, time.Second, errors.New("broken pipe")},
	} {
		t.Run(name, func(t *testing.T) {
			server := &activitytest.HostServer{}
			l := leaseOf(server, time.Minute)
			err := l.Resize(t.Context(), c.timeout, func(context.Context) error {
				if l.Timeout() != c.during || len(server.Beats) != 1 {
					t.Errorf("timeout %s after %d heartbeats, want %s", l.Timeout(),
						len(server.Beats), c.during)
				}
				return c.answer
			})
			left := time.Until(l.End())
			if !errors.Is(err, c.answer) || l.Timeout() != c.after || left > c.after ||
				left < c.after/2 {
				t.Errorf("%v, timeout %s, %s left, want %s", err, l.Timeout(), left, c.after)
			}
		})
	}
	server := &activitytest.HostServer{Answer: serviceerror.NewNotFound("no such activity")}
	if err := leaseOf(server, time.Minute).Resize(t.Context(), time.Hour,
		nil); !errors.Is(err, lease.ErrHostGone) {
		t.Errorf("got %v", err)
	}
}

// No call starts while the instance waits to be adopted, and none has to end. When another activity
// proves the lease, both continue, and the old task token is not used any more.
func TestLease_IsAdopted(t *testing.T) {
	server := &activitytest.HostServer{}
	l := leaseOf(server, 400*time.Millisecond)
	if err := l.Beat(t.Context()); err != nil {
		t.Fatal(err)
	}
	running, err := l.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	l.Park()
	acquired := make(chan error, 1)
	go func() {
		_, err := l.Acquire(t.Context())
		acquired <- err
	}()
	expect.Receive(t, "the old lease to end", running.Done())
	if l.IsLost() || len(acquired) > 0 {
		t.Errorf("lost %v, a call has started %v", l.IsLost(), len(acquired) > 0)
	}
	l.Adopt([]byte("other"), 400*time.Millisecond)
	if err := l.Beat(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := expect.Receive(t, "the call", acquired); err != nil {
		t.Error(err)
	}
	if want := []string{"token", "other"}; !slices.Equal(server.Tokens, want) {
		t.Errorf("tokens %v", server.Tokens)
	}
	// An adoption without a heartbeat is a loss.
	l.Park()
	l.Adopt([]byte("third"), 100*time.Millisecond)
	expect.Receive(t, "the loss", l.Lost)
}

// A call's context ends with the lease before any timer fires, and waiting for it ends with the
// call.
func TestLeasedContext_EndsByTheClock(t *testing.T) {
	l := leaseOf(&activitytest.HostServer{}, time.Minute)
	if err := l.Beat(t.Context()); err != nil {
		t.Fatal(err)
	}
	inner, end := context.WithCancelCause(t.Context())
	defer end(nil)
	ctx := l.Bind(inner, end)
	child, cancel := context.WithTimeout(ctx, time.Hour)
	defer cancel()
	child = lease.Rebind(child)
	if ctx.Err() != nil || child.Err() != nil {
		t.Fatalf("%v, %v", ctx.Err(), child.Err())
	}
	l.SetEnd(time.Now()) // as after a suspension: the timer has not fired
	if child.Err() == nil || ctx.Err() == nil || !errors.Is(context.Cause(child), lease.ErrOver) {
		t.Errorf("%v, %v, cause %v", ctx.Err(), child.Err(), context.Cause(child))
	}
	if lease.Rebind(t.Context()) != t.Context() {
		t.Error("a context without a lease is replaced")
	}
	waiting, stop := context.WithCancelCause(t.Context())
	stop(temporal.NewCanceledError())
	if _, err := l.Acquire(waiting); !temporal.IsCanceledError(err) {
		t.Errorf("got %v", err)
	}
}
