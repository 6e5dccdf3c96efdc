package lanes

import (
	"errors"
	"slices"
	"testing"

	"github.com/switchyard/switchyard/api"
)

// Lanes without rules are added to them. A configured lane keeps its configuration.
func TestPlainLanes_ExistWithoutConfiguration(t *testing.T) {
	set := NewSet(api.Lane{Name: "gpu", Limit: 2, Categories: []string{"ai"}})
	more := set.Plain("gpu", "printer", api.LaneSerial)
	if got := more.Names(); !slices.Equal(got, []string{"general", "gpu", "inline", "printer",
		"serial"}) {
		t.Errorf("the lanes are %q", got)
	}
	gpu, _ := more.Lane("gpu")
	printer, there := more.Lane("printer")
	if serial, _ := more.Lane(api.LaneSerial); gpu.Limit != 2 || !there || printer.HasLimit() ||
		serial.Limit != 1 {
		t.Errorf("got %+v, %+v and %+v", gpu, printer, serial)
	}
	if lane, ok := more.ForCategory("ai"); lane != "gpu" || !ok {
		t.Errorf("the category ai has the lane %q", lane)
	}
	if _, there := set.Lane("printer"); there {
		t.Error("a set has changed")
	}
}

// A few holders share a limit, unless one must have all of it. Keys are divided into the default
// number of groups.
func TestDefaults_DivideALimitAmongHolders(t *testing.T) {
	size := 3
	for _, c := range []struct {
		lane    api.Lane
		holders int
		limit   int
	}{
		{api.Lane{}, 0, 0},
		{api.Lane{Limit: 2}, 2, 2},
		{api.Lane{Limit: 100}, defaultHolders, 100},
		{api.Lane{Limit: 100, Holders: 9}, 9, 100},
		{api.Lane{Limit: 100, QueueSize: &size}, 1, 100},
		{api.Lane{Limit: 100, Strategy: api.StrategyReject}, 1, 100},
		{api.Lane{Key: "{{args.a}}"}, defaultKeyHolders, 1},
		{api.Lane{Key: "{{args.a}}", QueueSize: &size, Limit: 7}, defaultKeyHolders, 7},
		{api.Lane{Name: api.LaneSerial}, 1, 1},
		{api.Lane{Name: api.LaneSerial, Limit: 3}, 3, 3},
	} {
		if got := WithDefaults(c.lane); got.Holders != c.holders || got.Limit != c.limit {
			t.Errorf("%+v becomes %+v", c.lane, got)
		}
	}
}

// A call's key consists of its arguments. A missing argument is reported as one that the call has
// to pass.
func TestKey_NeedsEveryArgument(t *testing.T) {
	lane := api.Lane{Name: "android", Key: "{{args.region}}/{{args.device}}"}
	for _, c := range []struct{ arguments, key string }{
		{`{"region": "eu", "device": "pixel 7"}`, "eu/pixel 7"},
		{`{"region": 1e2, "device": [true, null]}`, "1e2/[true,null]"},
		{`{"region": "", "device": "{{args.region}}"}`, "/{{args.region}}"},
	} {
		if key, err := Key(lane, []byte(c.arguments)); err != nil || key != c.key {
			t.Errorf("%s: got %q, %v", c.arguments, key, err)
		}
	}
	for _, arguments := range []string{`{"region": "eu"}`, `{}`, ``} {
		_, err := Key(lane, []byte(arguments))
		if err == nil || err.Type != api.ErrValidation || err.Phase != api.PhasePreValidation ||
			len(err.Problems) != 1 || err.Problems[0].Rule != api.RuleRequired {
			t.Errorf("%s: got %v", arguments, err)
		}
	}
	if _, err := Key(lane, []byte(`[1]`)); !errors.Is(err, &api.Error{Type: api.ErrValidation}) {
		t.Errorf("got %v", err)
	}
}
