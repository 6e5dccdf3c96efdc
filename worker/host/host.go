package host

import (
	"context"
	"fmt"
	"maps"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/switchyard/switchyard"
	"github.com/switchyard/switchyard/activities"
	"github.com/switchyard/switchyard/toolspecs"
	"github.com/switchyard/switchyard/toolspecs/outbound"
	"github.com/switchyard/switchyard/workflows"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/interceptor"
	tlog "go.temporal.io/sdk/log"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
)

// Run serves what c says until ctx ends, and then stops gracefully: no new work, running calls finish or are handed
// back. It returns an error where the configuration or a toolspec is wrong (toolspecs.Faults among them), the server
// cannot be reached, or a lane's worker fails; ctx's error where that ends before the server is reached.
func Run(ctx context.Context, c Config) error {
	c = c.withDefaults()
	own, tools, err := c.prepare()
	if err != nil {
		return invalidError{err}
	}
	defer tools.Close()
	defer own.servers.Close()
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	c.observeCatalog(tools, registry)
	observeInstances(own.factories, registry)
	health, err := serveHealth(c.MetricsAddress, registry, c.Logger)
	if err != nil {
		return err
	}
	defer health.close()
	conn, err := c.connect(ctx, registry)
	if err != nil {
		return err
	}
	defer conn.Close()
	instances := &instanceServer{config: c, conn: conn, canceller: newCanceller(), observer: newObserver(registry, c.Logger)}
	deeds, err := c.activities(conn, tools, own, instances.serve)
	if err != nil {
		return err
	}
	fleet := newFleet(c, conn, deeds, instances)
	fleet.answerFor(c, conn, tools)
	if err := fleet.start(); err != nil {
		return err
	}
	defer fleet.stop()
	health.setReady(true)
	defer health.setReady(false)
	c.tellReady(tools.Catalog(), health.address)
	select {
	case <-ctx.Done():
		c.Logger.Info("worker stops: no new work; running calls may finish", "within", c.StopTimeout)
		return nil
	case err := <-fleet.failed:
		return err
	}
}

// prepare checks everything that can be checked before the server is asked.
func (c Config) prepare() (registered, *toolspecs.Watcher, error) {
	if err := c.validate(); err != nil {
		return registered{}, nil, err
	}
	own, err := c.register()
	if err != nil {
		return own, nil, err
	}
	tools, err := c.watchCatalog(own)
	return own, tools, err
}

func (c Config) connect(ctx context.Context, registry *prometheus.Registry) (client.Client, error) {
	c.Connection.Logger = tlog.NewStructuredLogger(c.Logger)
	if c.MetricsAddress != "" { // nobody could read them otherwise
		c.Connection.MetricsHandler = newMetricsHandler(registry)
	}
	conn, err := client.DialContext(ctx, c.Connection)
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil:
		return nil, fmt.Errorf("connect to the Temporal server at %s: %w", c.Connection.HostPort, err)
	}
	return conn, nil
}

func (c Config) tellReady(catalog *toolspecs.Catalog, metrics string) {
	info := Info{Namespace: c.Connection.Namespace, TaskQueue: c.TaskQueue, Lanes: c.Lanes, Tools: namesOf(catalog), Metrics: metrics}
	c.Logger.Info("worker ready", "namespace", info.Namespace, "task_queue", info.TaskQueue, "lanes", info.Lanes, "tools", len(info.Tools))
	if c.Ready != nil {
		c.Ready(info)
	}
}

func (c Config) activities(conn client.Client, tools *toolspecs.Watcher, own registered, serve activities.Serve) (*activities.Activities, error) {
	models := map[switchyard.Provider]activities.Model{
		switchyard.ProviderOpenAI:   activities.NewOpenAI(),
		switchyard.ProviderScripted: activities.Scripted{},
	}
	maps.Copy(models, c.Models)
	return activities.New(activities.Config{
		Catalog: tools.Catalog,
		Client:  conn,
		Executors: map[string]activities.Executor{
			switchyard.KindFunction: own.functions,
			switchyard.KindStateful: own.factories,
			switchyard.KindCommand:  &activities.Commands{Dir: c.Dir},
			switchyard.KindREST:     activities.REST{Inside: c.Inside, Connections: new(outbound.Connections)},
			switchyard.KindMCP:      own.servers,
			switchyard.KindHuman:    activities.People{},
		},
		Models:    models,
		Stateful:  own.factories,
		Serve:     serve,
		Converter: c.Connection.DataConverter,
	})
}

