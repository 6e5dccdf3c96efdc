package host

import (
	"errors"
	"log/slog"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/lanerules"
)

func TestLaneMetrics_SumOverKeysAndSurviveRemoval(t *testing.T) {
	states := map[string][]lanerules.SlotsState{
		"http": {
			{Slots: 3, Counts: lanerules.Counts{Running: 2, Waiting: 4, Acquired: 10, Rejected: 1,
				TimedOut: 6}},
			{Slots: 2, Counts: lanerules.Counts{Running: 1, Acquired: 5}},
		},
		"android": {{Slots: 2, Counts: lanerules.Counts{Keys: 3, Running: 5}}},
		"gone":    {{Slots: 1, Counts: lanerules.Counts{Acquired: 7}}},
	}
	lanes := map[string]api.Lane{"http": {Name: "http", Limit: 5}, "android": {Name: "android",
		Limit: 2, Key: "{{args.device}}"}}
	registry := prometheus.NewRegistry()
	observeLanes(laneSamples(func() map[string][]lanerules.SlotsState {
		return states
	}, func(name string) (api.Lane, bool) {
		lane, known := lanes[name]
		return lane, known
	}), registry)
	serve(t, registry).has(t,
		`switchyard_lane_limit{lane="http"} 5`,
		`switchyard_lane_slots{lane="http"} 5`,
		`switchyard_lane_running{lane="http"} 3`,
		`switchyard_lane_waiting{lane="http"} 4`,
		`switchyard_lane_keys{lane="http"} 0`,
		`switchyard_lane_acquired_total{lane="http"} 15`,
		`switchyard_lane_rejected_total{lane="http"} 1`,
		`switchyard_lane_timed_out_total{lane="http"} 6`,
		`switchyard_lane_limit{lane="android"} 2`,
		`switchyard_lane_slots{lane="android"} 6`,
		`switchyard_lane_keys{lane="android"} 3`,
		`switchyard_lane_limit{lane="gone"} 0`,
		`switchyard_lane_acquired_total{lane="gone"} 7`,
	)
}

func TestLaneCounts_CountToolCallsOnly(t *testing.T) {
	o := newObserver(prometheus.NewRegistry(), slog.New(slog.DiscardHandler))
	observe(t, o.forLane("http"), "probe", ended{})
	observe(t, o.forLane("http"), "probe", ended{err: errors.New("x")})
	observe(t, o.forLane("general"), api.ModelActivity, ended{})
	observe(t, o.forLane("serial"), api.ServeSlotsActivity, ended{})
	answer := o.counts.answer("me")
	got := answer.Lanes["http"]
	if answer.Worker != "me" || answer.Since.IsZero() || len(answer.Lanes) != 1 ||
		got.Acquired != 2 || got.Ended != 2 || got.Running != 0 || got.ExecutionMicros <= 0 {
		t.Errorf("got %+v", answer)
	}
}
