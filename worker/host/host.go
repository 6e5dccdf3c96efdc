package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/switchyard/switchyard/activities"
	"github.com/switchyard/switchyard/activities/models"
	"github.com/switchyard/switchyard/activities/models/chat"
	"github.com/switchyard/switchyard/activities/models/messages"
	"github.com/switchyard/switchyard/activities/models/openai"
	"github.com/switchyard/switchyard/activities/models/responses"
	"github.com/switchyard/switchyard/activities/models/scripted"
	"github.com/switchyard/switchyard/activities/slots"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/feature"
	"github.com/switchyard/switchyard/internal/buildinfo"
	"github.com/switchyard/switchyard/internal/connection"
	"github.com/switchyard/switchyard/internal/value/display"
	"github.com/switchyard/switchyard/payloads"
	"github.com/switchyard/switchyard/toolspecs"
	"github.com/switchyard/switchyard/toolspecs/folder"
	"github.com/switchyard/switchyard/toolspecs/lanes"
	"github.com/switchyard/switchyard/worker/host/concurrency"
	"github.com/switchyard/switchyard/worker/host/deployment"
	"github.com/switchyard/switchyard/worker/host/outage"
	"github.com/switchyard/switchyard/worker/host/tasksize"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	tlog "go.temporal.io/sdk/log"
	"go.temporal.io/sdk/worker"
)

// Run serves what c configures until ctx ends. It then stops gracefully: it takes no new work, and
// running calls finish or are requeued. It returns an error if the configuration or a toolspec is
// invalid (toolspecs.Faults among them), the server is unreachable, or a lane's worker fails. It
// returns ctx's error if ctx ends before the server is reached.
func Run(ctx context.Context, c Config) error {
	ctx, end := context.WithCancel(ctx)
	defer end() // of what follows the server and the lanes
	c = c.withDefaults()
	own, tools, err := c.prepare()
	if err != nil {
		return invalidError{err}
	}
	defer tools.Close()
	defer own.close()
	defer own.servers.Close()
	registry := newRegistry()
	c.observeCatalog(tools, registry)
	health, err := serveHealth(c.MetricsAddress, registry, c.Logger)
	if err != nil {
		return err
	}
	defer health.close()
	keep, err := c.openPayloads(ctx)
	if err != nil {
		return err
	}
	conn, err := c.connect(ctx, registry)
	if err != nil {
		return err
	}
	defer conn.Close()
	queues := &queueServer{config: c, conn: conn, canceller: newCanceller(c.StopTimeout),
		observer: newObserver(registry, c.Logger), limit: concurrency.New(c.MaxConcurrent),
		catalog: tools.Catalog}
	actions, err := c.activities(tools, own, queues, keep)
	if err != nil {
		return err
	}
	fleet := newFleet(c, actions, queues)
	fleet.answerFor(c, conn, tools, own)
	if err := fleet.start(own.lanes.current()); err != nil {
		return c.explain(ctx, err)
	}
	defer fleet.stop()
	observeInstances(actions.Instances.Live, registry)
	observeLanes(laneSamples(actions.Slots.States, own.lanes.lane), registry)
	observeReadiness(health.isReady, fleet.lanes.names, registry)
	fleet.beside = c.observeRuns(ctx, conn, registry)
	go fleet.lanes.follow(ctx, own.lanes.changed, tools)
	go health.followServer(ctx, conn, c.Logger)
	health.setReady(true)
	defer health.setReady(false)
	c.tellReady(tools.Catalog(), fleet.lanes.names(), health.address)
	select {
	case <-ctx.Done():
		c.Logger.Info("worker stopping: running calls may finish", "within", c.StopTimeout)
		return nil
	case err := <-fleet.failed:
		return err
	}
}

// newRegistry returns a registry with the metrics of the process.
func newRegistry() *prometheus.Registry {
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	observeBuild(buildinfo.Read(), registry)
	return registry
}

// observeBuild exports from which source the worker was built.
func observeBuild(info buildinfo.Info, registry prometheus.Registerer) {
	build := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "switchyard_build_info",
		Help: "1, with the version and commit that the worker was built from."},
		[]string{"version", "revision", "go"})
	build.WithLabelValues(info.Version, info.Revision, info.Go).Set(1)
	registry.MustRegister(build)
}

