package instances

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/switchyard/switchyard/activities/lease"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/instancerules"
	"github.com/switchyard/switchyard/internal/test/activitytest"
	"github.com/switchyard/switchyard/internal/test/expect"
	"github.com/switchyard/switchyard/tool"
	"github.com/switchyard/switchyard/toolspecs"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// The cancellation arrives by the context or by a heartbeat.
func TestHostInstance_ServesCallsUntilTheRunCancels(t *testing.T) {
	for name, end := range map[string]func(*hosts, *hosted){
		"pushed": func(h *hosts, running *hosted) {
			h.server.Describe(runID, executionIn(enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING))
			running.end(temporal.NewCanceledError())
		},
		"by heartbeat": func(h *hosts, _ *hosted) { h.server.Say(temporal.NewCanceledError()) },
	} {
		t.Run(name, func(t *testing.T) {
			h := newHosts(t, nil, plain)
			running := h.start(h.request())
			s := expect.Receive(t, "the instance", h.served)
			if s.Queue != "q/instance/run-1/counter" || s.Lane != "general" ||
				h.Live()["counter"] != 1 {
				t.Errorf("served %+v, live %v", s, h.Live())
			}
			for want := range 3 {
				if r := h.add(s, 1); string(r.Output) != fmt.Sprint(want+1) || len(r.Notes) > 0 {
					t.Errorf("got %+v, want %d", r, want+1)
				}
			}
			end(h, running)
			if err := expect.Receive(t, "the end", running.done); err != nil ||
				running.left.State != nil {
				t.Errorf("%v, left %+v", err, running.left)
			}
			if got, want := h.actions(), "make1 serve add1/1 add1/1 add1/1 stop close"; got != want {
				t.Errorf("got %s, want %s", got, want)
			}
			if live := h.Live()["counter"]; live != 0 {
				t.Errorf("%d instances live", live)
			}
		})
	}
}

