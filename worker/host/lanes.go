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
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/toolspecs/lanes"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/worker"
)

// laneFleet serves lanes as they are configured, and goes on to serve them as they are configured anew. The general lane is
// not among them: it is the workflows'.
type laneFleet struct {
	*queueServer
	actions *activities.Activities
	failed  func(error)
	keeper  *keepers

	mu      sync.Mutex
	stopped bool
	served  map[string]*servedLane
	// retiring are workers that poll no more and whose calls go on to their end.
	retiring map[*laneWorker]bool
}

// servedLane is how a lane is served now.
type servedLane struct {
	workers []*laneWorker
}

// laneWorker is one SDK worker. slots is nil where its tasks are ended when it is stopped, whatever they do.
type laneWorker struct {
	worker.Worker
	lane        string
	duty        duty
	slots       *slotsSupplier
	workerSlots *activities.WorkerSlots
}

func newLaneFleet(s *queueServer, actions *activities.Activities, failed func(error)) *laneFleet {
	return &laneFleet{queueServer: s, actions: actions, failed: failed, served: map[string]*servedLane{}, retiring: map[*laneWorker]bool{},
		keeper: newKeepers(s.conn, s.config)}
}

// serves returns the names of the lanes of a set that this worker serves, but for those without a task queue.
func (c Config) serves(set *lanes.Set) []string {
	names := c.Lanes
	if len(names) == 0 {
		names = set.Names()
	}
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return name == api.LaneInline })
}

// apply serves the lanes of a set, each by its rules.
func (f *laneFleet) apply(set *lanes.Set) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.stopped {
		return nil
	}
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

// names returns the names of the lanes that are served, sorted.
func (f *laneFleet) names() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Sorted(maps.Keys(f.served))
}

// applyLane serves a lane by its rules. Workers that do what they did so far are kept, with all that runs there.
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
		w, err := f.workerOf(lane, d)
		if err != nil {
			return err // what served the lane so far goes on
		}
		now, fresh = append(now, w), append(fresh, w)
	}
	if err := startAll(fresh); err != nil {
		return err
	}
	f.served[lane.Name] = &servedLane{workers: now}
	f.retire(slices.DeleteFunc(slices.Clone(before), func(w *laneWorker) bool { return slices.Contains(now, w) }))
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

// duty is what a worker does for a lane.
type duty struct {
	kind  dutyKind
	queue string
	rate  float64
}

type dutyKind int

const (
	// dutySlots takes slots of a lane with a limit. Holders go by the lane's rules themselves, but for its queue.
	dutySlots dutyKind = iota
	// dutyCalls executes the calls of a lane without one.
	dutyCalls
	// dutyBypass executes calls that the rules do not apply to.
	dutyBypass
	// dutyHolds holds instances of stateful tools.
	dutyInstances
)

// duties returns what is to be done for a lane that is served by the workers before.
func (f *laneFleet) duties(lane api.Lane, before []*laneWorker) (all []duty) {
	switch {
	case lane.Limited():
		all = append(all, duty{kind: dutySlots, queue: lane.Queue})
	case lane.Name != api.LaneGeneral:
		all = append(all, duty{kind: dutyCalls, queue: lane.TaskQueue(f.config.TaskQueue, ""), rate: lane.Rate})
	}
	// Where nobody bypasses the lane any more, calls that did may still be made again.
	if len(lane.Bypass) > 0 || slices.ContainsFunc(before, func(w *laneWorker) bool { return w.duty.kind == dutyBypass }) {
		all = append(all, duty{kind: dutyBypass, queue: api.BypassQueue(f.config.TaskQueue, lane.Name)})
	}
	if len(f.config.Stateful) > 0 {
		all = append(all, duty{kind: dutyInstances})
	}
	return all
}

func (f *laneFleet) workerOf(lane api.Lane, d duty) (*laneWorker, error) {
	switch d.kind {
	case dutySlots:
		return &laneWorker{lane: lane.Name, duty: d, Worker: f.slotsWorker(lane)}, nil
	case dutyInstances:
		return &laneWorker{lane: lane.Name, duty: d, Worker: f.instancesWorker(lane)}, nil
	}
	workerSlots := activities.NewWorkerSlots(f.config.Concurrency)
	tool, model := f.actions.Behind(workerSlots, lane.Name)
	w, slots, err := f.workerSlots(activities.ServedQueue{Queue: d.queue, Rate: d.rate, Lane: lane.Name, WorkerSlots: workerSlots, Tool: tool, Model: model, Failed: f.failedLane(lane)})
	return &laneWorker{lane: lane.Name, duty: d, Worker: w, slots: slots, workerSlots: workerSlots}, err
}

func (f *laneFleet) failedLane(lane api.Lane) func(error) {
	return func(err error) { f.failed(fmt.Errorf("a worker of lane %s failed: %w", lane.Name, err)) }
}

// slotsWorker takes groups of a lane's slots. Holding them costs next to nothing, so that it takes all it can get.
func (f *laneFleet) slotsWorker(lane api.Lane) worker.Worker {
	o := f.options(lane.Name, f.failedLane(lane))
	o.MaxConcurrentActivityTaskPollers = 1
	w := worker.New(f.conn, api.SlotsQueue(f.config.TaskQueue, lane.Name), o)
	w.RegisterActivityWithOptions(f.actions.Slots, activity.RegisterOptions{Name: api.ServeSlotsActivity})
	return w
}

// holdsWorker holds instances of the lane's stateful tools. They take no slots of the lane's calls: an instance lives as
// long as its run, and others' calls must not wait for that.
func (f *laneFleet) instancesWorker(lane api.Lane) worker.Worker {
	o := f.options(lane.Name, f.failedLane(lane))
	o.MaxConcurrentActivityExecutionSize = f.config.Instances
	w := worker.New(f.conn, api.InstanceHostQueue(f.config.TaskQueue, lane.Name), o)
	w.RegisterActivityWithOptions(f.actions.HostInstance, activity.RegisterOptions{Name: api.HostInstanceActivity})
	return w
}

// retire has workers poll no more, and stops them when their calls have ended. The caller holds mu.
func (f *laneFleet) retire(workers []*laneWorker) {
	for _, w := range workers {
		f.retiring[w] = true
		if w.workerSlots != nil {
			w.workerSlots.Close()
		}
		if w.duty.kind == dutySlots {
			f.actions.LeaveSlots(w.lane)
		}
		go func() {
			if w.slots != nil {
				<-w.slots.drained()
			}
			w.Stop()
			f.mu.Lock()
			defer f.mu.Unlock()
			delete(f.retiring, w)
		}()
	}
}

// stop stops all lanes at once, and returns when they have.
func (f *laneFleet) stop() {
	patience, cancel := context.WithTimeout(context.Background(), f.config.StopTimeout+requeue)
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
	f.actions.AwaitSlots(patience) // calls of a lane that was left before may still run
}

// reapply is the wait before lanes are tried again that could not be served as they are configured.
const reapply = 5 * time.Second

// follow applies every new set of lanes until ctx ends, again where the server could not be asked. told is called with each
// when it is served.
func (f *laneFleet) follow(ctx context.Context, changed <-chan *lanes.Set, told func(*lanes.Set)) {
	var again <-chan time.Time
	var set *lanes.Set
	for {
		select {
		case <-ctx.Done():
			return
		case set = <-changed:
		case <-again:
		}
		again = nil
		if err := f.apply(set); err != nil {
			f.config.Logger.Warn("lanes are not served yet as they are configured", "error", err)
			again = time.After(reapply)
		}
		told(set)
	}
}
