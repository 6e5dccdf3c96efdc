package toolspecs

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/toolspecs/lanes"
)

// The categories of lanes are those that a tool can have.
func TestCategories(t *testing.T) {
	field, _ := reflect.TypeFor[Spec]().FieldByName("Category")
	if want := "enum=" + strings.Join(lanes.Categories, "|"); field.Tag.Get("rule") != want {
		t.Errorf("the rule of a tool's category is %q, want %q", field.Tag.Get("rule"), want)
	}
}

// The lanes that specs come out with: named, of the category, or by default; and the short timeout of an inline call.
func TestLaneOfSpec(t *testing.T) {
	data := "name: a\nversion: 1.0.0\ndescription: A.\n"
	for _, c := range []struct{ spec, lane, timeout string }{
		{"entry: {type: function}", "general", "30s"},
		{"entry: {type: function}\nexecution: {access: exclusive}", "serial", "30s"},
		{"category: http\nentry: {type: function}", "net", "30s"},
		{"category: http\nentry: {type: function}\nexecution: {access: exclusive}", "net", "30s"},
		{"category: http\nentry: {type: command, argv: [date]}\nexecution: {lane: serial}", "serial", "30s"},
		{"category: http\nentry: {type: function}\nexecution: {lane: general}", "general", "30s"},
		{"category: ai\nentry: {type: function}", "general", "30s"},
		{"category: http\nentry: {type: stateful}", "general", "30s"},
		{"category: http\nentry: {type: human}", "general", "30s"},
		{"entry: {type: function}\nexecution: {lane: inline, effect: read}", "inline", "2s"},
		{"entry: {type: function}\nexecution: {lane: inline, effect: read, timeout: 1s}", "inline", "1s"},
	} {
		specs, err := Decode("a.yaml", []byte(data+c.spec+"\n"), Options{Lanes: someLanes})
		if err != nil {
			t.Errorf("%s:\n%v", c.spec, err)
			continue
		}
		if e := specs[0].Execution; e.Lane != c.lane || e.Timeout.String() != c.timeout {
			t.Errorf("%s:\nthe lane is %s, the timeout %s", c.spec, e.Lane, e.Timeout)
		}
		compiled, err := specs[0].Compile()
		if err != nil {
			t.Fatal(err)
		}
		if again, err := FromTool(compiled.Tool()); err != nil || again.Spec.Execution.Lane != c.lane || again.Spec.onLane(lanes.Of()).Execution.Lane != c.lane {
			t.Errorf("%s:\na run that has pinned it leaves the lane: %v", c.spec, err)
		}
	}
}

// Tools that are in no file go to the lane of their category too, and back; one that cannot have the lane's key is a fault.
func TestCatalogOnLanes(t *testing.T) {
	shipped, err := NewCatalog(Shipped())
	if err != nil {
		t.Fatal(err)
	}
	laneOf := func(c *Catalog, name string) string {
		tool, ok := c.Get(name)
		if !ok {
			t.Fatalf("there is no tool %s", name)
		}
		return tool.Tool().Lane
	}
	moved, err := shipped.OnLanes(lanes.Of(api.Lane{Name: "net", Limit: 5, Categories: []string{"http"}}))
	if err != nil {
		t.Fatal(err)
	}
	if got := laneOf(moved, "http_get") + " " + laneOf(moved, "echo"); got != "net general" {
		t.Errorf("the lanes are %s", got)
	}
	if laneOf(shipped, "http_get") != api.LaneGeneral || moved.Digest() == shipped.Digest() {
		t.Error("a catalog has changed")
	}
	if back, err := moved.OnLanes(lanes.Of()); err != nil || back.Digest() != shipped.Digest() {
		t.Errorf("the way back leads elsewhere: %v", err)
	}
	_, err = shipped.OnLanes(lanes.Of(api.Lane{Name: "hosts", Key: "{{args.host}}", Categories: []string{"http"}}))
	want := `toolspec "http_get": $.execution.lane: the lane hosts, that of its category http, has a queue for each {{args.host}}, and the tool has no such argument (declare it, or name another lane in execution.lane)`
	if faults, ok := errors.AsType[Faults](err); !ok || len(faults) != 2 || faults[0].String() != want {
		t.Errorf("got %v", err)
	}
	late, err := NewCatalog([]Spec{complete(Spec{Name: "late", Category: "http", Execution: ExecutionSpec{Effect: api.EffectRead}})})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := late.OnLanes(lanes.Of(api.Lane{Name: api.LaneInline, Categories: []string{"http"}})); err == nil || !strings.Contains(err.Error(), "the most is 5s") {
		t.Errorf("got %v", err)
	}
}

// laneSpec is a toolspec file of a tool with a category, on a lane where one is named.
func laneSpec(tool, category, lane string) string {
	text := specOf(tool) + "category: " + category + "\nparameters: [{name: device, type: string}]\n"
	if lane != "" {
		text += "execution: {lane: " + lane + "}\n"
	}
	return text
}

