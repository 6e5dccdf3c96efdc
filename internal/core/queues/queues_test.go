package queues

import (
	"cmp"
	"testing"

	"github.com/switchyard/switchyard/api"
	"pgregory.net/rapid"
)

// The base name may be any name.
func TestQueues_ConvertToLanesAndBack(t *testing.T) {
	for _, tt := range []struct{ base, lane, queue string }{
		{"switchyard", api.LaneGeneral, "switchyard"}, {"switchyard", "", "switchyard"},
		{"switchyard", api.LaneSerial, "switchyard/serial"},
		{"my/app", "android/emulator-1", "my/app/android/emulator-1"}, {"", "gpu", "/gpu"},
	} {
		if got := Lane(tt.base, tt.lane); got != tt.queue {
			t.Errorf("Queue(%q, %q) = %q, want %q", tt.base, tt.lane, got, tt.queue)
		}
		if got := LaneName(tt.base, tt.queue); got != cmp.Or(tt.lane, api.LaneGeneral) {
			t.Errorf("LaneOf(%q, %q) = %q, want %q", tt.base, tt.queue, got, tt.lane)
		}
	}
	for _, queue := range []string{"elsewhere/gpu", "switchyarder", "elsewhere/instance/run/tool"} {
		if got := LaneName("switchyard", queue); got != queue {
			t.Errorf("the foreign queue %q is lane %q", queue, got)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.StringMatching(`[a-z/-]{1,6}`)
		base, lane := name.Draw(t, "base"), name.Draw(t, "lane")
		if got := LaneName(base, Lane(base, lane)); got != lane {
			t.Fatalf("lane %q of %q came back as %q", lane, base, got)
		}
	})
}

// A run's instance of a tool has its own queue, whose calls count for its lane. No lane can have
// the queue on which instances are requested.
func TestInstanceQueues_BelongToTheirLane(t *testing.T) {
	for _, lane := range []string{api.LaneGeneral, api.LaneSerial, "instance", "host_instance"} {
		for _, tool := range []string{"counter", "instance", "host_instance"} {
			queue := Instance("my/app", lane, "run-1", tool)
			if got := LaneName("my/app", queue); got != lane || !IsInstance(queue) {
				t.Errorf("%s is of the lane %q, want %q", queue, got, lane)
			}
		}
		if IsInstance(Lane("my/app", lane)) || InstanceHost("my/app",
			"general") == Lane("my/app", lane) {
			t.Errorf("the queue of lane %q is taken for another", lane)
		}
	}
	if a, b := Instance("q", "", "run-1", "counter"), Instance("q", "", "run-2",
		"counter"); a == b || a != "q/instance/run-1/counter" {
		t.Errorf("the queues of two runs are %q and %q", a, b)
	}
	if got := InstanceHost("q", ""); got != "q/host_instance/general" {
		t.Errorf("holds of the general lane are asked for on %q", got)
	}
}
