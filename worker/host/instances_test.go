package host

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.temporal.io/sdk/client"

	"github.com/switchyard/switchyard/activities/instances"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/tool"
	"github.com/switchyard/switchyard/toolspecs"
)

type probeInstance struct{}

func (*probeInstance) Probe(context.Context, probeInput) (string, error) { return "", nil }

func probeFactory(name string) tool.Stateful {
	return tool.NewStateful(name, func(context.Context, tool.StartInfo) (*probeInstance,
		error) {
		return &probeInstance{}, nil
	}, tool.NewMethod("probe", (*probeInstance).Probe))
}

func statefulSpec(parameter, handler string) toolspecs.Spec {
	s := probeSpec(parameter, handler)
	s.Entry.Kind = toolspecs.StatefulEntry{Handler: handler}
	return s
}

func TestCatalog_RejectsToolsThatDoNotMatchTheirFactory(t *testing.T) {
	const noType = `tool probe: no stateful type "probe" is registered; register one with tool.NewStateful; registered: none`
	for name, c := range map[string]struct {
		c    Config
		want string
	}{
		"no factory": {Config{Specs: []toolspecs.Spec{statefulSpec("path", "")}},
			noType},
		"a function": {Config{Specs: []toolspecs.Spec{statefulSpec("path", "")},
			Functions: []tool.Function{tool.NewFunction("probe", probe)}}, noType},
		"another parameter": {Config{Specs: []toolspecs.Spec{statefulSpec("file", "")},
			Stateful: []tool.Stateful{probeFactory("probe")}}, "tool probe: parameter \"file\" is declared as string, but function \"probe.probe\" takes no argument of that name; it takes path\ntool probe: function \"probe.probe\" takes \"path\" (string), but no parameter of that name is declared; declare it, or make the field a pointer or omitzero"},
		"of one name": {Config{Stateful: []tool.Stateful{probeFactory("probe"),
			probeFactory("probe")}}, `stateful type "probe": another stateful type has this name too`},
		"too few": {Config{Instances: -1}, "Config.Instances is -1; it must be at least 1"},
	} {
		if err := Run(t.Context(), c.c); err == nil || err.Error() != c.want ||
			exitCode(err) != exitUsage {
			t.Errorf("%s: got %v", name, err)
		}
	}
	fits := Config{Specs: []toolspecs.Spec{statefulSpec("path", "prober")},
		Stateful: []tool.Stateful{probeFactory("prober")}, Logger: slog.New(
			slog.DiscardHandler)}
	own, tools, err := fits.withDefaults().prepare()
	if err != nil {
		t.Fatal(err)
	}
	defer tools.Close()
	if all := own.factories.Methods(); fmt.Sprint(all) != "map[prober:[probe]]" {
		t.Errorf("registered %v", all)
	}
}

func TestFleet_HostsInstancesOnAQueuePerLane(t *testing.T) {
	quietEnvironment(t)
	conn, err := client.NewLazyClient(client.Options{HostPort: closedPort(t),
		Logger:            slog.New(slog.DiscardHandler),
		ConnectionOptions: client.ConnectionOptions{GetSystemInfoTimeout: 100 * time.Millisecond}})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	for _, stateful := range [][]tool.Stateful{nil, {probeFactory("probe")}} {
		c := Config{Stateful: stateful, Lanes: []string{"general", "serial"},
			Logger: slog.New(slog.DiscardHandler)}.withDefaults()
		own, tools, err := c.prepare()
		if err != nil {
			t.Fatal(err)
		}
		defer tools.Close()
		queues := &queueServer{config: c, conn: conn, canceller: newCanceller(time.Second),
			observer: newObserver(prometheus.NewRegistry(), c.Logger)}
		actions, err := c.activities(tools, own, queues, nil)
		if err != nil {
			t.Fatal(err)
		}
		for lane, want := range map[string]int{"general": 1, "serial": 1 +
			len(stateful), "gpu": 1 + len(stateful)} {
			lane, _ := own.lanes.current().Plain(lane).Lane(lane)
			fleet := newFleet(c, actions, queues).lanes
			duties := fleet.duties(lane, nil)
			for _, d := range duties {
				if w, err := fleet.newWorker(lane, d); err != nil || w.duty != d {
					t.Errorf("a worker of the lane %s for %+v: %+v, error %v", lane.Name, d, w, err)
				}
			}
			if len(duties) != want {
				t.Errorf("%d workers of the lane %s, want %d", len(duties), lane.Name, want)
			}
		}
		if _, err := queues.instance(instances.Served{Queue: "q/instance/run/probe",
			Tool: actions.Tool, HostInstance: actions.Instances.HostInstance}); err == nil ||
			!contains(err.Error(), "start to poll") {
			t.Errorf("got %v", err)
		}
	}
}

func TestDuties_ChangeOnlyWithTheRulesThatConcernThem(t *testing.T) {
	f := &laneFleet{queueServer: &queueServer{config: Config{TaskQueue: "q",
		Stateful: []tool.Stateful{probeFactory("probe")}}}}
	slots, calls, bypass, instances := duty{kind: dutySlots}, duty{kind: dutyCalls, queue: "q/gpu"},
		duty{kind: dutyBypass, queue: "q/bypass/gpu"}, duty{kind: dutyInstances}
	fast := calls
	fast.rate = 5
	bypassed := []*laneWorker{{duty: bypass}}
	for name, test := range map[string]struct {
		lane   api.Lane
		before []*laneWorker
		want   []duty
	}{
		"plain":  {api.Lane{}, nil, []duty{calls, instances}},
		"rate":   {api.Lane{Rate: 5}, nil, []duty{fast, instances}},
		"limit":  {api.Lane{Limit: 1}, nil, []duty{slots, instances}},
		"higher": {api.Lane{Limit: 2, Rate: 5}, nil, []duty{slots, instances}},
		"queue": {api.Lane{Limit: 1, Queue: "own"}, nil,
			[]duty{{kind: dutySlots, queue: "own"}, instances}},
		"bypass": {api.Lane{Limit: 1, Bypass: []api.CallerType{"plan"}}, nil,
			[]duty{slots, bypass, instances}},
		"no more bypass":    {api.Lane{Limit: 1}, bypassed, []duty{slots, bypass, instances}},
		"bypassed no limit": {api.Lane{}, bypassed, []duty{calls, bypass, instances}},
	} {
		test.lane.Name = "gpu"
		if got := f.duties(test.lane, test.before); !slices.Equal(got, test.want) {
			t.Errorf("%s: %+v, want %+v", name, got, test.want)
		}
	}
}
