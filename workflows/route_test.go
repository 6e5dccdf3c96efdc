package workflows_test

import (
	"slices"
	"testing"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/toolspecs"
	"github.com/switchyard/switchyard/toolspecs/lanes"
)

// device is a tool on a lane with a queue for each device.
func device(name string, access api.Access) toolspecs.Spec {
	return toolspecs.Spec{Name: name, Version: "1.0.0", Description: "Presses a key.",
		Parameters: []toolspecs.Parameter{{Name: "value", Type: "string"},
			{Name: "device", Type: "string"}},
		Entry: toolspecs.Entry{Type: toolspecs.KindFunction, Handler: "echo"},
		Execution: toolspecs.ExecutionSpec{Effect: api.EffectOnce, Lane: "android",
			Access: access}}
}

func android(idle time.Duration) *lanes.Set {
	return lanes.Of(api.Lane{Name: "android", Key: "{{args.device}}",
		IdleTimeout: api.Duration(idle)})
}

// A call on a keyed lane that starts long after its admission has its key opened again before it is
// scheduled. A call that starts at once has no additional step.
func TestKeys_OfLateCallsAreOpenedAgain(t *testing.T) {
	for name, test := range map[string]struct {
		idle   time.Duration
		opened []string
	}{
		"soon enough": {time.Hour, []string{"android/a", "android/b"}},
		// The workflow's clock advances by the ten minutes between the attempts of the tool flaky.
		// The process's memory of keys uses the real clock, for which a third of a microsecond is
		// over at once.
		"too late": {time.Microsecond, []string{"android/a", "android/b", "android/b"}},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLabOf(t, 1, device("press", api.AccessShared))
			l.lanes = android(test.idle)
			l.runPlan(`calls: [{id: first, tool: flaky}, {id: a, tool: press, arguments: {device: a}}, {id: b, tool: press, arguments: {device: b}, depends_on: [first]}]`)
			l.result()
			expect(t, "opened", l.sortedOpened(), test.opened)
			expect(t, "executed", slices.Sorted(slices.Values(l.executed)),
				[]string{"a press", "b press", "first flaky", "first flaky"})
		})
	}
}

func (l *lab) sortedOpened() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Sorted(slices.Values(l.opened))
}

// A run whose key cannot be opened for a while does not fail.
func TestAdmission_WaitsForTheServer(t *testing.T) {
	l := newLabOf(t, 1, device("press", api.AccessShared))
	l.lanes, l.unopened = android(time.Hour), 10
	l.runPlan(`calls: [{id: a, tool: press, arguments: {device: a}}]`)
	l.result()
	expect(t, "opened", l.sortedOpened(), []string{"android/a"})
}

// A call that may wait with its lane's holder knows the limit of the wait. Inputs of other calls do
// not grow.
func TestExecution_HasTheWaitOfItsRoute(t *testing.T) {
	l := newLabOf(t, 1, prioritizedTool("printer", ""))
	l.lanes = lanes.Of(api.Lane{Name: "printer", Limit: 1, Strategy: api.StrategyReject,
		QueueTimeout: api.Duration(time.Minute)},
		api.Lane{Name: "serial", Limit: 1, QueueTimeout: api.Duration(time.Minute)})
	l.runAgent(withTools(agent(step(call("printer", `{"value":"x"}`),
		call("store", `{"text":"x"}`)), answer("done")), "printer", "store"), "Go.")
	l.result()
	for _, s := range l.scheduled {
		if want := map[string]api.Duration{"printer": api.Duration(
			time.Minute)}[s.tool]; s.call.QueueTimeout != want {
			t.Errorf("%s: the execution's queue timeout is %s, want %s", s.tool,
				s.call.QueueTimeout, want)
		}
	}
}

func withTools(a *api.Agent, tools ...string) *api.Agent {
	a.Tools = tools
	return a
}
