package switchyard

import "testing"

// TestLaneOf proves that the queue of every lane leads back to the lane, also where a base looks like one.
func TestLaneOf(t *testing.T) {
	for _, base := range []string{DefaultTaskQueue, "a/b", ""} {
		for _, lane := range []string{LaneGeneral, LaneSerial, "gpu"} {
			if got := LaneOf(base, Queue(base, lane)); got != lane {
				t.Errorf("lane %s of %q came back as %q", lane, base, got)
			}
		}
	}
	if got := LaneOf("switchyard", "elsewhere/gpu"); got != "elsewhere/gpu" {
		t.Errorf("a foreign queue became %q", got)
	}
}
