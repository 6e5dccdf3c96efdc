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
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	tlog "go.temporal.io/sdk/log"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/switchyard/switchyard/activities"
	"github.com/switchyard/switchyard/activities/executor"
	"github.com/switchyard/switchyard/activities/executor/command"
	"github.com/switchyard/switchyard/activities/executor/human"
	"github.com/switchyard/switchyard/activities/executor/rest"
	"github.com/switchyard/switchyard/activities/models"
	"github.com/switchyard/switchyard/activities/models/anthropic"
	"github.com/switchyard/switchyard/activities/models/openai"
	"github.com/switchyard/switchyard/activities/models/scripted"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/outbound"
	"github.com/switchyard/switchyard/payloads"
	"github.com/switchyard/switchyard/toolspecs"
	"github.com/switchyard/switchyard/toolspecs/folder"
	"github.com/switchyard/switchyard/toolspecs/lanes"
	"github.com/switchyard/switchyard/workflows"
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
	defer own.close()
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
	keep, err := c.openPayloads(ctx)
	if err != nil {
		return err
	}
	conn, err := c.connect(ctx, registry, own.lanes)
	if err != nil {
		return err
	}
	defer conn.Close()
	queues := &queueServer{config: c, conn: conn, canceller: newCanceller(), observer: newObserver(registry, c.Logger)}
	actions, err := c.activities(tools, own, queues, keep)
	if err != nil {
		return err
	}
	queues.tracing = c.trace(ctx, conn, registry)
	defer queues.tracing.stop()
	fleet := newFleet(c, actions, queues)
	fleet.answerFor(c, conn, tools, own.rules)
	if err := fleet.start(own.lanes.current()); err != nil {
		return err
	}
	defer fleet.stop()
	observeLanes(laneSamples(actions.SlotStates, func(name string) (api.Lane, bool) { return own.lanes.current().Lane(name) }), registry)
	observeReadiness(health.ready.Load, fleet.lanes.names, registry)
	c.observeRuns(ctx, conn, registry)
	go fleet.lanes.follow(ctx, own.lanes.changed, tools.SetLanes)
	health.setReady(true)
	defer health.setReady(false)
	c.tellReady(tools.Catalog(), fleet.lanes.names(), health.address)
	select {
	case <-ctx.Done():
		c.Logger.Info("worker stops: no new work; running calls may finish", "within", c.StopTimeout)
		return nil
	case err := <-fleet.failed:
		return err
	}
}

// observeRuns exports what runs and waits on the server, where the process decides runs and somebody can read it.
func (c Config) observeRuns(ctx context.Context, conn client.Client, registry prometheus.Registerer) {
	if c.MetricsAddress == "" || !c.decidesRuns() {
		return
	}
	open := newOpenRuns(conn, c.Connection.Namespace, c.Connection.DataConverter)
	registry.MustRegister(open)
	go open.follow(ctx)
}

// prepare checks everything that can be checked before the server is asked.
func (c Config) prepare() (registered, *folder.Watcher, error) {
	if err := c.validate(); err != nil {
		return registered{}, nil, err
	}
	own, err := c.register()
	if err != nil {
		return own, nil, err
	}
	// All that is wrong is told at once: the lanes as far as they have names are enough to look at the tools.
	var lanesWrong, rulesWrong error
	if own.lanes, lanesWrong = c.readLanes(); lanesWrong != nil {
		own.lanes = c.namedLanes()
	}
	if own.rules, rulesWrong = c.readPolicies(); rulesWrong != nil {
		own.rules = noPolicies()
	}
	tools, toolsWrong := c.watchCatalog(own)
	if err := errors.Join(lanesWrong, rulesWrong, toolsWrong); err != nil {
		own.close()
		if tools != nil {
			tools.Close()
		}
		return own, nil, err
	}
	return own, tools, nil
}

