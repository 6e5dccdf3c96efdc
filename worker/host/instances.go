package host

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/switchyard/switchyard"
	"github.com/switchyard/switchyard/activities"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/worker"
)

// instanceServer starts the workers of instances of stateful tools, one for each instance.
type instanceServer struct {
	config    Config
	conn      client.Client
	canceller *canceller
	observer  *observer
}

// serve is the activities.Serve of this process.
func (s *instanceServer) serve(i activities.Served) (stop func(), err error) {
	w := worker.New(s.conn, i.Queue, worker.Options{
		MaxConcurrentActivityExecutionSize: s.config.Concurrency,
		MaxConcurrentActivityTaskPollers:   1,
		DisableWorkflowWorker:              true,
		DisableEagerActivities:             true,
		MaxHeartbeatThrottleInterval:       heartbeatThrottle,
		WorkerStopTimeout:                  s.config.StopTimeout + handBack,
		Interceptors:                       []interceptor.WorkerInterceptor{s.canceller, s.observer.forLane(i.Lane)},
		OnFatalError:                       i.Failed,
	})
	w.RegisterActivityWithOptions(i.Hold, activity.RegisterOptions{Name: switchyard.HoldActivity})
	w.RegisterDynamicActivity(i.Tool, activity.DynamicRegisterOptions{})
	if err := w.Start(); err != nil {
		return nil, fmt.Errorf("start to poll: %w", err)
	}
	return w.Stop, nil
}

// holdInstances adds a worker to the fleet for every lane, which holds instances of the lane's stateful tools. They take no
// places of the lane's calls: an instance lives as long as its run, and others' calls must not wait for that.
func (f *fleet) holdInstances(c Config, conn client.Client, deeds *activities.Activities, o *observer) {
	if len(c.Stateful) == 0 {
		return
	}
	for _, lane := range c.Lanes {
		w := worker.New(conn, switchyard.HoldQueue(c.TaskQueue, lane), worker.Options{
			MaxConcurrentActivityExecutionSize: c.Instances,
			DisableWorkflowWorker:              true,
			WorkerStopTimeout:                  c.StopTimeout + handBack,
			Interceptors:                       []interceptor.WorkerInterceptor{f.canceller, o.forLane(lane)},
			OnFatalError: func(err error) {
				f.failed <- fmt.Errorf("the worker that holds instances for lane %s failed: %w", lane, err)
			},
		})
		w.RegisterActivityWithOptions(deeds.Hold, activity.RegisterOptions{Name: switchyard.HoldActivity})
		f.workers = append(f.workers, w)
	}
}

// liveInstances collects how many instances live in this process.
type liveInstances struct {
	factories   *activities.Factories
	description *prometheus.Desc
}

func observeInstances(factories *activities.Factories, registry prometheus.Registerer) {
	registry.MustRegister(&liveInstances{factories: factories, description: prometheus.NewDesc("switchyard_instances",
		"Instances of stateful tools that live in this process.", []string{"tool"}, nil)})
}

// Describe implements prometheus.Collector.
func (l *liveInstances) Describe(descriptions chan<- *prometheus.Desc) { descriptions <- l.description }

// Collect implements prometheus.Collector.
func (l *liveInstances) Collect(metrics chan<- prometheus.Metric) {
	for tool, n := range l.factories.Live() {
		metrics <- prometheus.MustNewConstMetric(l.description, prometheus.GaugeValue, float64(n), tool)
	}
}

// registered is what toolspecs refer to: what an application brings, and the connections to MCP servers.
type registered struct {
	functions *activities.Functions
	factories *activities.Factories
	servers   *activities.MCP
}

func (c Config) register() (r registered, err error) {
	if r.functions, err = activities.NewFunctions(c.Functions...); err != nil {
		return r, err
	}
	r.servers = activities.NewMCP(activities.MCPOptions{Dir: c.Dir, Files: c.Files, Logins: c.Logins, Inside: c.Inside, Log: c.Logger})
	r.factories, err = activities.NewFactories(c.Stateful...)
	return r, err
}
