package executor

import (
	"testing"

	"github.com/switchyard/switchyard/api"
)

// Attempts that only waited for a slot had no effect, whatever became of their workers.
func TestHarmlessAttempts_CountsThoseThatOnlyWaited(t *testing.T) {
	for name, test := range map[string]struct {
		last api.Heartbeat
		want int32
	}{
		"it waited":              {api.Heartbeat{Waiting: true}, 2},
		"it waited after an act": {api.Heartbeat{Waiting: true, Acted: true}, 0},
		"it said nothing":        {api.Heartbeat{}, 0},
		"it had no effect":       {api.Heartbeat{Harmless: 1}, 1},
	} {
		if got := harmlessAttempts(test.last, 3); got != test.want {
			t.Errorf("%s: %d attempts had no effect, want %d", name, got, test.want)
		}
	}
}
