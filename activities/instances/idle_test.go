package instances

import (
	"errors"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/switchyard/switchyard/activities/lease"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/instancerules"
	"github.com/switchyard/switchyard/internal/test/activitytest"
	"github.com/switchyard/switchyard/internal/test/expect"
	"github.com/switchyard/switchyard/toolspecs"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/testsuite"
)

// unused is a hosting whose instance no call has used for a time.
type unused struct {
	*hosting
	server *activitytest.HostServer
}

func newUnused(t *testing.T, heartbeat time.Duration) unused {
	t.Helper()
	live := newLive(t, false, func(s *toolspecs.Spec) {
		s.Execution.Heartbeat = api.Duration(heartbeat)
		idleFor(24 * time.Hour)(s)
	})
	h := &hosting{Host: New(Config{Client: live.server}), spec: &live.spec,
		log: slog.New(slog.DiscardHandler), size: leaseSize{confirmed: heartbeat},
		beaten: time.Now()}
	h.lease = lease.New(live.server, []byte("token"), heartbeat, func() any { return h.state() })
	h.instance.Store(live.instance)
	return unused{h, live.server}
}

// use sets the time of the last call, looks after the instance once, and returns the heartbeat
// timeout that the lease has then.
func (u unused) use(t *testing.T, before time.Duration) time.Duration {
	t.Helper()
	u.instance.Load().lastUsed = time.Now().Add(-before)
	if end := u.check(t.Context()); end != nil {
		t.Fatalf("the hosting ends: %+v", end)
	}
	return u.lease.Timeout()
}

func TestHosting_LengthensTheLeaseOfUnusedInstances(t *testing.T) {
	for heartbeat, c := range map[time.Duration]struct{ after, idle time.Duration }{
		3 * time.Second:  {12 * time.Second, 24 * time.Second},
		15 * time.Second: {time.Minute, 2 * time.Minute},
		time.Minute:      {time.Minute, 2 * time.Minute},
		time.Hour:        {time.Minute, time.Hour},
	} {
		u := newUnused(t, heartbeat)
		got := []time.Duration{u.use(t, c.after-time.Second), u.use(t, c.after),
			u.use(t, c.after), u.use(t, 0)}
		want := []time.Duration{heartbeat, c.idle, c.idle, heartbeat}
		if !slices.Equal(got, want) {
			t.Errorf("heartbeat %s: got timeouts %v, want %v", heartbeat, got, want)
		}
		requested := []time.Duration{c.idle, heartbeat}
		if c.idle == heartbeat {
			requested = nil
		}
		if !slices.Equal(u.server.Timeouts, requested) {
			t.Errorf("heartbeat %s: requested %v, want %v", heartbeat, u.server.Timeouts, requested)
		}
	}
}

// Servers without the request keep the tool's heartbeat.
func TestHosting_KeepsTheLeaseIfTheServerDoesNotChangeIt(t *testing.T) {
	for name, c := range map[string]struct {
		answer   error
		requests int
	}{
		"unknown request": {serviceerror.NewUnimplemented("unknown method"), 1},
		"denied":          {serviceerror.NewPermissionDenied("no", ""), 1},
		"cut off":         {errors.New("broken pipe"), 2},
	} {
		u := newUnused(t, 15*time.Second)
		u.server.Resized = c.answer
		for range 3 {
			if got := u.use(t, time.Hour); got != 15*time.Second {
				t.Errorf("%s: timeout %s", name, got)
			}
		}
		u.size.tried = time.Now().Add(-time.Minute)
		u.use(t, time.Hour)
		if len(u.server.Timeouts) != c.requests {
			t.Errorf("%s: %d requests, want %d", name, len(u.server.Timeouts), c.requests)
		}
	}
}

// An announced end needs no heartbeat.
func TestHostInstance_ClosesWhenTheRunAnnouncesItsEnd(t *testing.T) {
	h := newHosts(t, func(s *toolspecs.Spec) { s.Execution.Heartbeat = api.Duration(time.Hour) },
		plain)
	running := h.start(h.request())
	s := expect.Receive(t, "the instance", h.served)
	env := (&testsuite.WorkflowTestSuite{}).NewTestActivityEnvironment()
	env.RegisterActivityWithOptions(s.Close,
		activity.RegisterOptions{Name: api.CloseInstanceActivity})
	for range 2 {
		if _, err := env.ExecuteActivity(api.CloseInstanceActivity,
			instancerules.CloseRequest{}); err != nil {
			t.Fatal(err)
		}
	}
	if err := expect.Receive(t, "the end", running.done); err != nil ||
		h.actions() != "make1 serve stop close" {
		t.Errorf("%v, %s", err, h.actions())
	}
}