// openPayloads readies the connection's options for payloads as they are stored, and makes sure that the store can be used.
// It returns what keeps whole results of which runs hold a part; nil where there is no store.
func (c *Config) openPayloads(ctx context.Context) (keep wholeKeeper, err error) {
	storage, err := payloads.Open(c.Payloads)
	if err == nil {
		err = storage.Apply(&c.Connection)
	}
	if err != nil {
		return nil, invalidError{err}
	}
	storage.OnUnreadable = func(run string, err error) { c.Logger.Warn("a workflow task is given back", "run", run, "error", err) }
	if storage.Stores() {
		keep = storage.Keep
	}
	return keep, storage.Check(ctx)
}

// wholeKeeper is activities.Config.Keep.
type wholeKeeper func(context.Context, json.RawMessage) (string, error)

func (c Config) connect(ctx context.Context, registry *prometheus.Registry, source *laneSource) (client.Client, error) {
	c.Connection.Logger = tlog.NewStructuredLogger(c.Logger)
	if c.MetricsAddress != "" { // nobody could read them otherwise
		c.Connection.MetricsHandler = newMetricsHandler(registry, (&queueLabels{base: c.TaskQueue, current: source.current}).of)
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

func (c Config) tellReady(catalog *toolspecs.Catalog, lanes []string, metrics string) {
	info := Info{Namespace: c.Connection.Namespace, TaskQueue: c.TaskQueue, Lanes: lanes, Tools: namesOf(catalog), Metrics: metrics}
	c.Logger.Info("worker ready", "namespace", info.Namespace, "task_queue", info.TaskQueue, "lanes", info.Lanes, "tools", len(info.Tools))
	if c.Ready != nil {
		c.Ready(info)
	}
}

func (c Config) activities(tools *folder.Watcher, own registered, queues *queueServer, keep wholeKeeper) (*activities.Activities, error) {
	providers := map[api.Provider]models.Model{
		api.ProviderOpenAI:    openai.New(),
		api.ProviderAnthropic: anthropic.New(),
		api.ProviderScripted:  scripted.Provider{},
	}
	maps.Copy(providers, c.Models)
	return activities.New(activities.Config{
		Catalog:  tools.Catalog,
		Identity: c.Connection.Identity,
		Client:   queues.conn,
		Executors: map[string]executor.Executor{
			api.KindFunction: own.functions,
			api.KindStateful: own.factories,
			api.KindCommand:  &command.Executor{Dir: c.Dir},
			api.KindREST:     rest.Executor{Inside: c.Inside, Connections: new(outbound.Connections)},
			api.KindMCP:      own.servers,
			api.KindHuman:    human.Executor{},
		},
		Models:     providers,
		ModelTable: own.models,
		Stored:     own.servers.Stored,
		Keep:       keep,
		Stateful:   own.factories,
		Hooks:      own.hooks,
		Serve:      queues.instance,
		Lanes:      own.lanes.current,
		Policies:   own.rules.current,
		Webhook:    c.webhook(),
		ServeQueue: queues.lane,
		Converter:  c.Connection.DataConverter,
	})
}

func namesOf(catalog *toolspecs.Catalog) []string {
	var names []string
	for _, compiled := range catalog.All() {
		names = append(names, compiled.Spec.Name)
	}
	return names
}

// heartbeatThrottle is the least time between two heartbeats of an activity that reach the server, and so how late what a
// model says is seen. The activities themselves beat no faster, and far less often where they have nothing to tell.
const heartbeatThrottle = 200 * time.Millisecond

// stickyTimeout is how long a run waits for the worker that has it in memory before any other may replay it. The SDK's five
// seconds are most of what a run would lose with a worker.
const stickyTimeout = time.Second

// taskPatience is how long a workflow's code may compute in one go. A conversation of many megabytes takes longer to write than the
// SDK's one second where the machine is busy; the task would be tried again, with no better luck.
const taskPatience = 5 * time.Second

// fleet is the SDK workers of this process: the one that has the workflows and the general lane, one that answers for the
// process, and those of the other lanes.
type fleet struct {
	workers     []worker.Worker
	lanes       *laneFleet
	failed      chan error
	canceller   *canceller
	stopTimeout time.Duration
}

func newFleet(c Config, actions *activities.Activities, queues *queueServer) *fleet {
	f := &fleet{failed: make(chan error, 1), canceller: queues.canceller, stopTimeout: c.StopTimeout}
	f.lanes = newLaneFleet(queues, actions, f.fail)
	if !c.decidesRuns() {
		return f
	}
	o := queues.options(api.LaneGeneral, f.lanes.failedLane(api.Lane{Name: api.LaneGeneral}))
	o.DisableWorkflowWorker, o.DisableEagerActivities = false, false
	o.MaxConcurrentActivityExecutionSize, o.StickyScheduleToStartTimeout = c.Concurrency, stickyTimeout
	o.DeadlockDetectionTimeout = taskPatience
	if queues.tracing != nil {
		o.Interceptors = append(o.Interceptors, queues.tracing)
	}
	// The SDK's two leave a worker idle where many runs wait and each workflow task is short, as with inline calls.
	o.MaxConcurrentWorkflowTaskPollers = 8
	w := worker.New(queues.conn, c.TaskQueue, o)
	register(w, actions)
	f.workers = append(f.workers, w)
	return f
}

// decidesRuns reports whether the process has the workflows: it has the general lane.
func (c Config) decidesRuns() bool {
	return len(c.Lanes) == 0 || slices.Contains(c.Lanes, api.LaneGeneral)
}

// fail ends the process; one reason is enough.
func (f *fleet) fail(err error) {
	select {
	case f.failed <- err:
	default:
	}
}

// register has the worker execute workflows and all that runs beside them.
func register(w worker.Worker, actions *activities.Activities) {
	for name, run := range workflows.All() {
		w.RegisterWorkflowWithOptions(run, workflow.RegisterOptions{Name: name})
	}
	w.RegisterActivityWithOptions(actions.Pin, activity.RegisterOptions{Name: api.PinActivity})
	w.RegisterActivityWithOptions(actions.LoadConversation, activity.RegisterOptions{Name: api.LoadConversationActivity})
	w.RegisterActivityWithOptions(actions.Admit, activity.RegisterOptions{Name: api.AdmitActivity})
	w.RegisterActivityWithOptions(actions.Edit, activity.RegisterOptions{Name: api.AdmitEditActivity})
	w.RegisterActivityWithOptions(actions.Limit, activity.RegisterOptions{Name: api.DescribeLimitActivity})
	w.RegisterActivityWithOptions(actions.Notify, activity.RegisterOptions{Name: api.NotifyApprovalActivity})
	w.RegisterActivityWithOptions(actions.Open, activity.RegisterOptions{Name: api.OpenKeyActivity})
	w.RegisterActivityWithOptions(actions.Reply, activity.RegisterOptions{Name: api.CheckReplyActivity})
	w.RegisterActivityWithOptions(actions.FinalizeResult, activity.RegisterOptions{Name: api.FinalizeResultActivity})
	w.RegisterActivityWithOptions(actions.RunHook, activity.RegisterOptions{Name: api.HookActivity})
	w.RegisterActivityWithOptions(actions.ModelStep, activity.RegisterOptions{Name: api.ModelActivity})
	w.RegisterDynamicActivity(actions.Tool, activity.DynamicRegisterOptions{})
}

// start begins to serve everything. Where that fails nothing is served.
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

// stop stops everything at once. Running calls may take the stop timeout; then they are cancelled, and report that.
func (f *fleet) stop() {
	defer time.AfterFunc(f.stopTimeout, f.canceller.cancel).Stop()
	var all sync.WaitGroup
	for _, w := range f.workers {
		all.Go(w.Stop)
	}
	all.Go(f.lanes.stop)
	all.Wait()
}
