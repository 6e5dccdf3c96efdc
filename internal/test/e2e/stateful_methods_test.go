package e2e

import (
	"fmt"
	"strings"
	"testing"

	"github.com/switchyard/switchyard/internal/value/jsonvalue"
	"go.temporal.io/sdk/client"
)

// Tools that name one instance reach the same state, on whichever of two workers it is. Another
// instance of the type, and that of another run, has its own. Each is closed with its run.
func TestInstances_AreSharedByToolsThatNameThem(t *testing.T) {
	l := newLab(t)
	l.worker()
	l.worker()
	a := counting("instance:shared instance:brittle",
		step(call("shared_add", `{"by":1}`), call("shared_add", `{"by":10}`),
			call("brittle_add", `{"by":5}`)),
		step(add("a", "shared_value", `{}`), add("b", "brittle_value", `{}`),
			add("c", "shared_add", `{"by":100}`), add("d", "shared_value", `{}`)),
		answer("${a} ${b} ${c} ${d}"))
	for _, run := range []client.WorkflowRun{l.runAgent("one", a), l.runAgent("two", a)} {
		if r := l.result(run); r.Answer != "11 5 111 111" || r.Usage.Failed != 0 {
			t.Errorf("run %s: %+v", run.GetID(), r)
		}
		for _, instance := range []string{"shared", "brittle"} {
			expect(t, instance+" of run "+run.GetID(), l.texts(run.GetRunID(), instance),
				[]string{wroteMade, wroteClosed})
		}
	}
}

// After kill -9 of its worker, an instance is rebuilt for all tools that share it, with the state
// after the last completed call of any of them. With on_loss: fail, all of them are lost.
func TestSharedInstance_LossAppliesToAllItsTools(t *testing.T) {
	for instance, want := range map[string]string{"shared": "completed 11, completed 111",
		"brittle": "worker_lost, worker_lost"} {
		t.Run(instance, func(t *testing.T) {
			l := newLab(t)
			first, second := l.worker(), l.worker()
			adds, values := instance+"_add", instance+"_value"
			run := l.runAgent("run", counting("hold_read instance:"+instance,
				step(call(adds, `{"by":1}`)), step(call(adds, `{"by":10}`), call(values, `{}`)),
				step(call("hold_read", `{}`)),
				step(call(values, `{}`)), step(call(adds, `{"by":100}`)), answer("done")))
			id := run.GetRunID()
			l.await("for the call in between",
				func() bool { return len(l.written(id, "hold_read")) == 1 })
			l.killHost(id, instance, first, second)
			l.openGate()
			l.result(run)
			var outcomes []string
			for _, r := range l.records(run) {
				if !strings.HasPrefix(r.CallID, "4.") && !strings.HasPrefix(r.CallID, "5.") {
					continue
				}
				if r.Error != nil {
					outcomes = append(outcomes, string(r.Error.Type))
					if text := r.Error.Message; text != fmt.Sprintf("the state of brittle in this run was lost (on_loss: fail): its worker was lost or could not reach Temporal; do not call %s, or other tools of brittle, again in this run", r.Tool) {
						t.Errorf("call %s: %s", r.CallID, text)
					}
					continue
				}
				outcomes = append(outcomes, "completed "+jsonvalue.Plain(r.Result.Output))
			}
			if got := strings.Join(outcomes, ", "); got != want {
				t.Errorf("got %s, want %s", got, want)
			}
		})
	}
}
