package host

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/switchyard/switchyard"
	"github.com/switchyard/switchyard/activities"
	"github.com/switchyard/switchyard/toolspecs/lanes"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/worker"
)

// laneFleet serves lanes as they are configured, and goes on to serve them as they are configured anew. The general lane is
// not among them: it is the workflows'.
type laneFleet struct {
	*queueServer
	deeds  *activities.Activities
	failed func(error)
	keeper *keepers

	mu      sync.Mutex
	stopped bool
	served  map[string]*servedLane
	// retiring are workers that poll no more and whose calls go on to their end.
	retiring map[*laneWorker]bool
}

// servedLane is how a lane is served now.
type servedLane struct {
	lane    switchyard.Lane
	workers []*laneWorker
}

// laneWorker is one SDK worker. slots is nil where its tasks are ended when it is stopped, whatever they do.
type laneWorker struct {
	worker.Worker
	slots *doorSupplier
	door  *activities.Door
}

func newLaneFleet(s *queueServer, deeds *activities.Activities, failed func(error)) *laneFleet {
	return &laneFleet{queueServer: s, deeds: deeds, failed: failed, served: map[string]*servedLane{}, retiring: map[*laneWorker]bool{},
		keeper: newKeepers(s.conn, s.config)}
}

// serves returns the names of the lanes of a set that this worker serves, but for those without a task queue.
func (c Config) serves(set *lanes.Set) []string {
	names := c.Lanes
	if len(names) == 0 {
		names = set.Names()
	}
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return name == switchyard.LaneInline })
}

// apply serves the lanes of a set, each by its rules, and serves those no more that are not among them.
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
	for name, s := range f.served {
		if !slices.Contains(names, name) {
			f.retire(s)
			delete(f.served, name)
			f.keeper.forget(name)
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

func (f *laneFleet) applyLane(lane switchyard.Lane) error {
	before := f.served[lane.Name]
	if before != nil && sameService(before.lane, lane) {
		before.lane = lane
		f.keeper.keep(lane)
		return nil
	}
	workers, err := f.workersOf(lane)
	if err == nil {
		err = startAll(workers)
	}
	if err != nil {
		return err // what served the lane so far goes on
	}
	f.served[lane.Name] = &servedLane{lane: lane, workers: workers}
	if before != nil {
		f.retire(before)
	}
	f.keeper.keep(lane)
	return nil
}

// sameService reports whether the same workers serve both: holders of slots go by the lane's other rules themselves.
func sameService(a, b switchyard.Lane) bool {
	if a.Limited() != b.Limited() || a.Queue != b.Queue || (len(a.Bypass) > 0) != (len(b.Bypass) > 0) {
		return false
	}
	return a.Limited() || a.Rate == b.Rate
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

// workersOf makes the workers of a lane: one that executes its calls, or where it has a limit, one that takes slots; one for
// calls that its rules do not apply to; and one that holds instances of stateful tools.
func (f *laneFleet) workersOf(lane switchyard.Lane) ([]*laneWorker, error) {
	var workers []*laneWorker
	var queues []activities.ServedQueue
	switch {
	case lane.Limited():
		workers = append(workers, f.slotsWorker(lane))
	case lane.Name != switchyard.LaneGeneral:
		queues = append(queues, activities.ServedQueue{Queue: lane.TaskQueue(f.config.TaskQueue, ""), Rate: lane.Rate})
	}
	if len(lane.Bypass) > 0 {
		queues = append(queues, activities.ServedQueue{Queue: switchyard.BypassQueue(f.config.TaskQueue, lane.Name)})
	}
	for _, q := range queues {
		q.Lane, q.Door, q.Tool, q.Model, q.Failed = lane.Name, activities.NewDoor(f.config.Concurrency), f.deeds.Tool, f.deeds.ModelStep, f.failedLane(lane)
		w, slots, err := f.door(q)
		if err != nil {
			return nil, err
		}
		workers = append(workers, &laneWorker{Worker: w, slots: slots, door: q.Door})
	}
	if len(f.config.Stateful) > 0 {
		workers = append(workers, f.holdsWorker(lane))
	}
	return workers, nil
}

func (f *laneFleet) failedLane(lane switchyard.Lane) func(error) {
	return func(err error) { f.failed(fmt.Errorf("a worker of lane %s failed: %w", lane.Name, err)) }
}

// slotsWorker takes groups of a lane's slots. Holding them costs next to nothing, so that it takes all it can get.
func (f *laneFleet) slotsWorker(lane switchyard.Lane) *laneWorker {
	o := f.options(lane.Name, f.failedLane(lane))
	o.MaxConcurrentActivityTaskPollers = 1
	w := worker.New(f.conn, switchyard.SlotsQueue(f.config.TaskQueue, lane.Name), o)
	w.RegisterActivityWithOptions(f.deeds.Slots, activity.RegisterOptions{Name: switchyard.SlotsActivity})
	return &laneWorker{Worker: w}
}

// holdsWorker holds instances of the lane's stateful tools. They take no slots of the lane's calls: an instance lives as
// long as its run, and others' calls must not wait for that.
func (f *laneFleet) holdsWorker(lane switchyard.Lane) *laneWorker {
	o := f.options(lane.Name, f.failedLane(lane))
	o.MaxConcurrentActivityExecutionSize = f.config.Instances
	w := worker.New(f.conn, switchyard.HoldQueue(f.config.TaskQueue, lane.Name), o)
	w.RegisterActivityWithOptions(f.deeds.Hold, activity.RegisterOptions{Name: switchyard.HoldActivity})
	return &laneWorker{Worker: w}
}

// retire has workers poll no more, and stops them when their calls have ended. The caller holds mu.
func (f *laneFleet) retire(s *servedLane) {
	for _, w := range s.workers {
		f.retiring[w] = true
		if w.door != nil {
			w.door.Close()
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