// TestHostInstance_EndsThoughItsWorkerDoesNotStop proves that a run does not wait for the last poll
// of the worker that served its instance.
func TestHostInstance_EndsThoughItsWorkerDoesNotStop(t *testing.T) {
	h := newHosts(t, nil, plain)
	polling := make(chan struct{})
	defer close(polling)
	serve := h.config.Serve
	h.config.Serve = func(s Served) (func(), error) {
		stop, err := serve(s)
		return func() {
			stop()
			<-polling
		}, err
	}
	running := h.start(h.request())
	expect.Receive(t, "the instance", h.served)
	began := time.Now()
	h.server.Say(temporal.NewCanceledError())
	if err := expect.Receive(t, "the end", running.done); err != nil {
		t.Error(err)
	}
	if took := time.Since(began); took > closeWithin/2 {
		t.Errorf("the end was reported after %s", took)
	}
	if got, want := h.actions(), "make1 serve stop close"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// The snapshot is dropped: the run asked for the end of the state.
func TestHostInstance_IsClosedOnDemand(t *testing.T) {
	h := newHosts(t, recreate, snapshotBy(nil))
	running := h.start(h.request())
	s := expect.Receive(t, "the instance", h.served)
	h.add(s, 1)
	err := s.Close(t.Context(), instancerules.CloseRequest{OnDemand: true, Why: "closed by ada"})
	if err != nil {
		t.Fatal(err)
	}
	want := api.InstanceProgress{Generation: 1, Used: true, Ended: "closed by ada", Closed: true}
	if err := expect.Receive(t, "the end", running.done); err != nil ||
		!reflect.DeepEqual(running.left, want) {
		t.Errorf("%v, left %+v, want %+v", err, running.left, want)
	}
	if got := h.actions(); got != "make1 serve add1/1 snapshot stop close" {
		t.Errorf("got %s", got)
	}
}

// The instance is closed before the server can start another one. The running call is retried if
// its effect allows it.
func TestHostInstance_StopsCallsWhenLeaseIsLost(t *testing.T) {
	const unreached = "no connection to Temporal for 800ms: "
	for name, c := range map[string]struct {
		effect api.Effect
		cut    func(*hosts)
		want   api.ErrorType
		why    string
	}{
		"cut off, idempotent": {api.EffectIdempotent,
			func(h *hosts) { h.server.Say(errors.New("broken pipe")) }, api.ErrWorkerLost, unreached},
		"cut off, once": {api.EffectOnce,
			func(h *hosts) { h.server.Say(errors.New("broken pipe")) }, api.ErrOutcomeUnknown, unreached},
		"replaced": {api.EffectOnce, func(h *hosts) {
			h.server.Describe(runID, executionIn(enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING))
			h.server.Say(serviceerror.NewNotFound("no such activity"))
		}, api.ErrOutcomeUnknown, ""},
	} {
		t.Run(name, func(t *testing.T) {
			calling := make(chan struct{})
			h := newHosts(t, func(s *toolspecs.Spec) { s.Execution.Effect = c.effect },
				func(h *hosts) tool.Stateful {
					return tool.NewStateful("counter",
						func(context.Context, tool.StartInfo) (*loud, error) {
							return &loud{hosts: h, call: func(ctx context.Context) error {
								close(calling)
								<-ctx.Done()
								return context.Cause(ctx)
							}}, nil
						}, tool.NewMethod("add", (*loud).Add))
				})
			running := h.start(h.request())
			s := expect.Receive(t, "the instance", h.served)
			called := make(chan error, 1)
			go func() {
				_, err := h.call(s, 1)
				called <- err
			}()
			expect.Receive(t, "the call", calling)
			c.cut(h)
			e, _ := activitytest.CallError(t, expect.Receive(t, "the call's end", called))
			if e.Type != c.want || e.Retryable != (c.effect != api.EffectOnce) ||
				e.Message != "the call was interrupted while the tool ran: "+c.why+lease.ErrOver.Error() {
				t.Errorf("the call ended with %+v", e)
			}
			err := expect.Receive(t, "the end", running.done)
			if app, failed := errors.AsType[*temporal.ApplicationError](err); name == "replaced" &&
				!errors.Is(err, activity.ErrResultPending) ||
				name != "replaced" && (!failed || app.Type() != string(api.ErrWorkerLost) ||
					app.NonRetryable()) {
				t.Errorf("the host ended with %v", err)
			}
			if got := h.actions(); got != "serve add1/1 stop close" {
				t.Errorf("got %s", got)
			}
			if _, err := h.call(s, 1); err == nil {
				t.Error("a call was executed on an instance that was given up")
			} else if e, _ := activitytest.CallError(t, err); e.Type != api.ErrWorkerLost ||
				!e.NotStarted || e.Message != "the instance of counter was lost before the call started; nothing ran" {
				t.Errorf("a call after the loss ended with %+v", e)
			}
		})
	}
}

// Running calls may finish. An instance whose queue cannot be served is released, too.
func TestHostInstance_ReleasesWhenWorkerStops(t *testing.T) {
	h := newHosts(t, recreate, snapshotBy(nil))
	running := h.start(h.request())
	h.add(expect.Receive(t, "the instance", h.served), 5)
	close(running.stop)
	if e, left, again := h.failed(running); e.Type != api.ErrWorkerLost || !again ||
		left.State != nil || left.Generation != 1 || e.Message != "the worker gave up the instance of counter: its worker stops" {
		t.Errorf("%+v, left %+v, again %v", e, left, again)
	}
	if got := h.actions(); got != "make1 serve add5/1 snapshot stop close" {
		t.Errorf("got %s", got)
	}
	h = newHosts(t, nil, plain)
	running = h.start(h.request())
	expect.Receive(t, "the instance", h.served).Failed(errors.New("no permission"))
	if e, _, again := h.failed(running); !again || e.Message != "the worker gave up the instance of counter: it cannot serve the instance's queue: no permission" {
		t.Errorf("%+v, again %v", e, again)
	}
	h = newHosts(t, nil, plain)
	h.refuse = errors.New("no port")
	if e, _, again := h.failed(h.start(h.request())); !again || e.Message != "the worker gave up the instance of counter: it cannot serve the instance's queue: no port" || h.actions() != "make1 close" {
		t.Errorf("%+v, again %v, %s", e, again, h.actions())
	}
	h = newHosts(t, nil, plain)
	running = h.start(h.request())
	expect.Receive(t, "the instance", h.served)
	running.end(errors.New("worker shutdown"))
	if e, _, again := h.failed(running); !again || e.Message != "the worker gave up the instance of counter: it was stopped: worker shutdown" {
		t.Errorf("%+v, again %v", e, again)
	}
}

// adopt lets the activity of the next execution adopt the instance, as the worker of the instance's
// queue receives it.
func (h *hosts) adopt(s Served) error {
	h.t.Helper()
	env := (&testsuite.WorkflowTestSuite{}).NewTestActivityEnvironment()
	env.RegisterActivityWithOptions(s.HostInstance,
		activity.RegisterOptions{Name: api.HostInstanceActivity})
	_, err := env.ExecuteActivity(api.HostInstanceActivity, api.HostInstanceRequest{Adopt: true})
	return err
}

// The run ends while the instance waits for adoption.
func TestHostInstance_ClosesInstanceThatIsNotAdopted(t *testing.T) {
	h := newHosts(t, nil, plain)
	running := h.start(h.request())
	expect.Receive(t, "the instance", h.served)
	closed := executionIn(enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED)
	closed.WorkflowExecutionInfo.CloseTime = timestamppb.Now()
	h.server.Describe(runID, executionIn(enumspb.WORKFLOW_EXECUTION_STATUS_CONTINUED_AS_NEW))
	h.server.Describe("", closed)
	h.server.Say(serviceerror.NewNotFound("no such execution"))
	if err := expect.Receive(t, "the end", running.done); !errors.Is(err,
		activity.ErrResultPending) || h.actions() != "make1 serve stop close" {
		t.Errorf("%v, %s", err, h.actions())
	}
	if err := h.adopt(Served{HostInstance: (&hosting{request: h.request(),
		over: closedChannel()}).adopt}); err == nil {
		t.Error("an instance that is being closed was adopted")
	}
}

func closedChannel() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}

// An instance that loses its state ends like one whose worker is lost. The one after it says why.
func TestHostInstance_ReportsLostState(t *testing.T) {
	h := newHosts(t, recreate, plain)
	running := h.start(h.request())
	s := expect.Receive(t, "the instance", h.served)
	h.add(s, 1)
	h.starter.lost <- errors.New("the server exited")
	e, left, again := h.failed(running)
	if e.Type != api.ErrWorkerLost || !again || e.Message != "the server exited" || !left.Used {
		t.Errorf("%+v, left %+v, again %v", e, left, again)
	}
	last := h.server.Last()
	if last.Ended != "the server exited" {
		t.Errorf("the last heartbeat has %+v", last)
	}
	h.start(h.request(), last)
	result := h.add(expect.Receive(t, "the next instance", h.served), 1)
	want := "the server exited: this is a new instance of counter, without the state of the previous one"
	if len(result.Notes) != 1 || result.Notes[0] != want {
		t.Errorf("got %+v", result)
	}
}