// prepare checks everything that can be checked without the server.
func (c Config) prepare() (registered, *folder.Watcher, error) {
	if err := c.validate(); err != nil {
		return registered{}, nil, err
	}
	own, err := c.register()
	if err != nil {
		return own, nil, err
	}
	// All faults are reported at once. To check the tools, the names of the lanes are enough.
	var lanesWrong, rulesWrong error
	if own.lanes, lanesWrong = c.readLanes(); lanesWrong != nil {
		own.lanes = c.namedLanes()
	}
	if own.rules, rulesWrong = c.readPolicies(); rulesWrong != nil {
		own.rules = noPolicies()
	}
	tools, toolsWrong := c.watchCatalog(own)
	own.labels = &labelledCatalog{tools: tools.Catalog, rules: own.rules.current, logger: c.Logger}
	if err := errors.Join(lanesWrong, rulesWrong, toolsWrong); err != nil {
		own.close()
		if tools != nil {
			tools.Close()
		}
		return own, nil, err
	}
	return own, tools, nil
}

// openPayloads adds the payload options to the connection and checks that the store is usable. It
// returns the function that stores whole results, or nil without a store.
func (c *Config) openPayloads(ctx context.Context) (keep wholeKeeper, err error) {
	storage, err := payloads.Open(c.Payloads)
	if err == nil {
		err = storage.Apply(&c.Connection)
	}
	if err != nil {
		return nil, invalidError{err}
	}
	storage.OnUnreadable = func(run string, err error) {
		c.Logger.Warn("workflow task returned to the server: its payloads are unreadable",
			"run", run, "error", err)
	}
	if storage.Stores() {
		keep = storage.Keep
	}
	return keep, storage.Check(ctx)
}

// wholeKeeper is the type of activities.Config.Keep.
type wholeKeeper func(context.Context, json.RawMessage) (string, error)

func (c Config) connect(ctx context.Context,
	registry *prometheus.Registry) (client.Client, error) {
	c.Connection.Logger = tlog.NewStructuredLogger(c.Logger)
	if c.MetricsAddress != "" { // else they are not served
		c.Connection.MetricsHandler = newMetricsHandler(registry, queueLabel)
	}
	outage.Endure(&c.Connection.ConnectionOptions)
	tasksize.Bound(&c.Connection.ConnectionOptions)
	deployment.ReleaseClosed(&c.Connection.ConnectionOptions)
	connection.SendSmallUncompressed(&c.Connection.ConnectionOptions)
	conn, err := client.DialContext(ctx, c.Connection)
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil:
		return nil, c.explain(ctx, fmt.Errorf("connect to the Temporal server at %s: %w",
			c.Connection.HostPort, err))
	}
	return conn, nil
}

// explain adds to an error why the server cannot be used, and what to do.
func (c Config) explain(ctx context.Context, err error) error {
	return connection.Server{Options: c.Connection, Start: "starter dev",
		Create: "starter setup --create-namespace --namespace " +
			display.ShellWord(c.Connection.Namespace)}.Explain(ctx, err)
}

func (c Config) tellReady(catalog *toolspecs.Catalog, lanes []string, metrics string) {
	info := Info{Namespace: c.Connection.Namespace, TaskQueue: c.TaskQueue, Lanes: lanes,
		Tools: listToolNames(catalog), Metrics: metrics}
	if v := c.version(); c.decidesRuns() && v != (deployment.Version{}) {
		info.DeploymentName, info.BuildID = v.Deployment, v.Build
		c.Logger.Info("runs start on this version once it is the current or ramping one",
			"deployment_name", v.Deployment, "build_id", v.Build)
	}
	c.Logger.Info("worker ready", "namespace", info.Namespace, "task_queue", info.TaskQueue,
		"lanes", info.Lanes, "tools", len(info.Tools))
	if c.Ready != nil {
		c.Ready(info)
	}
}

// newOpenAI returns the models at OPENAI_BASE_URL, by the protocol that the server there speaks.
func newOpenAI() (models.Model, error) {
	server := openai.NewServer()
	modern, err := server.SpeaksResponses()
	if err == nil && modern {
		return responses.New(server), nil
	}
	return chat.New(server), err
}

func (c Config) activities(tools *folder.Watcher, own registered, queues *queueServer,
	keep wholeKeeper) (*activities.Activities, error) {
	overOpenAI, err := newOpenAI()
	if err != nil {
		return nil, err
	}
	providers := map[api.Provider]models.Model{
		api.ProviderOpenAI:    overOpenAI,
		api.ProviderAnthropic: messages.New(),
		api.ProviderScripted:  scripted.Provider{},
	}
	maps.Copy(providers, c.Models)
	return activities.New(activities.Config{
		Catalog:    own.labels.current,
		Identity:   c.Connection.Identity,
		Client:     queues.conn,
		Executors:  own.executors,
		Models:     providers,
		ModelTable: own.models,
		Stored:     own.servers.ReadStored,
		Keep:       keep,
		Hooks:      own.hooks,
		Serve:      queues.instance,
		Lanes:      own.lanes.current,
		Policies:   own.rules.current,
		Webhook:    c.Webhook,
		ServeQueue: queues.lane,
		Excess:     queues.limit.Excess,
		Converter:  c.Connection.DataConverter,
	})
}

