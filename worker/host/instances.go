package host

import (
	"github.com/prometheus/client_golang/prometheus"
)

// liveInstances collects the number of live instances in this process.
type liveInstances struct {
	// live returns the number of instances by name.
	live        func() map[string]int
	description *prometheus.Desc
}

func observeInstances(live func() map[string]int, registry prometheus.Registerer) {
	registry.MustRegister(&liveInstances{live: live,
		description: prometheus.NewDesc("switchyard_instances",
			"Instances of stateful tools and sessions with MCP servers in this process.", []string{"tool"}, nil)})
}

// Describe implements prometheus.Collector.
func (l *liveInstances) Describe(descriptions chan<- *prometheus.Desc) {
	descriptions <- l.description
}

// Collect implements prometheus.Collector.
func (l *liveInstances) Collect(metrics chan<- prometheus.Metric) {
	for name, n := range l.live() {
		metrics <- prometheus.MustNewConstMetric(l.description, prometheus.GaugeValue, float64(n),
			name)
	}
}