// Other lanes take effect at once: tools go to the lane of their category, a tool whose lane has gone keeps its version and
// is told, and it follows when the lane is back. Files that were edited meanwhile go by the lanes too.
func TestSetLanes(t *testing.T) {
	base, err := NewCatalog([]Spec{complete(Spec{Name: "own", Category: "http"})})
	if err != nil {
		t.Fatal(err)
	}
	gpu, net := api.Lane{Name: "gpu"}, api.Lane{Name: "net", Limit: 5, Categories: []string{"http", "file"}}
	l := newWatchLab(t, WatchConfig{Base: base, Options: Options{Lanes: lanes.Of(gpu)}},
		map[string]string{"a.yaml": laneSpec("a", "ai", "gpu"), "b.yaml": laneSpec("b", "http", ""), "c.yaml": laneSpec("c", "file", "")})
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
		{"the same lanes", func() { l.w.SetLanes(lanes.Of(gpu)) }, nil, "a:gpu b:general c:general own:general"},
		{"a lane of a category", func() { l.w.SetLanes(lanes.Of(gpu, net)) }, updated("b", "c", "own"), "a:gpu b:net c:net own:net"},
		{"a lane has gone", func() { l.w.SetLanes(lanes.Of(net)) }, []string{"started", noGPU, "completed: 4 tools, 1 faulty"}, "a:gpu b:net c:net own:net"},
		{"another limit", func() { net.Limit = 6; l.w.SetLanes(lanes.Of(net)) }, []string{"started", "completed: 4 tools, 1 faulty"}, "a:gpu b:net c:net own:net"},
		{"a broken file", func() { l.write("b.yaml", "name: b\n"); l.reload() }, nil, "a:gpu b:net c:net own:net"},
		{"whose good version goes on", func() { l.w.SetLanes(lanes.Of(gpu)) },
			[]string{"started", "updated b 1.0.0 to 1.0.0", "updated c 1.0.0 to 1.0.0", "updated own 1.0.0 to 1.0.0", "completed: 4 tools, 1 faulty"}, "a:gpu b:general c:general own:general"},
		{"repaired", func() { l.write("b.yaml", laneSpec("b", "http", "")) }, []string{"started", "completed: 4 tools, 0 faulty"}, "a:gpu b:general c:general own:general"},
		{"a key that the program's own tool cannot have", func() { l.w.SetLanes(lanes.Of(gpu, keyed)) },
			[]string{"started", `error toolspec "own": …`, "updated b 1.0.0 to 1.0.0", "completed: 4 tools, 1 faulty"}, "a:gpu b:net c:general own:general"},
		{"and none", func() { l.w.SetLanes(lanes.Of(gpu)) }, updated("b"), "a:gpu b:general c:general own:general"},
		{"a file that cannot be read", func() { l.remove("c.yaml"); link(t, "nowhere", l.path("c.yaml")); l.reload() }, nil, "a:gpu b:general c:general own:general"},
		{"whose version goes on too", func() { l.w.SetLanes(lanes.Of(gpu, net)) },
			[]string{"started", "updated b 1.0.0 to 1.0.0", "updated c 1.0.0 to 1.0.0", "updated own 1.0.0 to 1.0.0", "completed: 4 tools, 1 faulty"}, "a:gpu b:net c:net own:net"},
		{"after the end", func() { l.w.close(); l.w.SetLanes(lanes.Of()) }, nil, "a:gpu b:net c:net own:net"},
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

// Lanes that change while files are edited and looked at never leave the catalog between two states: in the end it is what
// is just loaded.
func TestSetLanesWhileReloading(t *testing.T) {
	sets := []*lanes.Set{lanes.Of(), lanes.Of(api.Lane{Name: "net", Categories: []string{"http"}}), lanes.Of(api.Lane{Name: "web", Categories: []string{"http"}})}
	l := newWatchLab(t, WatchConfig{}, map[string]string{"a.yaml": laneSpec("a", "http", "")})
	l.w.interval = time.Millisecond
	go l.w.run()
	defer l.w.Close()
	var setters sync.WaitGroup
	for _, set := range sets {
		setters.Go(func() {
			for range 50 {
				l.w.SetLanes(set)
				if lane := l.w.Catalog().All()[0].Spec.Execution.Lane; lane != "general" && lane != "net" && lane != "web" {
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
	fresh, err := Load(l.dir, Options{Lanes: sets[1]})
	if err != nil || fresh.Digest() != l.w.Catalog().Digest() {
		t.Errorf("in effect is %s, just loaded it is another: %v", l.tools(), err)
	}
}

// A worker does not start with tools of its own that cannot have their lane's key.
func TestWatchRefusesLanes(t *testing.T) {
	base, err := NewCatalog([]Spec{complete(Spec{Name: "own", Category: "http"})})
	if err != nil {
		t.Fatal(err)
	}
	keyed := lanes.Of(api.Lane{Name: "net", Key: "{{args.device}}", Categories: []string{"http"}})
	if _, err := Watch(WatchConfig{Base: base, Options: Options{Lanes: keyed}}); err == nil || !strings.Contains(err.Error(), "no such argument") {
		t.Errorf("got %v", err)
	}
}
