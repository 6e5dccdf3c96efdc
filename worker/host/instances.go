package host

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/switchyard/switchyard/activities/executor/function"
	"github.com/switchyard/switchyard/activities/executor/mcp"
	"github.com/switchyard/switchyard/activities/hooks"
	"github.com/switchyard/switchyard/activities/instances"
	"github.com/switchyard/switchyard/toolspecs/models"
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

// registered is what toolspecs refer to: the application's handlers, connections to MCP servers,
// lanes, policies and models.
type registered struct {
	functions *function.Executor
	factories *instances.Factories
	hooks     *hooks.Registry
	servers   *mcp.Executor
	lanes     *laneSource
	rules     *policySource
	models    *models.Table
}

// close stops the watching of files.
func (r registered) close() {
	r.lanes.close()
	r.rules.close()
}

func (c Config) register() (r registered, err error) {
	if c.ModelsFile != "" {
		if r.models, err = models.Load(c.ModelsFile); err != nil {
			return r, err
		}
	}
	if r.functions, err = function.New(c.Functions...); err != nil {
		return r, err
	}
	if r.hooks, err = hooks.New(c.Hooks...); err != nil {
		return r, err
	}
	r.servers = mcp.New(mcp.Options{Dir: c.Dir, Files: c.Files, Logins: c.Logins, Inside: c.Inside,
		Log: c.Logger})
	r.factories, err = instances.NewFactories(c.Stateful...)
	return r, err
}
