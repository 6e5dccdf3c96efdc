package folder

import (
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/toolspecs"
	"github.com/switchyard/switchyard/toolspecs/lanes"
)

// own is a tool of the program itself.
var own = toolspecs.Spec{Name: "own", Version: "1.0.0", Description: "A tool.", Category: "http",
	Entry: toolspecs.Entry{Kind: toolspecs.FunctionEntry{}}}

// laneSpec returns a toolspec file of a tool with a category, on a lane if one is given.
func laneSpec(tool, category, lane string) string {
	text := specOf(tool) + "category: " + category +
		"\nparameters: [{name: device, type: string}]\n"
	if lane != "" {
		text += "execution: {lane: " + lane + "}\n"
	}
	return text
}

// Tools move to the lane of their category. A tool whose lane is gone keeps its version and is
// reported, and it follows when the lane is back. Files that were edited in between use the new
// lanes too.
func TestSetLanes_TakesEffectAtOnce(t *testing.T) {
	base, err := toolspecs.NewCatalog([]toolspecs.Spec{own})
	if err != nil {
		t.Fatal(err)
	}
	gpu, net := api.Lane{Name: "gpu"}, api.Lane{Name: "net", Limit: 5, Categories: []string{"http",
		"file"}}
	l := newWatchLab(t, WatchConfig{Base: base,
		Options: toolspecs.Options{Lanes: lanes.NewSet(gpu)}},
		map[string]string{"a.yaml": laneSpec("a", "ai", "gpu"), "b.yaml": laneSpec("b", "http", ""),
			"c.yaml": laneSpec("c", "file", "")})
	all := func() string {
		var list []string
		for _, tool := range l.w.Catalog().All() {
			list = append(list, tool.Spec.Name+":"+tool.Spec.Execution.Lane)
		}
		return strings.Join(list, " ")
	}
	keyed := api.Lane{Name: "net", Key: "{{args.device}}", Categories: []string{"http"}}
	updated := func(tools ...string) []string {
		events := []string{"started"}
		for _, tool := range tools {
			events = append(events, "updated "+tool+" 1.0.0 to 1.0.0")
		}
		return append(events, "completed: 4 tools, 0 faulty")
	}
	noGPU := `error a.yaml: a.yaml:7:19: there is no lane "gpu" (known: general, inline, net, serial; name it in lanes.yaml, or serve it with worker --lanes gpu, or correct the name)`
	for _, s := range []struct {
		name   string
		change func()
		events []string
		tools  string
	}{
		{"the same lanes", func() { l.w.SetLanes(lanes.NewSet(gpu)) }, nil,
			"a:gpu b:general c:general own:general"},
		{"a lane of a category", func() { l.w.SetLanes(lanes.NewSet(gpu, net)) },
			updated("b", "c", "own"), "a:gpu b:net c:net own:net"},
		{"a lane has gone", func() { l.w.SetLanes(lanes.NewSet(net)) }, []string{"started", noGPU,
			"completed: 4 tools, 1 faulty"}, "a:gpu b:net c:net own:net"},
		{"another limit", func() { net.Limit = 6; l.w.SetLanes(lanes.NewSet(net)) },
			[]string{"started", "completed: 4 tools, 1 faulty"}, "a:gpu b:net c:net own:net"},
		{"a broken file", func() { l.write("b.yaml", "name: b\n"); l.reload() }, nil,
			"a:gpu b:net c:net own:net"},
		{"whose good version stays", func() { l.w.SetLanes(lanes.NewSet(gpu)) },
			[]string{"started", "updated b 1.0.0 to 1.0.0", "updated c 1.0.0 to 1.0.0",
				"updated own 1.0.0 to 1.0.0", "completed: 4 tools, 1 faulty"},
			"a:gpu b:general c:general own:general"},
		{"repaired", func() { l.write("b.yaml", laneSpec("b", "http", "")) },
			[]string{"started", "completed: 4 tools, 0 faulty"},
			"a:gpu b:general c:general own:general"},
		{"a key that the program's own tool cannot have",
			func() { l.w.SetLanes(lanes.NewSet(gpu, keyed)) },
			[]string{"started", `error toolspec "own": …`, "updated b 1.0.0 to 1.0.0",
				"completed: 4 tools, 1 faulty"}, "a:gpu b:net c:general own:general"},
		{"and none", func() { l.w.SetLanes(lanes.NewSet(gpu)) }, updated("b"),
			"a:gpu b:general c:general own:general"},
		{"a file that cannot be read", func() {
			l.remove("c.yaml")
			link(t, "nowhere",
				l.path("c.yaml"))
			l.reload()
		}, nil, "a:gpu b:general c:general own:general"},
		{"whose version stays too", func() { l.w.SetLanes(lanes.NewSet(gpu, net)) },
			[]string{"started", "updated b 1.0.0 to 1.0.0", "updated c 1.0.0 to 1.0.0",
				"updated own 1.0.0 to 1.0.0", "completed: 4 tools, 1 faulty"},
			"a:gpu b:net c:net own:net"},
		{"after the end", func() { l.w.close(); l.w.SetLanes(lanes.NewSet()) }, nil,
			"a:gpu b:net c:net own:net"},
	} {
		s.change()
		got := l.events()
		if s.name == "repaired" {
			got = l.reload()
		}
		if !slices.EqualFunc(got, s.events, alike) {
			t.Errorf("%s:\n got %q\nwant %q", s.name, got, s.events)
		}
		if got := all(); got != s.tools {
			t.Errorf("%s: the tools are %s, want %s", s.name, got, s.tools)
		}
	}
}

