package instances

import (
	"context"
	"errors"
	"reflect"
	"testing"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/test/expect"
	"github.com/switchyard/switchyard/tool"
	"github.com/switchyard/switchyard/toolspecs"
	"go.temporal.io/sdk/temporal"
)

// Only transient errors are retried, by the retry policy of the tool. A created part is closed.
func TestHostInstance_ReportsFailedCreation(t *testing.T) {
	attempts := 0
	retry := func(s *toolspecs.Spec) {
		s.Execution.Effect, s.Execution.Timeout = api.EffectIdempotent,
			api.Duration(50*time.Millisecond)
		s.Execution.Retry = api.Retry{MaxAttempts: 3,
			InitialInterval: api.Duration(time.Millisecond)}
	}
	factory := func(f func(context.Context) (*loudSnapshot,
		error)) func(*hosts) tool.Stateful {
		return func(*hosts) tool.Stateful {
			return tool.NewStateful("counter", func(ctx context.Context,
				_ tool.StartInfo) (*loudSnapshot, error) {
				attempts++
				return f(ctx)
			}, tool.NewMethod("add", (*loudSnapshot).Add))
		}
	}
	for name, c := range map[string]struct {
		factory  func(*hosts) tool.Stateful
		want     api.ErrorType
		says     string
		attempts int
	}{
		"plain": {factory(func(context.Context) (*loudSnapshot, error) {
			return nil,
				errors.New("no disk")
		}), api.ErrExecution, "the instance of counter could not be created: no disk", 1},
		"transient": {factory(func(context.Context) (*loudSnapshot, error) {
			return nil,
				api.Transient(errors.New("busy"), 0)
		}), api.ErrExecution, "the instance of counter could not be created: busy", 3},
		"panic": {factory(func(context.Context) (*loudSnapshot, error) { panic("kaboom") }),
			api.ErrExecution, "the instance of counter could not be created: the tool's function panicked: kaboom", 1},
		"own type": {factory(func(context.Context) (*loudSnapshot, error) {
			return nil, api.Errorf(api.ErrPolicyViolation, "not here")
		}), api.ErrPolicyViolation, "the instance of counter could not be created: not here", 1},
		"late": {factory(func(ctx context.Context) (*loudSnapshot,
			error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}), api.ErrTimeout, "the instance of counter was not created within 50ms", 1},
		"unknown": {func(*hosts) tool.Stateful {
			return tool.NewStateful("other", makes(&loudSnapshot{}),
				tool.NewMethod("add", (*loudSnapshot).Add))
		}, api.ErrExecutorNotFound, `the instance of counter could not be created: the worker cannot execute counter: no stateful type "counter" is registered; register one with tool.NewStateful; registered: other`, 0},
	} {
		t.Run(name, func(t *testing.T) {
			attempts = 0
			h := newHosts(t, retry, c.factory)
			e, _, again := h.failed(h.start(h.request()))
			if e.Type != c.want || e.Message != c.says || again ||
				attempts != c.attempts {
				t.Errorf("%+v, again %v, %d attempts", e, again, attempts)
			}
		})
	}
	t.Run("state", func(t *testing.T) {
		h := newHosts(t, recreate, snapshotBy(nil))
		damaged := api.InstanceProgress{Generation: 1, Used: true, State: []byte("text")}
		e, left, again := h.failed(h.start(h.request(), damaged))
		if again || e.Message != "the instance of counter could not be created: the snapshot cannot be read: unexpected EOF" || string(left.State) != "text" ||
			left.Generation != 2 || h.actions() != "make2 close" {
			t.Errorf("%+v, left %+v, %s", e, left, h.actions())
		}
	})
	t.Run("other version", func(t *testing.T) {
		packed, err := snapshot{state: []byte("1")}.pack()
		if err != nil {
			t.Fatal(err)
		}
		h := newHosts(t, nil, plain)
		if e, _, _ := h.failed(h.start(h.request(), api.InstanceProgress{Used: true,
			State: packed})); e.Message != "the instance of counter could not be created: the previous instance has a snapshot, and this one cannot restore it; does the worker have another version of the tool?" {
			t.Errorf("%+v", e)
		}
	})
	t.Run("dependency", func(t *testing.T) {
		h := newHosts(t, func(s *toolspecs.Spec) {
			s.Requires.Dependencies = []toolspecs.Dependency{{Name: "db",
				Check: []string{"no-such-program-here"}}}
		}, plain)
		if e, _, again := h.failed(h.start(h.request())); e.Type != api.ErrPreconditionFailed ||
			again {
			t.Errorf("%+v, again %v", e, again)
		}
	})
	t.Run("no stateful tools", func(t *testing.T) {
		h := newHosts(t, nil, plain)
		h.config.Executors = nil
		if e, _, _ := h.failed(h.start(h.request())); e.Type != api.ErrExecutorNotFound {
			t.Errorf("%+v", e)
		}
	})
	t.Run("unknown digest", func(t *testing.T) {
		h := newHosts(t, nil, plain)
		r := h.request()
		r.Digest = "other"
		if e, _, _ := h.failed(h.start(r)); e.Type != api.ErrExecutorNotFound {
			t.Errorf("%+v", e)
		}
	})
}

