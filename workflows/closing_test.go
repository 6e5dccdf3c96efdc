package workflows_test

import (
	"context"
	"strings"
	"testing"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/instancerules"
	"github.com/switchyard/switchyard/toolspecs"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"
)

// closers is workers whose instances are closed on demand.
func closers(t *testing.T, change func(*toolspecs.Spec), hosts ...hostInstance) *workers {
	t.Helper()
	tool := statefulTool(func(s *toolspecs.Spec) {
		closing(s)
		if change != nil {
			change(s)
		}
	})
	w := newWorkers(t, []toolspecs.Spec{tool}, hosts...)
	w.RegisterActivityWithOptions(func(_ context.Context, r instancerules.CloseRequest) error {
		if r.OnDemand {
			w.say("told to close")
		}
		return nil
	}, activity.RegisterOptions{Name: api.CloseInstanceActivity})
	return w
}

// The instance is closed after each call, whatever its host reports, and the next one is fresh.
func TestClosingCall_IsTheLastOfItsInstance(t *testing.T) {
	used := api.InstanceProgress{Generation: 3, Used: true, State: []byte("state")}
	lost := api.Error{Type: api.ErrWorkerLost, Message: "the server exited"}
	for name, h := range map[string]hostInstance{
		"closed":   {serves: true, until: "told to close", left: used},
		"idle":     {serves: true, until: "1.1 executed", left: used},
		"gave up":  {serves: true, until: "1.1 executed", err: hostError(lost, used)},
		"silent":   {serves: true, until: "told to close", err: temporal.NewHeartbeatTimeoutError(used)},
		"recreate": {serves: true, until: "told to close", left: used},
	} {
		t.Run(name, func(t *testing.T) {
			change := recreated
			if name != "recreate" {
				change = nil
			}
			w := closers(t, change, h)
			w.runAgent("counter", step(call("counter", `{}`), call("counter", `{}`)),
				answer("done"))
			if r := w.result(); r.Usage.Failed != 0 {
				t.Errorf("results %q", w.callResults())
			}
			if len(w.asked) < 2 {
				t.Fatalf("events %q", w.events())
			}
			want := api.InstanceProgress{Generation: 3, Closed: true}
			if r := w.asked[1]; r.Last.Generation != want.Generation || !r.Last.Closed ||
				r.Last.Used || r.Last.State != nil || r.Last.Ended != "" || r.Lost || r.Adopt {
				t.Errorf("asked with %+v, want %+v", r, want)
			}
		})
	}
}

// A failed call leaves the instance as it is.
func TestClosingCall_ThatFailsClosesNothing(t *testing.T) {
	w := closers(t, nil, hostInstance{until: "1.1 waits", err: hostError(api.Error{
		Type: api.ErrExecution, Message: "no disk"}, api.InstanceProgress{})})
	w.runAgent("counter", step(call("counter", `{}`)), answer("done"))
	w.result()
	if got := strings.Join(w.events(), "; "); strings.Contains(got, "told to close") {
		t.Errorf("events %s", got)
	}
}

func open(s *toolspecs.Spec) {
	toolspecs.EditEntry(s, func(e *toolspecs.StatefulEntry) { e.Closes = false })
}

func closing(s *toolspecs.Spec) {
	toolspecs.EditEntry(s, func(e *toolspecs.StatefulEntry) { e.Closes = true })
}

func closeRequest(instance string) api.CloseInstance {
	return api.CloseInstance{Instance: instance, By: "ada", Reason: "it hangs"}
}

// A run without instances, or that is ending, closes none.
func TestCloseInstance_IsRefusedWithoutOne(t *testing.T) {
	w := closers(t, nil)
	w.calls = func(context.Context) {
		if got := w.update(api.CloseInstanceUpdate, "c",
			closeRequest("counter")).refusal(t); got != api.NoInstance {
			t.Errorf("refused with %q", got)
		}
	}
	w.runAgent("counter", step(call("echo", `{"value":1}`)), answer("done"))
	w.result()
}

// The call that runs at the time of the request ends before the instance is closed, and the call
// after it waits for the next instance.
func TestClosingInstance_HoldsLaterCalls(t *testing.T) {
	w := closers(t, open, hostInstance{serves: true, until: "told to close",
		left: api.InstanceProgress{Generation: 1, Used: true}})
	stopped := false
	w.calls = func(ctx context.Context) {
		if !stopped {
			stopped = true
			w.serve(false)
			return
		}
		if err := w.await(ctx, "3.2 waits"); err != nil {
			t.Error(err)
		}
		if got := w.update(api.CloseInstanceUpdate, "c",
			closeRequest("counter")).refusal(t); got != "" {
			t.Errorf("refused with %q", got)
		}
		w.serve(true)
	}
	w.runAgent("counter", step(call("counter", `{}`)), step(call("echo", `{"value":1}`)),
		step(call("echo", `{"value":1}`), call("counter", `{}`), call("counter", `{}`)),
		answer("done"))
	w.result()
	expect(t, "events", w.events(), []string{"host_instance/counter asked", "1.1 executed",
		"3.2 executed", "told to close", "host_instance/counter ended",
		"host_instance/counter/2 asked", "3.3 executed", "host_instance/counter/2 cancelled"})
}

// A run that continues as new passes the request on.
func TestClosingInstance_SurvivesContinueAsNew(t *testing.T) {
	tools := []toolspecs.Spec{statefulTool(closing)}
	in, earlier := newWorkers(t, tools, hostInstance{serves: true, until: "never"}).copyOver(
		step(call("counter", `{}`)), step(call("counter", `{}`)), answer("done"))
	c := in.State.Instances
	if len(c) != 1 || !c[0].Hosted || c[0].Closing == nil {
		t.Fatalf("carried %+v", c)
	}
	w := closers(t, nil, hostInstance{until: "told to close",
		left: api.InstanceProgress{Generation: 1, Used: true}})
	w.ExecuteWorkflow(api.AgentWorkflow, in, earlier)
	if r := w.result(); r.Usage.Failed != 0 || len(w.asked) < 2 || !w.asked[0].Adopt ||
		w.asked[1].Adopt || !w.asked[1].Last.Closed || w.asked[1].Last.Generation != 1 {
		t.Errorf("result %+v, asked %+v", r, w.asked)
	}
}
