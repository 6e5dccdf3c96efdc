package host

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/switchyard/switchyard/activities"
	"github.com/switchyard/switchyard/activities/slots"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/lanerules"
	"github.com/switchyard/switchyard/internal/core/queues"
	"github.com/switchyard/switchyard/toolspecs"
	"github.com/switchyard/switchyard/toolspecs/folder"
	"github.com/switchyard/switchyard/toolspecs/lanes"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/worker"
)

// laneFleet serves the configured lanes and applies changes of the configuration. The general lane
// belongs to the worker of workflows.
type laneFleet struct {
	*queueServer
	actions *activities.Activities
	failed  func(error)
	keeper  *keepers

	mu      sync.Mutex
	stopped bool
	served  map[string]*servedLane
	// applied are the lanes that are served.
	applied *lanes.Set
	// retiring are workers that no longer poll and finish their calls.
	retiring map[*laneWorker]bool
}

// servedLane is the current set of workers of a lane.
type servedLane struct {
	workers []*laneWorker
}

// laneWorker is one SDK worker. slots is nil if the worker stops without waiting for its tasks.
type laneWorker struct {
	worker.Worker
	lane        string
	duty        duty
	slots       *slotsSupplier
	workerSlots *slots.WorkerSlots
}

func newLaneFleet(s *queueServer, actions *activities.Activities, failed func(error)) *laneFleet {
	keeper := newKeepers(s.conn, s.config)
	actions.Slots.OnUnkept(keeper.check)
	return &laneFleet{queueServer: s, actions: actions, failed: failed,
		served: map[string]*servedLane{}, retiring: map[*laneWorker]bool{}, keeper: keeper}
}

// serves returns the lanes of a set that this worker serves, except those without a task queue.
func (c Config) serves(set *lanes.Set) []string {
	names := c.Lanes
	if len(names) == 0 {
		names = set.Names()
	}
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		return name == api.LaneInline
	})
}

// apply serves the lanes of a set by their rules.
func (f *laneFleet) apply(set *lanes.Set) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.stopped {
		return nil
	}
	f.applied = set
	names := f.config.serves(set)
	var faults []error
	for _, name := range names {
		lane, _ := set.Plain(name).Lane(name)
		if err := f.applyLane(lane); err != nil {
			faults = append(faults, fmt.Errorf("lane %s: %w", name, err))
		}
	}
	return errors.Join(faults...)
}

// names returns the served lanes, sorted.
func (f *laneFleet) names() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Sorted(maps.Keys(f.served))
}

// applyLane serves a lane by its rules. Workers whose duty is unchanged keep running.
func (f *laneFleet) applyLane(lane api.Lane) error {
	var before, fresh, now []*laneWorker
	if s := f.served[lane.Name]; s != nil {
		before = s.workers
	}
	for _, d := range f.duties(lane, before) {
		i := slices.IndexFunc(before, func(w *laneWorker) bool { return w.duty == d })
		if i >= 0 {
			now = append(now, before[i])
			continue
		}
		w, err := f.newWorker(lane, d)
		if err != nil {
			return err // the previous workers stay
		}
		now, fresh = append(now, w), append(fresh, w)
	}
	if err := startAll(fresh); err != nil {
		return err
	}
	f.served[lane.Name] = &servedLane{workers: now}
	f.retire(slices.DeleteFunc(slices.Clone(before), func(w *laneWorker) bool {
		return slices.Contains(now, w)
	}))
	f.keeper.keep(lane)
	return nil
}

func startAll(workers []*laneWorker) error {
	for i, w := range workers {
		if err := w.Start(); err != nil {
			for _, started := range workers[:i] {
				started.Stop()
			}
			return fmt.Errorf("start to poll: %w", err)
		}
	}
	return nil
}

// duty is the task of one worker of a lane.
type duty struct {
	kind  dutyKind
	queue string
	rate  float64
}

type dutyKind int

const (
	// dutySlots takes slots of a lane with a limit. Their holders apply the lane's rules, except
	// for its queue.
	dutySlots dutyKind = iota
	// dutyCalls executes the calls of a lane without a limit.
	dutyCalls
	// dutyBypass executes calls that bypass the rules.
	dutyBypass
	// dutyInstances hosts instances.
	dutyInstances
)

// duties returns the duties of a lane that is served by the workers before.
func (f *laneFleet) duties(lane api.Lane, before []*laneWorker) (all []duty) {
	switch {
	case lane.HasLimit():
		all = append(all, duty{kind: dutySlots, queue: lane.Queue})
	case lane.Name != api.LaneGeneral:
		all = append(all, duty{kind: dutyCalls, queue: lanerules.TaskQueue(lane, f.config.TaskQueue, ""),
			rate: lane.Rate})
	}
	// After the last bypass rule is removed, calls that bypassed the lane may still be retried.
	if len(lane.Bypass) > 0 || slices.ContainsFunc(before, func(w *laneWorker) bool {
		return w.duty.kind == dutyBypass
	}) {
		all = append(all, duty{kind: dutyBypass, queue: queues.Bypass(f.config.TaskQueue,
			lane.Name)})
	}
	if f.hostsInstances(lane.Name) || slices.ContainsFunc(before, func(w *laneWorker) bool {
		return w.duty.kind == dutyInstances // it may host some
	}) {
		all = append(all, duty{kind: dutyInstances})
	}
	return all
}

