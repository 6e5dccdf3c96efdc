package host

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.temporal.io/sdk/client"
)

// sdkBuckets are the upper bounds, in seconds, of the histograms of the SDK's timers.
var sdkBuckets = prometheus.ExponentialBucketsRange(0.001, 120, 14)

// metricsHandler gives the SDK's metrics to Prometheus: counters end in _total, timers are histograms in seconds. A
// family's labels are those of its first use: later ones that it lacks are dropped, missing ones are empty.
type metricsHandler struct {
	registry prometheus.Registerer
	families *families
	tags     map[string]string
}

type families struct {
	mu     sync.RWMutex
	byName map[string]*family
}

// family is one metric of one of three kinds; the other two are nil.
type family struct {
	labels    []string
	counter   *prometheus.CounterVec
	gauge     *prometheus.GaugeVec
	histogram *prometheus.HistogramVec
}

func newMetricsHandler(r prometheus.Registerer) client.MetricsHandler {
	return &metricsHandler{registry: r, families: &families{byName: map[string]*family{}}}
}

// WithTags returns a handler whose metrics have these labels too.
func (h *metricsHandler) WithTags(tags map[string]string) client.MetricsHandler {
	all := maps.Clone(h.tags)
	if all == nil {
		all = map[string]string{}
	}
	maps.Copy(all, tags)
	return &metricsHandler{registry: h.registry, families: h.families, tags: all}
}

// Counter returns a counter.
func (h *metricsHandler) Counter(name string) client.MetricsCounter {
	f := h.family(name+"_total", func(f *family, name string) prometheus.Collector {
		f.counter = prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help(name)}, f.labels)
		return f.counter
	})
	return counter{f.counter.With(h.labels(f))}
}

// Gauge returns a gauge.
func (h *metricsHandler) Gauge(name string) client.MetricsGauge {
	f := h.family(name, func(f *family, name string) prometheus.Collector {
		f.gauge = prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help(name)}, f.labels)
		return f.gauge
	})
	return gauge{f.gauge.With(h.labels(f))}
}

// Timer returns a histogram of seconds.
func (h *metricsHandler) Timer(name string) client.MetricsTimer {
	f := h.family(name+"_seconds", func(f *family, name string) prometheus.Collector {
		f.histogram = prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help(name), Buckets: sdkBuckets}, f.labels)
		return f.histogram
	})
	return timer{f.histogram.With(h.labels(f))}
}

func help(name string) string {
	return "Temporal SDK: " + strings.ReplaceAll(strings.TrimPrefix(name, "temporal_"), "_", " ") + "."
}

func (h *metricsHandler) family(name string, build func(*family, string) prometheus.Collector) *family {
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
	h.registry.MustRegister(build(f, name))
	h.families.byName[name] = f
	return f
}

func (h *metricsHandler) labels(f *family) prometheus.Labels {
	labels := make(prometheus.Labels, len(f.labels))
	for _, name := range f.labels {
		labels[name] = h.tags[name]
	}
	return labels
}

type counter struct{ prometheus.Counter }

func (c counter) Inc(n int64) { c.Add(float64(n)) }

type gauge struct{ prometheus.Gauge }

func (g gauge) Update(v float64) { g.Set(v) }

type timer struct{ prometheus.Observer }

func (t timer) Record(d time.Duration) { t.Observe(d.Seconds()) }
