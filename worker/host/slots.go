package host

import (
	"context"
	"fmt"
	"sync"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/worker"

	"github.com/switchyard/switchyard/activities/instances"
	"github.com/switchyard/switchyard/activities/slots"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/toolspecs"
	"github.com/switchyard/switchyard/worker/host/concurrency"
)

// maxPollers bounds the concurrent polls of the task queue of a lane. A keyed lane has one for
// each of its task queues.
const maxPollers = 5

// backlogged is how soon after the start of a poll a task arrives if it already waited, or if the
// queue is busy.
const backlogged = 100 * time.Millisecond

// slotsSupplier is the worker.SlotSupplier of WorkerSlots: the SDK asks it for a permit before it
// polls. It grants no permits to eager calls, which would bypass the queue and its order and rate.
//
// An idle queue has one open poll, because a server limits the open polls of a namespace. A task
// that arrives as soon as its poll is open allows all polls; each poll without a task takes one
// back. The SDK's autoscaling adds one poller per 100 ms at most, which delays bursts.
type slotsSupplier struct {
	workerSlots *slots.WorkerSlots
	// pollers is the maximum number of open polls.
	pollers int

	mu      sync.Mutex
	running int
	quiet   chan struct{} // closed while nothing runs
	// polling counts the open polls, of which allowed are allowed.
	polling, allowed int
	changed          chan struct{} // closed and replaced when a poll may be opened
}

// permit is the user data of a worker.SlotPermit.
type permit struct {
	polled time.Time
	used   bool
}

func newSlotsSupplier(workerSlots *slots.WorkerSlots, pollers int) *slotsSupplier {
	s := &slotsSupplier{workerSlots: workerSlots, pollers: pollers, allowed: 1,
		quiet: make(chan struct{}), changed: make(chan struct{})}
	close(s.quiet)
	return s
}

// ReserveSlot implements worker.SlotSupplier.
func (s *slotsSupplier) ReserveSlot(ctx context.Context,
	_ worker.SlotReservationInfo) (*worker.SlotPermit, error) {
	if err := s.open(ctx); err != nil {
		return nil, err
	}
	if err := s.workerSlots.Reserve(ctx); err != nil {
		s.closePoll(func() {})
		return nil, err
	}
	return &worker.SlotPermit{UserData: &permit{polled: time.Now()}}, nil
}

