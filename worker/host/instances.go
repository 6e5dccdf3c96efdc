package host

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/switchyard/switchyard/activities/instances"
)

// liveInstances collects the number of live instances in this process.
type liveInstances struct {
	factories   *instances.Factories
	description *prometheus.Desc
}

func observeInstances(factories *instances.Factories, registry prometheus.Registerer) {
	registry.MustRegister(&liveInstances{factories: factories,
		description: prometheus.NewDesc("switchyard_instances",
			"Live instances of stateful tools in this process.", []string{"tool"}, nil)})
}

// Describe implements prometheus.Collector.
func (l *liveInstances) Describe(descriptions chan<- *prometheus.Desc) {
	descriptions <- l.description
}

// Collect implements prometheus.Collector.
func (l *liveInstances) Collect(metrics chan<- prometheus.Metric) {
	for tool, n := range l.factories.Live() {
		metrics <- prometheus.MustNewConstMetric(l.description, prometheus.GaugeValue, float64(n),
			tool)
	}
}
