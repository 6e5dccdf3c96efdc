package toolspecs

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/toolspecs/lanes"
)

// The categories of lanes are those that a tool can have.
func TestLaneCategories_EqualThoseOfTools(t *testing.T) {
	field, _ := reflect.TypeFor[Spec]().FieldByName("Category")
	if want := "enum=" + strings.Join(lanes.Categories, "|"); field.Tag.Get("rule") != want {
		t.Errorf("the rule of a tool's category is %q, want %q", field.Tag.Get("rule"), want)
	}
}

// Inline calls have a short timeout.
func TestLaneOfSpec_IsNamedOrOfTheCategoryOrTheDefault(t *testing.T) {
	data := "name: a\nversion: 1.0.0\ndescription: A.\n"
	for _, c := range []struct{ spec, lane, timeout string }{
		{"entry: {type: function}", "general", "30s"},
		{"entry: {type: function}\nexecution: {access: exclusive}", "serial", "30s"},
		{"category: http\nentry: {type: function}", "net", "30s"},
		{"category: http\nentry: {type: function}\nexecution: {access: exclusive}", "net", "30s"},
		{"category: http\nentry: {type: command, argv: [date]}\nexecution: {lane: serial}",
			"serial", "30s"},
		{"category: http\nentry: {type: function}\nexecution: {lane: general}", "general", "30s"},
		{"category: ai\nentry: {type: function}", "general", "30s"},
		{"category: http\nentry: {type: stateful}", "general", "30s"},
		{"category: http\nentry: {type: human}", "general", "30s"},
		{"entry: {type: function}\nexecution: {lane: inline, effect: read}", "inline", "2s"},
		{"entry: {type: function}\nexecution: {lane: inline, effect: read, timeout: 1s}", "inline",
			"1s"},
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
		if again, err := FromTool(compiled.Tool()); err != nil ||
			again.Spec.Execution.Lane != c.lane ||
			again.Spec.onLane(lanes.NewSet()).Execution.Lane != c.lane {
			t.Errorf("%s:\na run that has pinned it leaves the lane: %v", c.spec, err)
		}
	}
}

// Tools without a file move too. A tool that lacks the arguments of the lane's key is a fault.
func TestCatalog_MovesToolsToTheLaneOfTheirCategory(t *testing.T) {
	shipped, err := NewCatalog(LoadShipped())
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
	moved, err := shipped.OnLanes(lanes.NewSet(api.Lane{Name: "net", Limit: 5,
		Categories: []string{"http"}}))
	if err != nil {
		t.Fatal(err)
	}
	if got := laneOf(moved, "http_get") + " " + laneOf(moved, "echo"); got != "net general" {
		t.Errorf("the lanes are %s", got)
	}
	if laneOf(shipped, "http_get") != api.LaneGeneral || moved.Digest() == shipped.Digest() {
		t.Error("a catalog has changed")
	}
	if back, err := moved.OnLanes(lanes.NewSet()); err != nil || back.Digest() != shipped.Digest() {
		t.Errorf("the way back leads elsewhere: %v", err)
	}
	_, err = shipped.OnLanes(lanes.NewSet(api.Lane{Name: "hosts", Key: "{{args.host}}",
		Categories: []string{"http"}}))
	want := `toolspec "http_get": $.execution.lane: the lane hosts, that of its category http, has a queue for each {{args.host}}, but the tool has no such argument (declare it, or name another lane in execution.lane)`
	if faults, ok := errors.AsType[Faults](err); !ok || len(faults) != 2 ||
		faults[0].String() != want {
		t.Errorf("got %v", err)
	}
	late, err := NewCatalog([]Spec{complete(Spec{Name: "late", Category: "http",
		Execution: ExecutionSpec{Effect: api.EffectRead}})})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := late.OnLanes(lanes.NewSet(api.Lane{Name: api.LaneInline,
		Categories: []string{"http"}})); err == nil || err.Error() != `toolspec "late": $.execution.timeout: timeout is 30s; the maximum on the lane inline is 5s, because a call blocks its run (shorten it, or choose another lane)` {
		t.Errorf("got %v", err)
	}
}
