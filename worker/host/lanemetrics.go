package host

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/lanerules"
	"github.com/switchyard/switchyard/internal/core/workerreport"
	"go.temporal.io/sdk/activity"
)

// laneSample is the share of this process in a lane with a limit. A group of slots carries the
// counts of its earlier holders, so that the sum over all workers is complete.
type laneSample struct {
	// Limit is the lane's limit; for a keyed lane the limit per key. Slots is the number of calls
	// that may run on this process.
	Limit, Slots int
	lanerules.Counts
}

// laneMetrics collects the samples. The only label is the lane's name, without keys.
type laneMetrics struct {
	sample                               func() map[string]laneSample
	limit, slots, running, waiting, keys *prometheus.Desc
	acquired, rejected, timedOut         *prometheus.Desc
}

// observeLanes exports the result of sample, by lane. Lanes without slots in this process are
// absent.
func observeLanes(sample func() map[string]laneSample, registry prometheus.Registerer) {
	describe := func(name, help string) *prometheus.Desc {
		return prometheus.NewDesc("switchyard_lane_"+name, help, []string{"lane"}, nil)
	}
	registry.MustRegister(&laneMetrics{sample: sample,
		limit: describe("limit", "Limit of the lane over all workers; of a keyed lane, for "+
			"each key."),
		slots:   describe("slots", "Slots of the lane that this worker may use."),
		running: describe("running", "Running calls of the lane on this worker."),
		waiting: describe("waiting", "Calls that wait here for a slot; those that wait at the "+
			"server are not included."),
		keys: describe("keys", "Keys of the lane with calls on this worker."),
		acquired: describe("acquired_total", "Attempts that got a slot of this worker's "+
			"groups, including those under earlier holders."),
		rejected: describe("rejected_total", "Calls rejected because the wait queue was full, "+
			"including those under earlier holders."),
		timedOut: describe("timed_out_total", "Calls whose wait for a slot timed out, "+
			"including those under earlier holders."),
	})
}

// Describe implements prometheus.Collector.
func (m *laneMetrics) Describe(descriptions chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{m.limit, m.slots, m.running, m.waiting, m.keys, m.acquired,
		m.rejected, m.timedOut} {
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

// laneSamples returns the sample function of observeLanes. lane looks up a lane's configuration.
func laneSamples(states func() map[string][]lanerules.SlotsState, lane func(string) (api.Lane,
	bool)) func() map[string]laneSample {
	return func() map[string]laneSample {
		samples := map[string]laneSample{}
		for name, hosted := range states() {
			configured, _ := lane(name) // a removed lane has no limit
			s := laneSample{Limit: configured.Limit}
			for _, state := range hosted {
				if configured.HasKey() {
					state.Slots *= state.Keys
				}
				s.Slots += state.Slots
				s.Add(state.Counts)
			}
			samples[name] = s
		}
		return samples
	}
}

// laneCounts counts attempts at tool calls of this process by lane. For lanes with a limit the
// holders of slots also count, across workers and beyond the life of each.
type laneCounts struct {
	since time.Time

	mu    sync.Mutex
	lanes map[string]*lanerules.Counts
}

func newLaneCounts() *laneCounts {
	return &laneCounts{since: time.Now(), lanes: map[string]*lanerules.Counts{}}
}

// count counts the start of a call and returns a function that counts its end. Other activities are
// ignored. The wait of a later attempt is unknown.
func (c *laneCounts) count(lane string, info activity.Info) (ended func()) {
	if api.CheckToolName(info.ActivityType.Name) != nil {
		return func() {}
	}
	if info.IsLocalActivity {
		lane = api.LaneInline
	}
	var waited time.Duration
	if info.Attempt == 1 {
		waited = max(info.StartedTime.Sub(info.ScheduledTime), 0)
	}
	began := time.Now()
	c.change(lane, func(l *lanerules.Counts) {
		l.Running++
		l.Acquired++
	})
	return func() {
		c.change(lane, func(l *lanerules.Counts) {
			l.Running--
			l.Ended++
			l.WaitMicros += waited.Microseconds()
			l.ExecutionMicros += time.Since(began).Microseconds()
		})
	}
}

func (c *laneCounts) change(lane string, change func(*lanerules.Counts)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.lanes[lane] == nil {
		c.lanes[lane] = &lanerules.Counts{}
	}
	change(c.lanes[lane])
}

// answer returns the result of ReportLanesActivity.
func (c *laneCounts) answer(worker string) workerreport.Lanes {
	a := workerreport.Lanes{Worker: worker, Since: c.since.UTC(),
		Lanes: map[string]lanerules.Counts{}}
	c.mu.Lock()
	defer c.mu.Unlock()
	for name, counts := range c.lanes {
		a.Lanes[name] = *counts
	}
	return a
}
