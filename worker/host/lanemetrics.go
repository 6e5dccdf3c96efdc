package host

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/switchyard/switchyard/api"
)

// laneSample is what this process holds of a lane with a limit. A group of slots brings along the counts of those who held it
// before, so that they add up over all workers.
type laneSample struct {
	// Limit is the lane's limit, of a keyed lane that of each key. Slots is how many calls may run here at a time.
	Limit, Slots int
	api.LaneCounts
}

// laneMetrics collects what this process holds of lanes with a limit. The only label is the lane's name, without keys.
type laneMetrics struct {
	sample                               func() map[string]laneSample
	limit, slots, running, waiting, keys *prometheus.Desc
	acquired, rejected, timedOut         *prometheus.Desc
}

// observeLanes exports what sample returns, by the names of lanes; a lane of which nothing is held is not among them.
func observeLanes(sample func() map[string]laneSample, registry prometheus.Registerer) {
	describe := func(name, help string) *prometheus.Desc {
		return prometheus.NewDesc("switchyard_lane_"+name, help, []string{"lane"}, nil)
	}
	registry.MustRegister(&laneMetrics{sample: sample,
		limit:    describe("limit", "How many calls of the lane run at a time, over all workers; of a keyed lane, of each key. Of lanes with slots held here."),
		slots:    describe("slots", "How many calls of the lane may run here at a time."),
		running:  describe("running", "Calls of the lane that run here and have a slot."),
		waiting:  describe("waiting", "Calls of the lane that wait here; those that wait at the server are not among them."),
		keys:     describe("keys", "Keys of the lane that are served here."),
		acquired: describe("acquired_total", "Attempts at calls that got one of the slots held here, under earlier holders too."),
		rejected: describe("rejected_total", "Calls turned away because no more may wait, under earlier holders of the slots too."),
		timedOut: describe("timed_out_total", "Calls that waited too long with the holder, under earlier holders of the slots too."),
	})
}

// Describe implements prometheus.Collector.
func (m *laneMetrics) Describe(descriptions chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{m.limit, m.slots, m.running, m.waiting, m.keys, m.acquired, m.rejected, m.timedOut} {
		descriptions <- d
	}
}

// Collect implements prometheus.Collector.
func (m *laneMetrics) Collect(metrics chan<- prometheus.Metric) {
	for lane, s := range m.sample() {
		tell := func(d *prometheus.Desc, kind prometheus.ValueType, v float64) {
			metrics <- prometheus.MustNewConstMetric(d, kind, v, lane)
		}
		tell(m.limit, prometheus.GaugeValue, float64(s.Limit))
		tell(m.slots, prometheus.GaugeValue, float64(s.Slots))
		tell(m.running, prometheus.GaugeValue, float64(s.Running))
		tell(m.waiting, prometheus.GaugeValue, float64(s.Waiting))
		tell(m.keys, prometheus.GaugeValue, float64(s.Keys))
		tell(m.acquired, prometheus.CounterValue, float64(s.Acquired))
		tell(m.rejected, prometheus.CounterValue, float64(s.Rejected))
		tell(m.timedOut, prometheus.CounterValue, float64(s.TimedOut))
	}
}

// laneSamples returns what the holders of this process tell, for observeLanes. lane says how a lane is configured.
func laneSamples(states func() map[string][]api.SlotsState, lane func(string) (api.Lane, bool)) func() map[string]laneSample {
	return func() map[string]laneSample {
		samples := map[string]laneSample{}
		for name, hosted := range states() {
			configured, _ := lane(name) // a lane that is configured no more has no limit
			s := laneSample{Limit: configured.Limit}
			for _, state := range hosted {
				if configured.Keyed() {
					state.Slots *= state.Keys
				}
				s.Slots += state.Slots
				s.Add(state.LaneCounts)
			}
			samples[name] = s
		}
		return samples
	}
}
