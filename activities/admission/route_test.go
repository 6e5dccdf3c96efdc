package admission

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/lanerules"
	"github.com/switchyard/switchyard/toolspecs"
	"github.com/switchyard/switchyard/toolspecs/lanes"
)

// laneBench returns a process with lanes of every kind and a tool for each, which has its lane's
// name.
func laneBench(t testing.TB) (*bench, api.AdmissionRequest) {
	t.Helper()
	space := 3
	configured := []api.Lane{
		{Name: "android", Key: "{{args.device}}"},
		{Name: "phones", Key: "{{args.device}}", Queue: "company/phones", Limit: 2,
			QueueTimeout: api.Duration(time.Second)},
		{Name: "http", Limit: 5, Rate: 10},
		{Name: "far", Queue: "company/far"},
		{Name: "printer", Limit: 1, QueueSize: &space, QueueTimeout: api.Duration(time.Minute),
			Bypass: []api.CallerType{api.CallerPlan}},
		{Name: "door", Limit: 1, Strategy: api.StrategyReject},
		{Name: "mail", Limit: 1, Strategy: api.StrategyFIFO, Fairness: api.FairnessCaller},
		{Name: "desk", Limit: 1, Fairness: api.FairnessCaller},
	}
	var specs []toolspecs.Spec
	for _, name := range []string{"general", "serial", "inline", "unheard_of", "android", "phones",
		"http", "far", "printer", "door", "mail", "desk"} {
		specs = append(specs, spec(name, func(s *toolspecs.Spec) {
			s.Execution.Lane = name
			s.Parameters = []toolspecs.Parameter{{Name: "device", Type: "string"}}
		}))
	}
	catalog := catalogOf(t, specs...)
	b := setUp(t, catalog, func(c *Config) {
		set := lanes.NewSet(configured...)
		c.Lanes = func() *lanes.Set { return set }
	})
	return b, api.AdmissionRequest{Base: "base", Tools: toolsOf(catalog),
		Caller: api.Caller{Type: api.CallerAgent}}
}

// keyQueue returns the task queue of the key pixel-7 on a lane.
func keyQueue(lane string) string {
	return lanerules.TaskQueue(api.Lane{Queue: lane, Key: "{{args.device}}"}, "", "pixel-7")
}

// A lane with default rules adds nothing, so that decisions stay short. A bypassing caller only
// gets another queue.
func TestRoute_HasTheRulesOfTheLane(t *testing.T) {
	b, r := laneBench(t)
	const lease = api.DefaultLease
	for _, test := range []struct {
		tool   string
		caller api.CallerType
		want   api.Route
	}{
		{"general", api.CallerAgent, api.Route{}},
		{"serial", api.CallerAgent, api.Route{Lease: lease}},
		{"inline", api.CallerAgent, api.Route{}},
		{"unheard_of", api.CallerAgent, api.Route{}},
		{"http", api.CallerAgent, api.Route{Lease: lease}},
		{"far", api.CallerAgent, api.Route{Queue: "company/far"}},
		{"printer", api.CallerAgent, api.Route{QueueTimeout: api.Duration(time.Minute),
			Holds: true, Lease: lease}},
		{"printer", api.CallerPlan, api.Route{Queue: "base/bypass/printer"}},
		{"door", api.CallerAgent, api.Route{Holds: true, Lease: lease}},
		{"mail", api.CallerAgent, api.Route{FIFO: true, Lease: lease}},
		{"desk", api.CallerAgent, api.Route{Fairness: api.FairnessCaller, Lease: lease}},
		{"android", api.CallerAgent, api.Route{Queue: keyQueue("base/android"),
			Key: "pixel-7", Holds: true, Lease: lease}},
		{"phones", api.CallerAgent, api.Route{Queue: keyQueue("company/phones"),
			Key: "pixel-7", Holds: true, QueueTimeout: api.Duration(time.Second), Lease: lease}},
	} {
		r.Caller.Type = test.caller
		r.Calls = []api.Call{{ID: "1.1", Tool: test.tool, Arguments: `{"device":"pixel-7"}`}}
		v := b.admit(t, r)[0]
		if v.Error != nil || v.Route != test.want {
			t.Errorf("%s called by %s: %v, the route is %+v\nwant %+v", test.tool, test.caller,
				v.Error, v.Route, test.want)
		}
		if data, err := json.Marshal(v); err != nil || strings.Contains(string(data),
			"route") != (test.want != api.Route{}) {
			t.Errorf("%s: the decision is %s, %v", test.tool, data, err)
		}
	}
}

// A request without the queue of its workflow gets no route.
func TestRoute_NeedsTheQueueOfTheWorkflow(t *testing.T) {
	b, r := laneBench(t)
	r.Base = ""
	r.Calls = []api.Call{{ID: "1.1", Tool: "android", Arguments: `{"device":"pixel-7"}`}}
	if v := b.admit(t, r)[0]; v.Error != nil || v.Route != (api.Route{}) {
		t.Errorf("the decision is %+v", v)
	}
}

// A call on a keyed lane without its key is refused as invalid.
func TestRoute_NeedsTheKeyOfTheCall(t *testing.T) {
	b, r := laneBench(t)
	r.Calls = []api.Call{{ID: "1.1", Tool: "android", Arguments: `{}`}}
	v := b.admit(t, r)[0]
	if v.Error == nil || v.Error.Type != api.ErrValidation || v.Error.Error() != "validation_error: the lane android needs the argument device\n  $.device: the lane android has a queue for each {{args.device}}, so the call must say which" || v.Route != (api.Route{}) {
		t.Errorf("the decision is %+v", v)
	}
}

// A call that the run's budget refuses has no route.
func TestRoute_IsNotComputedBeyondTheBudget(t *testing.T) {
	b, r := laneBench(t)
	allow := 1
	r.Allow = &allow
	for _, device := range []string{"a", "b"} {
		r.Calls = append(r.Calls, api.Call{ID: device, Tool: "android", Arguments: `{"device":"` +
			device + `"}`})
	}
	decisions := b.admit(t, r)
	if decisions[0].Route.Key != "a" || decisions[1].Error == nil ||
		decisions[1].Route != (api.Route{}) {
		t.Errorf("the decisions are %+v", decisions)
	}
}
