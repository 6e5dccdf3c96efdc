package instances

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/switchyard/switchyard/activities/executor"
	"github.com/switchyard/switchyard/activities/lease"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/callcontext"
	"github.com/switchyard/switchyard/internal/test/activitytest"
	"github.com/switchyard/switchyard/internal/test/expect"
	"github.com/switchyard/switchyard/toolspecs"
)

// scriptedInstance is an instance whose calls follow their argument. Its state counts the calls
// that took effect.
type scriptedInstance struct {
	n int
	// inside receives a value when a call waits for proceed.
	inside, proceed chan struct{}
}

func (s *scriptedInstance) call(ctx context.Context, args json.RawMessage) (executor.Answer,
	error) {
	s.n++
	output := json.RawMessage(fmt.Sprint(s.n))
	switch string(args) {
	case `"wait"`:
		s.inside <- struct{}{}
		<-s.proceed
	case `"fail"`:
		return executor.Answer{}, errors.New("no such row")
	case `"busy"`:
		return executor.Answer{}, api.Transient(errors.New("busy"), 0)
	case `"hang"`:
		<-ctx.Done()
		return executor.Answer{}, context.Cause(ctx)
	}
	return executor.Answer{Output: output}, nil
}

func (s *scriptedInstance) Snapshot(context.Context) ([]byte, error) {
	return []byte(fmt.Sprint(s.n)), nil
}

func (s *scriptedInstance) Restore(_ context.Context, state []byte) error {
	_, err := fmt.Sscan(string(state), &s.n)
	return err
}

// plainInstance hides that the instance can be rebuilt.
type plainInstance struct{ scripted *scriptedInstance }

// liveInstance is an instance that is hosted for a minute.
type liveInstance struct {
	*instance
	t        *testing.T
	server   *activitytest.HostServer
	spec     toolspecs.Spec
	scripted *scriptedInstance
}

func newLive(t *testing.T, snapshot bool, change func(*toolspecs.Spec)) *liveInstance {
	t.Helper()
	compiled, err := activitytest.Spec("counter", func(s *toolspecs.Spec) {
		s.Entry.Kind = toolspecs.StatefulEntry{OnLoss: api.OnLossRecreate}
		s.Execution.Effect = api.EffectIdempotent
		if change != nil {
			change(s)
		}
	}).Compile()
	if err != nil {
		t.Fatal(err)
	}
	i := &liveInstance{t: t, server: &activitytest.HostServer{}, spec: compiled.Spec,
		scripted: &scriptedInstance{inside: make(chan struct{}, 10), proceed: make(chan struct{})}}
	l := lease.New(i.server, []byte("token"), time.Minute, func() any { return i.state() })
	t.Cleanup(func() { l.GiveUp(lease.ErrOver) })
	m := executor.Instance{Value: any(plainInstance{i.scripted}),
		Call: func(ctx context.Context, _ *toolspecs.Spec,
			args json.RawMessage) (executor.Answer, error) {
			return i.scripted.call(ctx, args)
		}}
	if snapshot {
		m.Value = i.scripted
	}
	i.instance = newInstance(i.spec.Name, &i.spec, m, l, api.InstanceProgress{Generation: 1}, "")
	if err := l.Beat(t.Context()); err != nil {
		t.Fatal(err)
	}
	return i
}

func (i *liveInstance) do(ctx context.Context, id, args string) (executor.Answer, error) {
	return i.execute(callcontext.With(ctx, api.CallContext{CallID: id}), &i.spec,
		json.RawMessage(args))
}

// reported returns the instance's state and the calls of the last heartbeat.
func (i *liveInstance) reported() (state string, calls []string) {
	i.t.Helper()
	last := i.server.Last()
	if last.State == nil {
		return "", nil
	}
	k, err := unpackSnapshot(last.State)
	if err != nil {
		i.t.Fatal(err)
	}
	for _, c := range k.calls {
		calls = append(calls, c.ID)
	}
	return string(k.state), calls
}

// Answers and permanent errors are final. Retryable errors and interrupted calls are not. A call
// with a final outcome is never executed again.
func TestInstance_SnapshotsFinalOutcomes(t *testing.T) {
	i := newLive(t, true, nil)
	stopped, stop := context.WithTimeoutCause(t.Context(), 500*time.Millisecond,
		executor.ErrTimeout)
	defer stop()
	for _, c := range []struct {
		ctx      context.Context
		id, args string
		failed   bool
		state    string
		calls    int
	}{
		{t.Context(), "1", `"go"`, false, "1", 1},
		{t.Context(), "2", `"busy"`, true, "1", 1},
		{t.Context(), "2", `"go"`, false, "3", 2},
		{t.Context(), "3", `"fail"`, true, "4", 3},
		{stopped, "4", `"hang"`, true, "4", 3},
		{t.Context(), "4", `"go"`, false, "6", 4},
	} {
		_, err := i.do(c.ctx, c.id, c.args)
		if state, calls := i.reported(); (err != nil) != c.failed || state != c.state ||
			len(calls) != c.calls {
			t.Errorf("call %s %s: %v, reported %q and calls %q", c.id, c.args, err, state, calls)
		}
	}
	if answer, err := i.do(t.Context(), "1", `"go"`); err != nil || string(answer.Output) != "1" ||
		i.scripted.n != 6 {
		t.Errorf("the first call, made again, is answered with %+v, %v", answer, err)
	}
	if _, err := i.do(t.Context(), "3", `"go"`); !errors.Is(err,
		&api.Error{Type: api.ErrExecution}) || i.scripted.n != 6 {
		t.Errorf("the failed call, made again, is answered with %v", err)
	}
}