func namesOf(catalog *toolspecs.Catalog) []string {
	var names []string
	for _, compiled := range catalog.All() {
		names = append(names, compiled.Spec.Name)
	}
	return names
}

// heartbeatThrottle is the least time between two heartbeats of an activity that reach the server, and so how late the
// progress of a call is seen.
const heartbeatThrottle = time.Second

// stickyTimeout is how long a run waits for the worker that has it in memory before any other may replay it. The SDK's five
// seconds are most of what a run would lose with a worker.
const stickyTimeout = time.Second

// fleet is one SDK worker per lane, one more that answers for itself, and where there are stateful tools another per lane,
// which holds instances.
type fleet struct {
	workers     []worker.Worker
	failed      chan error
	canceller   *canceller
	stopTimeout time.Duration
}

func newFleet(c Config, conn client.Client, deeds *activities.Activities, i *instanceServer) *fleet {
	f := &fleet{failed: make(chan error, 2*len(c.Lanes)+1), canceller: i.canceller, stopTimeout: c.StopTimeout}
	for _, lane := range c.Lanes {
		options := worker.Options{
			MaxConcurrentActivityExecutionSize: c.Concurrency,
			WorkerStopTimeout:                  c.StopTimeout + handBack,
			MaxHeartbeatThrottleInterval:       heartbeatThrottle,
			DisableWorkflowWorker:              lane != switchyard.LaneGeneral,
			StickyScheduleToStartTimeout:       stickyTimeout,
			Interceptors:                       []interceptor.WorkerInterceptor{f.canceller, i.observer.forLane(lane)},
			OnFatalError: func(err error) {
				f.failed <- fmt.Errorf("the worker of lane %s failed: %w", lane, err)
			},
		}
		if lane == switchyard.LaneSerial {
			options.MaxConcurrentActivityExecutionSize = 1
		}
		w := worker.New(conn, switchyard.Queue(c.TaskQueue, lane), options)
		register(w, deeds, lane)
		f.workers = append(f.workers, w)
	}
	f.holdInstances(c, conn, deeds, i.observer)
	return f
}

func register(w worker.Worker, deeds *activities.Activities, lane string) {
	if lane == switchyard.LaneGeneral {
		for name, run := range workflows.All() {
			w.RegisterWorkflowWithOptions(run, workflow.RegisterOptions{Name: name})
		}
		w.RegisterActivityWithOptions(deeds.Pin, activity.RegisterOptions{Name: switchyard.PinActivity})
		w.RegisterActivityWithOptions(deeds.Admit, activity.RegisterOptions{Name: switchyard.AdmitActivity})
		w.RegisterActivityWithOptions(deeds.Reply, activity.RegisterOptions{Name: switchyard.ReplyActivity})
		w.RegisterActivityWithOptions(deeds.Settle, activity.RegisterOptions{Name: switchyard.SettleActivity})
	}
	w.RegisterActivityWithOptions(deeds.ModelStep, activity.RegisterOptions{Name: switchyard.ModelActivity})
	w.RegisterDynamicActivity(deeds.Tool, activity.DynamicRegisterOptions{})
}

func (f *fleet) start() error {
	for i, w := range f.workers {
		if err := w.Start(); err != nil {
			for _, started := range f.workers[:i] {
				started.Stop()
			}
			return fmt.Errorf("start to poll: %w", err)
		}
	}
	return nil
}

// stop stops all lanes at once. Running calls may take the stop timeout; then they are cancelled, and report that.
func (f *fleet) stop() {
	defer time.AfterFunc(f.stopTimeout, f.canceller.cancel).Stop()
	done := make(chan struct{})
	for _, w := range f.workers {
		go func() {
			w.Stop()
			done <- struct{}{}
		}()
	}
	for range f.workers {
		<-done
	}
}