// open waits until a poll may be opened. It returns the error of ctx.
func (s *slotsSupplier) open(ctx context.Context) error {
	for {
		s.mu.Lock()
		if s.polling < s.allowed {
			s.polling++
			s.mu.Unlock()
			return nil
		}
		changed := s.changed
		s.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// closePoll counts a poll that has ended and wakes the pollers that wait. allow may change allowed.
func (s *slotsSupplier) closePoll(allow func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.polling--
	allow()
	close(s.changed)
	s.changed = make(chan struct{})
}

// TryReserveSlot implements worker.SlotSupplier.
func (s *slotsSupplier) TryReserveSlot(worker.SlotReservationInfo) *worker.SlotPermit { return nil }

// MarkSlotUsed implements worker.SlotSupplier.
func (s *slotsSupplier) MarkSlotUsed(info worker.SlotMarkUsedInfo) {
	p, ok := info.Permit().UserData.(*permit)
	if !ok {
		return
	}
	p.used = true
	s.count(1)
	s.closePoll(func() {
		if time.Since(p.polled) < backlogged {
			s.allowed = s.pollers
		}
	})
}

// ReleaseSlot implements worker.SlotSupplier.
func (s *slotsSupplier) ReleaseSlot(info worker.SlotReleaseInfo) {
	p, ok := info.Permit().UserData.(*permit)
	switch {
	case ok && p.used:
		s.count(-1)
	case ok:
		s.closePoll(func() { s.allowed = max(s.allowed-1, 1) })
	}
	s.workerSlots.Release()
}

// MaxSlots implements worker.SlotSupplier.
func (s *slotsSupplier) MaxSlots() int { return s.workerSlots.Size() }

func (s *slotsSupplier) count(change int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.running
	s.running += change
	switch {
	case before == 0:
		s.quiet = make(chan struct{})
	case s.running == 0:
		close(s.quiet)
	}
}

// idleSignal returns a channel that is closed while nothing runs.
func (s *slotsSupplier) idleSignal() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.quiet
}

// queueServer creates the workers of single task queues: one for each instance of a stateful tool
// or MCP session, and one for each queue of a lane.
type queueServer struct {
	config    Config
	conn      client.Client
	canceller *canceller
	observer  *observer
	// limit is that over all lanes; nil for none.
	limit *concurrency.Limit
	// catalog returns the current tools; nil means none.
	catalog func() *toolspecs.Catalog
}

// options returns the options that all workers except the one of workflows share.
func (s *queueServer) options(lane string, failed func(error)) worker.Options {
	return worker.Options{
		DisableWorkflowWorker:        true,
		DisableEagerActivities:       true,
		MaxHeartbeatThrottleInterval: heartbeatThrottle,
		WorkerStopTimeout:            s.config.StopTimeout + reportTime,
		Interceptors: []interceptor.WorkerInterceptor{s.canceller,
			s.observer.forLane(lane)},
		OnFatalError: failed,
	}
}

// instance implements instances.Serve.
func (s *queueServer) instance(i instances.Served) (stop func(), err error) {
	o := s.options(i.Lane, i.Failed)
	o.MaxConcurrentActivityExecutionSize, o.MaxConcurrentActivityTaskPollers = s.config.Concurrency,
		1
	w := worker.New(s.conn, i.Queue, o)
	w.RegisterActivityWithOptions(i.HostInstance,
		activity.RegisterOptions{Name: api.HostInstanceActivity})
	w.RegisterActivityWithOptions(i.Close,
		activity.RegisterOptions{Name: api.CloseInstanceActivity})
	w.RegisterDynamicActivity(i.Tool, activity.DynamicRegisterOptions{})
	return startWorker(w)
}

// lane implements slots.ServeQueue.
func (s *queueServer) lane(q slots.ServedQueue) (stop func(), err error) {
	w, _, err := s.workerSlots(q)
	if err != nil {
		return nil, err
	}
	return startWorker(w)
}

// workerSlots creates a worker that polls only with permits of WorkerSlots.
func (s *queueServer) workerSlots(q slots.ServedQueue) (worker.Worker, *slotsSupplier, error) {
	pollers := max(min(q.WorkerSlots.Size(), maxPollers), 1)
	if q.Keyed {
		pollers = 1
	}
	slots := newSlotsSupplier(q.WorkerSlots, pollers)
	var supplier worker.SlotSupplier = slots
	if q.Counted {
		supplier = s.limit.Supplier(slots)
	}
	tuner, err := newTuner(supplier)
	if err != nil {
		return nil, nil, err
	}
	o := s.options(q.Lane, q.Failed)
	o.Tuner, o.TaskQueueActivitiesPerSecond = tuner, q.Rate
	o.MaxConcurrentActivityTaskPollers = pollers
	w := worker.New(s.conn, q.Queue, o)
	w.RegisterActivityWithOptions(q.Model, activity.RegisterOptions{Name: api.ModelActivity})
	w.RegisterDynamicActivity(q.Tool, activity.DynamicRegisterOptions{})
	return w, slots, nil
}

// newTuner returns a tuner that uses slots for activities. Such a worker has no other kinds of
// tasks.
func newTuner(slots worker.SlotSupplier) (worker.WorkerTuner, error) {
	one, err := worker.NewFixedSizeSlotSupplier(1)
	if err != nil {
		return nil, err
	}
	return worker.NewCompositeTuner(worker.CompositeTunerOptions{WorkflowSlotSupplier: one,
		ActivitySlotSupplier:      slots,
		LocalActivitySlotSupplier: one, NexusSlotSupplier: one, SessionActivitySlotSupplier: one})
}

// usualTasks is the SDK's default number of concurrent workflow tasks and of local activities.
const usualTasks = 1000

// generalTuner returns the tuner of the worker of workflows, whose activities count for the limit
// over all lanes.
func (s *queueServer) generalTuner() worker.WorkerTuner {
	fixed := func(size int) worker.SlotSupplier {
		supplier, err := worker.NewFixedSizeSlotSupplier(size)
		if err != nil {
			panic(err) // sizes are checked to be positive
		}
		return supplier
	}
	tuner, err := worker.NewCompositeTuner(worker.CompositeTunerOptions{
		WorkflowSlotSupplier:        fixed(usualTasks),
		ActivitySlotSupplier:        s.limit.Supplier(fixed(s.config.Concurrency)),
		LocalActivitySlotSupplier:   fixed(usualTasks),
		NexusSlotSupplier:           fixed(usualTasks),
		SessionActivitySlotSupplier: fixed(usualTasks)})
	if err != nil {
		panic(err) // all suppliers are set
	}
	return tuner
}

func startWorker(w worker.Worker) (stop func(), err error) {
	if err := w.Start(); err != nil {
		return nil, fmt.Errorf("start to poll: %w", err)
	}
	return w.Stop, nil
}