// Calls of other runs of the conversation can have the same ID.
func TestInstance_OfAConversationDistinguishesTheCallsOfItsRuns(t *testing.T) {
	i := newLive(t, true, func(s *toolspecs.Spec) {
		s.Entry.Kind = toolspecs.StatefulEntry{OnLoss: api.OnLossRecreate,
			Scope: api.ScopeConversation}
	})
	for n, run := range []string{"first", "second", "second"} {
		call := api.CallContext{CallID: "1.1", Origin: api.Origin{Run: run}}
		answer, err := i.execute(callcontext.With(t.Context(), call), &i.spec,
			json.RawMessage(`"go"`))
		want := []string{"1", "2", "2"}[n]
		if err != nil || string(answer.Output) != want {
			t.Errorf("call %d of the run %s returned %s, %v, want %s", n, run, answer.Output, err,
				want)
		}
	}
}

// A call that only reads changes no state, so nothing is saved or lost with it.
func TestInstance_TakesNoSnapshotsOfReads(t *testing.T) {
	i := newLive(t, true, func(s *toolspecs.Spec) { s.Execution.Effect = api.EffectRead })
	for _, id := range []string{"1", "2"} {
		if _, err := i.do(t.Context(), id, `"go"`); err != nil {
			t.Fatal(err)
		}
	}
	if s := i.state(); s.Used || s.State != nil || len(i.server.Beats) != 1 {
		t.Errorf("reported %+v in %d heartbeats", s, len(i.server.Beats))
	}
}

// The server knows that the instance is used before its first call runs, which may be lost.
func TestInstance_ReportsItsUseBeforeItsFirstCallRuns(t *testing.T) {
	i := newLive(t, false, nil)
	done := make(chan error, 1)
	go func() {
		_, err := i.do(t.Context(), "1", `"wait"`)
		done <- err
	}()
	expect.Receive(t, "the call", i.scripted.inside)
	if !i.server.Last().Used {
		t.Errorf("reported %+v while the first call runs", i.server.Last())
	}
	close(i.scripted.proceed)
	if err := expect.Receive(t, "the end of the call", done); err != nil {
		t.Error(err)
	}
}

// Heartbeats only report that the instance was used.
func TestInstance_ReportsNoStateWithoutSnapshots(t *testing.T) {
	for name, i := range map[string]*liveInstance{
		"fail":  newLive(t, true, func(s *toolspecs.Spec) { s.Entry.Kind = toolspecs.StatefulEntry{} }),
		"plain": newLive(t, false, nil),
	} {
		for _, id := range []string{"1", "2", "3"} {
			if _, err := i.do(t.Context(), id, `"go"`); err != nil {
				t.Fatal(err)
			}
		}
		if state, _ := i.reported(); state != "" || !i.server.Last().Used || len(i.server.Beats) != 2 {
			t.Errorf("%s: reported %q in %d heartbeats", name, state, len(i.server.Beats))
		}
	}
}

// Calls overlap only if the tool reads, or if it is shared and takes no snapshots, which would
// contain a part of a running call.
func TestInstance_SerializesCallsUnlessShared(t *testing.T) {
	shared := func(s *toolspecs.Spec) { s.Execution.Access = api.AccessShared }
	reads := func(s *toolspecs.Spec) { s.Execution.Effect = api.EffectRead }
	readsAlone := func(s *toolspecs.Spec) {
		s.Execution.Effect, s.Execution.Access = api.EffectRead, api.AccessExclusive
	}
	for name, c := range map[string]struct {
		snapshot bool
		change   func(*toolspecs.Spec)
		overlaps bool
	}{"exclusive": {false, nil, false}, "shared": {false, shared, true},
		"shared with snapshots": {true, shared, false}, "reads": {false, reads, true},
		"reads with snapshots": {true, reads, true}, "reads, exclusive": {true, readsAlone, false},
	} {
		t.Run(name, func(t *testing.T) {
			i := newLive(t, c.snapshot, c.change)
			i.scripted.inside = make(chan struct{}, 2)
			first := make(chan error, 1)
			go func() {
				_, err := i.do(t.Context(), "1", `"wait"`)
				first <- err
			}()
			expect.Receive(t, "the first call", i.scripted.inside)
			ctx, cancel := context.WithTimeoutCause(t.Context(), 100*time.Millisecond,
				executor.ErrTimeout)
			defer cancel()
			second := make(chan error, 1)
			go func() {
				_, err := i.do(ctx, "2", `"hang"`)
				second <- err
			}()
			if err := expect.Receive(t, "the second call", second); !errors.Is(err,
				executor.ErrTimeout) {
				t.Errorf("the second call ended with %v", err)
			}
			close(i.scripted.proceed)
			if err := expect.Receive(t, "the first call", first); err != nil {
				t.Error(err)
			}
			if overlapped := i.scripted.n == 2; overlapped != c.overlaps {
				t.Errorf("overlapped: %v", overlapped)
			}
			if i.idle() > time.Minute {
				t.Errorf("idle for %s", i.idle())
			}
		})
	}
}

// An instance with a running call is not idle.
func TestInstance_ClosesAfterRunningCalls(t *testing.T) {
	i := newLive(t, false, nil)
	done := make(chan error, 1)
	go func() {
		_, err := i.do(t.Context(), "1", `"wait"`)
		done <- err
	}()
	expect.Receive(t, "the call", i.scripted.inside)
	if i.idle() != 0 {
		t.Errorf("idle for %s", i.idle())
	}
	closed := make(chan error, 1)
	go func() { closed <- i.close() }()
	select {
	case <-closed:
		t.Error("closed while a call uses it")
	case <-time.After(20 * time.Millisecond):
	}
	close(i.scripted.proceed)
	if err := errors.Join(expect.Receive(t, "the call", done), expect.Receive(t, "the end",
		closed)); err != nil {
		t.Error(err)
	}
}