func listToolNames(catalog *toolspecs.Catalog) []string {
	var names []string
	for _, compiled := range catalog.All() {
		names = append(names, compiled.Spec.Name)
	}
	return names
}

// heartbeatThrottle is the minimum time between two heartbeats that reach the server. It bounds the
// delay of streamed model output. Activities send heartbeats at most this often, and far less often
// if nothing changed.
const heartbeatThrottle = 200 * time.Millisecond

// stickyTimeout is the time that a workflow task waits for the worker with the cached run before
// any worker may take it and replay the run. A longer time adds to the recovery after a crash, a
// shorter one makes the runs of workers that lag move.
const stickyTimeout = 1500 * time.Millisecond

// taskPatience bounds the computation of one workflow task. A conversation of many megabytes takes
// longer than the SDK's default of one second on a busy machine, and would on every retry.
const taskPatience = 5 * time.Second

// fleet is the SDK workers of this process: one for workflows and the general lane, one that
// answers questions about the process, and those of the other lanes. beside stops what the process
// can work without; it may be nil.
type fleet struct {
	workers     []worker.Worker
	beside      func()
	lanes       *laneFleet
	failed      chan error
	canceller   *canceller
	stopTimeout time.Duration
}

func newFleet(c Config, actions *activities.Activities, queues *queueServer) *fleet {
	f := &fleet{failed: make(chan error, 1), canceller: queues.canceller,
		stopTimeout: c.StopTimeout}
	f.lanes = newLaneFleet(queues, actions, f.fail)
	if !c.decidesRuns() {
		return f
	}
	queues.observer.direct = feature.Workflows()
	o := queues.options(api.LaneGeneral, f.lanes.failedLane(api.Lane{Name: api.LaneGeneral}))
	o.DisableWorkflowWorker, o.DisableEagerActivities = false, false
	o.MaxConcurrentActivityExecutionSize, o.StickyScheduleToStartTimeout = c.Concurrency,
		stickyTimeout
	o.DeadlockDetectionTimeout = taskPatience
	o.DeploymentOptions = c.version().Options()
	// With the SDK's default of two, a worker idles while many runs wait with short workflow tasks,
	// as they do with inline calls.
	o.MaxConcurrentWorkflowTaskPollers = 8
	tool, model := actions.Tool, actions.ModelStep
	if queues.limit != nil {
		o.MaxConcurrentActivityExecutionSize, o.Tuner = 0, queues.generalTuner()
		tool, model = actions.Slots.WhileOpen(slots.NewWorkerSlots(1), api.LaneGeneral)
	}
	w := worker.New(queues.conn, c.TaskQueue, o)
	register(w, actions)
	w.RegisterActivityWithOptions(model, activity.RegisterOptions{Name: api.ModelActivity})
	w.RegisterDynamicActivity(tool, activity.DynamicRegisterOptions{})
	f.workers = append(f.workers, w)
	return f
}

// decidesRuns reports whether this process executes workflows, which come with the general lane.
func (c Config) decidesRuns() bool {
	return len(c.Lanes) == 0 || slices.Contains(c.Lanes, api.LaneGeneral)
}

// fail ends the process with the first error.
func (f *fleet) fail(err error) {
	select {
	case f.failed <- err:
	default:
	}
}

// start starts all workers. If one fails, none is left running.
func (f *fleet) start(set *lanes.Set) error {
	for i, w := range f.workers {
		if err := w.Start(); err != nil {
			for _, started := range f.workers[:i] {
				started.Stop()
			}
			return fmt.Errorf("start to poll: %w", err)
		}
	}
	if err := f.lanes.apply(set); err != nil {
		f.stop()
		return err
	}
	return nil
}

// stop stops all workers at once. Calls that run longer than the stop timeout are cancelled and
// report that.
func (f *fleet) stop() {
	defer time.AfterFunc(f.stopTimeout, f.canceller.cancel).Stop()
	var all sync.WaitGroup
	for _, w := range f.workers {
		all.Go(w.Stop)
	}
	all.Go(f.lanes.stop)
	if f.beside != nil {
		all.Go(f.beside)
	}
	all.Wait()
}
