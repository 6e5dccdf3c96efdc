package workflows_test

import (
	"strings"
	"testing"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/lanerules"
	"github.com/switchyard/switchyard/toolspecs"
	"github.com/switchyard/switchyard/toolspecs/lanes"
)

// device is a tool on a lane with a queue for each device.
func device(name string, access api.Access) toolspecs.Spec {
	return toolspecs.Spec{Name: name, Version: "1.0.0", Description: "Presses a key.",
		Parameters: []toolspecs.Parameter{{Name: "value", Type: "string"},
			{Name: "device", Type: "string"}},
		Entry: toolspecs.Entry{Kind: toolspecs.FunctionEntry{Handler: "echo"}},
		Execution: toolspecs.ExecutionSpec{Effect: api.EffectOnce, Lane: "android",
			Access: access}}
}

// TestKeyedCalls_GiveTheWorkerTheirKey proves that the worker gets the key of a call and its
// fairness key among the calls with that key.
func TestKeyedCalls_GiveTheWorkerTheirKey(t *testing.T) {
	l := newLabOf(t, 1, device("press", api.AccessShared))
	l.lanes = lanes.NewSet(api.Lane{Name: "android", Key: "{{args.device}}",
		Fairness: api.FairnessCaller})
	l.runPlan(`calls: [{id: a, tool: press, arguments: {device: pixel 7}}, {id: first, tool: flaky}]`)
	l.result()
	part := lanerules.KeyPart("pixel 7")
	for _, s := range l.scheduled {
		switch {
		case s.tool == "flaky" && (s.call.Key != "" || s.call.Fairness != ""):
			t.Errorf("a call without a key has %q and %q", s.call.Key, s.call.Fairness)
		case s.tool == "press" && (s.call.Key != part ||
			!strings.HasPrefix(s.call.Fairness, string(api.CallerPlan)+"/")):
			t.Errorf("a call with a key has %q and %q", s.call.Key, s.call.Fairness)
		}
	}
}

// A call that may wait with its lane's holder knows the limit of the wait. Inputs of other calls do
// not grow.
func TestExecution_HasTheWaitOfItsRoute(t *testing.T) {
	l := newLabOf(t, 1, prioritizedTool("printer", ""))
	l.lanes = lanes.NewSet(api.Lane{Name: "printer", Limit: 1, Strategy: api.StrategyReject,
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