// The host ends while the factory still runs.
func TestHostInstance_ClosesInstanceCreatedTooLate(t *testing.T) {
	making, finish := make(chan struct{}), make(chan struct{})
	h := newHosts(t, nil, func(h *hosts) tool.Stateful {
		return tool.NewStateful("counter", func(ctx context.Context,
			_ tool.StartInfo) (*loud, error) {
			close(making)
			<-finish // it does not listen
			h.say("made")
			return &loud{hosts: h}, nil
		}, tool.NewMethod("add", (*loud).Add))
	})
	running := h.start(h.request())
	expect.Receive(t, "the factory", making)
	h.server.Say(temporal.NewCanceledError())
	expect.Receive(t, "a heartbeat", h.server.Watch())
	close(finish)
	if err := expect.Receive(t, "the end", running.done); err != nil {
		t.Error(err)
	}
	if got := h.actions(); got != "made close" {
		t.Errorf("got %s", got)
	}
}

// An outage before the first heartbeat ends nothing: the instance is created after it, or by
// another worker if this one stops.
func TestHostInstance_WaitsForTheServerBeforeItCreates(t *testing.T) {
	h := newHosts(t, nil, plain)
	h.server.Say(errors.New("broken pipe"))
	beats := h.server.Watch()
	running := h.start(h.request())
	expect.Receive(t, "a heartbeat", beats)
	expect.Receive(t, "another heartbeat", beats)
	if did := h.actions(); did != "" {
		t.Errorf("without the server it did %s", did)
	}
	h.server.Say(nil)
	expect.Receive(t, "the instance", h.served)
	h.server.Say(temporal.NewCanceledError())
	if err := expect.Receive(t, "the end", running.done); err != nil {
		t.Error(err)
	}

	h.server.Say(errors.New("broken pipe"))
	stopping := h.start(h.request())
	close(stopping.stop)
	if e, left, _ := h.failed(stopping); e.Type != api.ErrWorkerLost || !left.Creating {
		t.Errorf("%+v, left %+v", e, left)
	}
}

// No call starts before the server knows that the instance was created. A worker that stops before
// that leaves what the run knew.
func TestHostInstance_TellsWhatItCreates(t *testing.T) {
	making, finish := make(chan struct{}, 2), make(chan struct{})
	slow := func(h *hosts) tool.Stateful {
		return tool.NewStateful("counter", func(context.Context,
			tool.StartInfo) (*loud, error) {
			making <- struct{}{}
			<-finish
			return &loud{hosts: h}, nil
		}, tool.NewMethod("add", (*loud).Add))
	}
	h := newHosts(t, nil, slow)
	running := h.start(h.request())
	expect.Receive(t, "the factory", making)
	if !h.server.Last().Creating {
		t.Error("the server does not know that the instance is being created")
	}
	h.server.Say(errors.New("broken pipe"))
	beats := h.server.Watch()
	close(finish)
	expect.Receive(t, "a heartbeat", beats)
	select {
	case <-h.served:
		t.Error("served before the server knows of the instance")
	default:
	}
	h.server.Say(nil)
	expect.Receive(t, "the instance", h.served)
	if h.server.Last().Creating {
		t.Error("the server does not know that the instance was created")
	}
	h.server.Say(temporal.NewCanceledError())
	if err := expect.Receive(t, "the end", running.done); err != nil {
		t.Error(err)
	}

	finish = make(chan struct{})
	h.server.Say(nil)
	request := h.request()
	request.Last = api.InstanceProgress{Generation: 3, Used: true, State: []byte("state")}
	stopping := h.start(request)
	expect.Receive(t, "the factory", making)
	close(stopping.stop)
	close(finish)
	_, left, _ := h.failed(stopping)
	if want := (api.InstanceProgress{Generation: 4, Used: true, State: []byte("state"),
		Creating: true}); !reflect.DeepEqual(left, want) {
		t.Errorf("left %+v, want %+v", left, want)
	}
}

// The first heartbeat reports that the run has ended.
func TestHostInstance_CreatesNothingWithoutLease(t *testing.T) {
	h := newHosts(t, nil, plain)
	h.server.Say(temporal.NewCanceledError())
	if err := expect.Receive(t, "the end", h.start(h.request()).done); err != nil {
		t.Error(err)
	}
	h.server.Say(nil)
	r := h.request()
	r.Adopt = true
	if e, _, _ := h.failed(h.start(r)); e.Message != "the worker gave up the instance of counter: the instance that was to be adopted is not here" {
		t.Errorf("%+v", e)
	}
	if h.actions() != "" {
		t.Errorf("it did %s", h.actions())
	}
}