// Lanes that change while files are edited and read never leave the catalog between two states: the
// last state equals a fresh load.
func TestSetLanes_WhileReloading(t *testing.T) {
	sets := []*lanes.Set{lanes.NewSet(), lanes.NewSet(api.Lane{Name: "net", Categories: []string{"http"}}),
		lanes.NewSet(api.Lane{Name: "web", Categories: []string{"http"}})}
	l := newWatchLab(t, WatchConfig{}, map[string]string{"a.yaml": laneSpec("a", "http", "")})
	l.w.interval = time.Millisecond
	go l.w.run()
	defer l.w.Close()
	var setters sync.WaitGroup
	for _, set := range sets {
		setters.Go(func() {
			for range 50 {
				l.w.SetLanes(set)
				if lane := l.w.Catalog().All()[0].Spec.Execution.Lane; lane != "general" &&
					lane != "net" && lane != "web" {
					t.Errorf("the lane is %q", lane)
				}
			}
		})
	}
	for n := range 20 {
		l.write("b.yaml", laneSpec("b", []string{"http", "ai"}[n%2], ""))
	}
	setters.Wait()
	l.w.SetLanes(sets[1])
	l.w.reload(time.Now())
	for l.w.reload(time.Now()) {
	}
	fresh, err := Load(l.dir, toolspecs.Options{Lanes: sets[1]})
	if err != nil || fresh.Digest() != l.w.Catalog().Digest() {
		t.Errorf("in effect is %s, just loaded it is another: %v", l.tools(), err)
	}
}

// A worker does not start if one of its own tools lacks the arguments of its lane's key.
func TestWatch_RefusesToolsWithoutTheirLanesKey(t *testing.T) {
	base, err := toolspecs.NewCatalog([]toolspecs.Spec{own})
	if err != nil {
		t.Fatal(err)
	}
	keyed := lanes.NewSet(api.Lane{Name: "net", Key: "{{args.device}}", Categories: []string{"http"}})
	if _, err := Watch(WatchConfig{Base: base,
		Options: toolspecs.Options{Lanes: keyed}}); err == nil || err.Error() != `toolspec "own": $.execution.lane: the lane net, that of its category http, has a queue for each {{args.device}}, but the tool has no such argument (declare it, or name another lane in execution.lane)` {
		t.Errorf("got %v", err)
	}
}
