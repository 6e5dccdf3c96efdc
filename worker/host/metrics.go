package host

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/switchyard/switchyard/internal/core/queues"
	"go.temporal.io/sdk/client"
)

// sdkBuckets are the histogram buckets of the SDK's timers, in seconds.
var sdkBuckets = prometheus.ExponentialBucketsRange(0.001, 120, 14)

// metricsHandler exports the SDK's metrics to Prometheus: counters end in _total, timers are
// histograms in seconds. The first use of a metric determines its labels: labels that come later
// are dropped, missing ones are empty. Tools write metrics too. A metric with an illegal name,
// label or value, or with the name of another kind of metric, is dropped.
type metricsHandler struct {
	registry prometheus.Registerer
	families *families
	tags     map[string]string
	// queue returns the label of a task queue.
	queue func(string) string
}

type families struct {
	mu     sync.RWMutex
	byName map[string]*family
}

// queueTag is the SDK's tag for the task queue.
const queueTag = "task_queue"

// family is one metric. One of counter, gauge and histogram is set, none for a rejected metric.
type family struct {
	labels    []string
	counter   *prometheus.CounterVec
	gauge     *prometheus.GaugeVec
	histogram *prometheus.HistogramVec
}

func newMetricsHandler(r prometheus.Registerer, queue func(string) string) client.MetricsHandler {
	return &metricsHandler{registry: r, families: &families{byName: map[string]*family{}},
		queue: queue}
}

// WithTags returns a handler that adds labels.
func (h *metricsHandler) WithTags(tags map[string]string) client.MetricsHandler {
	all := maps.Clone(h.tags)
	if all == nil {
		all = map[string]string{}
	}
	maps.Copy(all, tags)
	if queue, named := tags[queueTag]; named {
		all[queueTag] = h.queue(queue)
	}
	return &metricsHandler{registry: h.registry, families: h.families, tags: all, queue: h.queue}
}

// Counter returns a counter.
func (h *metricsHandler) Counter(name string) client.MetricsCounter {
	f := h.family(strings.TrimSuffix(name, "_total")+"_total",
		func(f *family, name string) prometheus.Collector {
			f.counter = prometheus.NewCounterVec(prometheus.CounterOpts{Name: name,
				Help: help(name)},
				f.labels)
			return f.counter
		})
	if f.counter != nil {
		if c, err := f.counter.GetMetricWithLabelValues(h.values(f)...); err == nil {
			return counter{c}
		}
	}
	return client.MetricsNopHandler.Counter(name)
}

// Gauge returns a gauge.
func (h *metricsHandler) Gauge(name string) client.MetricsGauge {
	f := h.family(name, func(f *family, name string) prometheus.Collector {
		f.gauge = prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help(name)},
			f.labels)
		return f.gauge
	})
	if f.gauge != nil {
		if g, err := f.gauge.GetMetricWithLabelValues(h.values(f)...); err == nil {
			return gauge{g}
		}
	}
	return client.MetricsNopHandler.Gauge(name)
}

// Timer returns a histogram of seconds.
func (h *metricsHandler) Timer(name string) client.MetricsTimer {
	f := h.family(name+"_seconds", func(f *family, name string) prometheus.Collector {
		f.histogram = prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name,
			Help: help(name), Buckets: sdkBuckets}, f.labels)
		return f.histogram
	})
	if f.histogram != nil {
		if t, err := f.histogram.GetMetricWithLabelValues(h.values(f)...); err == nil {
			return timer{t}
		}
	}
	return client.MetricsNopHandler.Timer(name)
}

func help(name string) string {
	return "Temporal SDK: " + strings.ReplaceAll(strings.TrimPrefix(name, "temporal_"), "_", " ") +
		"."
}

func (h *metricsHandler) family(name string,
	build func(*family, string) prometheus.Collector) *family {
	h.families.mu.RLock()
	f, ok := h.families.byName[name]
	h.families.mu.RUnlock()
	if ok {
		return f
	}
	h.families.mu.Lock()
	defer h.families.mu.Unlock()
	if f, ok := h.families.byName[name]; ok {
		return f
	}
	f = &family{labels: slices.Sorted(maps.Keys(h.tags))}
	if h.registry.Register(build(f, name)) != nil {
		f = &family{}
	}
	h.families.byName[name] = f
	return f
}

func (h *metricsHandler) values(f *family) []string {
	values := make([]string, len(f.labels))
	for i, name := range f.labels {
		values[i] = h.tags[name]
	}
	return values
}

type counter struct{ prometheus.Counter }

func (c counter) Inc(n int64) { c.Add(float64(n)) }

type gauge struct{ prometheus.Gauge }

func (g gauge) Update(v float64) { g.Set(v) }

type timer struct{ prometheus.Observer }

func (t timer) Record(d time.Duration) { t.Observe(d.Seconds()) }

// queueLabel returns the label of a task queue in metrics: its name, and one label for the queues
// of all instances, because these are unbounded.
func queueLabel(queue string) string {
	if queues.IsInstance(queue) {
		return "instance"
	}
	return queue
}