// hostsInstances reports whether this process hosts instances of tools of a lane. Any worker can
// host MCP sessions. It polls only for the lanes of tools that it knows, because each poll costs
// the server requests.
func (f *laneFleet) hostsInstances(lane string) bool {
	if len(f.config.Stateful) > 0 || lane == api.LaneGeneral {
		return true
	}
	return f.catalog != nil && slices.ContainsFunc(f.catalog().All(),
		func(c *toolspecs.Compiled) bool {
			return c.Dispatch() == api.DispatchInstance && c.Spec.Execution.Lane == lane
		})
}

func (f *laneFleet) newWorker(lane api.Lane, d duty) (*laneWorker, error) {
	switch d.kind {
	case dutySlots:
		return &laneWorker{lane: lane.Name, duty: d, Worker: f.slotsWorker(lane)}, nil
	case dutyInstances:
		return &laneWorker{lane: lane.Name, duty: d, Worker: f.instancesWorker(lane)}, nil
	}
	workerSlots := slots.NewWorkerSlots(f.config.Concurrency)
	tool, model := f.actions.Slots.WhileOpen(workerSlots, lane.Name)
	w, supplier, err := f.workerSlots(slots.ServedQueue{Queue: d.queue, Rate: d.rate,
		Counted: true, Lane: lane.Name, WorkerSlots: workerSlots, Tool: tool, Model: model,
		Failed: f.failedLane(lane)})
	return &laneWorker{lane: lane.Name, duty: d, Worker: w, slots: supplier,
			workerSlots: workerSlots},
		err
}

func (f *laneFleet) failedLane(lane api.Lane) func(error) {
	return func(err error) {
		f.failed(fmt.Errorf("a worker of lane %s failed: %w", lane.Name, err))
	}
}

// slotsWorker takes groups of a lane's slots. Holding slots is cheap, so it takes all it can get.
func (f *laneFleet) slotsWorker(lane api.Lane) worker.Worker {
	o := f.options(lane.Name, f.failedLane(lane))
	o.MaxConcurrentActivityTaskPollers = 1
	w := worker.New(f.conn, queues.Slots(f.config.TaskQueue, lane.Name), o)
	w.RegisterActivityWithOptions(f.actions.Slots.Serve,
		activity.RegisterOptions{Name: api.ServeSlotsActivity})
	return w
}

// instancesWorker hosts instances of the lane's tools. They take no slots of the lane's
// calls: an instance lives as long as its run and must not block the calls of others. It also
// executes calls of instances that were lost, which wait for the end of remote tasks.
func (f *laneFleet) instancesWorker(lane api.Lane) worker.Worker {
	o := f.options(lane.Name, f.failedLane(lane))
	o.MaxConcurrentActivityExecutionSize, o.MaxConcurrentActivityTaskPollers = f.config.Instances, 1
	w := worker.New(f.conn, queues.InstanceHost(f.config.TaskQueue, lane.Name), o)
	w.RegisterActivityWithOptions(f.actions.Instances.HostInstance,
		activity.RegisterOptions{Name: api.HostInstanceActivity})
	w.RegisterDynamicActivity(f.actions.Tool, activity.DynamicRegisterOptions{})
	return w
}

// retire stops the polling of workers, and stops them after their calls have ended. The caller
// holds mu.
func (f *laneFleet) retire(workers []*laneWorker) {
	for _, w := range workers {
		f.retiring[w] = true
		if w.workerSlots != nil {
			w.workerSlots.Close()
		}
		if w.duty.kind == dutySlots {
			f.actions.Slots.Leave(w.lane)
		}
		go func() {
			if w.slots != nil {
				<-w.slots.idleSignal()
			}
			w.Stop()
			f.mu.Lock()
			defer f.mu.Unlock()
			delete(f.retiring, w)
		}()
	}
}

// stop stops all lanes at once and returns after they have stopped.
func (f *laneFleet) stop() {
	patience, cancel := context.WithTimeout(context.Background(), f.config.StopTimeout+reportTime)
	defer cancel()
	f.mu.Lock()
	f.stopped = true
	var all sync.WaitGroup
	for w := range f.retiring {
		all.Go(w.Stop)
	}
	for _, s := range f.served {
		for _, w := range s.workers {
			all.Go(w.Stop)
		}
	}
	f.mu.Unlock()
	f.keeper.stop()
	all.Wait()
	f.actions.Slots.Await(patience) // calls of retired lanes may still run
}

// reapply is the wait before the configuration is applied again after a failure.
const reapply = 5 * time.Second

// follow applies every new set of lanes, and the lanes after a change of tools, until ctx ends. It
// retries after failures, and places the tools on the lanes of each applied set.
func (f *laneFleet) follow(ctx context.Context, changed <-chan *lanes.Set, tools *folder.Watcher) {
	toolsChanged := make(chan struct{}, 1)
	defer tools.Subscribe(func(folder.CatalogEvent) {
		select {
		case toolsChanged <- struct{}{}:
		default:
		}
	})()
	var again <-chan time.Time
	var set *lanes.Set
	for {
		select {
		case <-ctx.Done():
			return
		case set = <-changed:
		case <-again:
		case <-toolsChanged:
			f.mu.Lock()
			set = f.applied
			f.mu.Unlock()
		}
		again = nil
		if err := f.apply(set); err != nil {
			f.config.Logger.Warn("lane configuration not applied; retrying", "error", err)
			again = time.After(reapply)
		}
		tools.SetLanes(set)
	}
}
