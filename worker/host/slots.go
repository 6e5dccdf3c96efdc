package host

import (
	"context"
	"fmt"
	"sync"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/worker"

	"github.com/switchyard/switchyard/activities/instances"
	"github.com/switchyard/switchyard/activities/slots"
	"github.com/switchyard/switchyard/api"
)

// maxPollers bounds the concurrent polls of one task queue.
const maxPollers = 5

// slotsSupplier is the worker.SlotSupplier of WorkerSlots: the SDK asks it for a permit before it
// polls. It grants no permits to eager calls, which would bypass the queue and its order and rate.
type slotsSupplier struct {
	workerSlots *slots.WorkerSlots

	mu      sync.Mutex
	running int
	quiet   chan struct{} // closed while nothing runs
}

func newSlotsSupplier(workerSlots *slots.WorkerSlots) *slotsSupplier {
	s := &slotsSupplier{workerSlots: workerSlots, quiet: make(chan struct{})}
	close(s.quiet)
	return s
}

// ReserveSlot implements worker.SlotSupplier.
func (s *slotsSupplier) ReserveSlot(ctx context.Context,
	_ worker.SlotReservationInfo) (*worker.SlotPermit, error) {
	if err := s.workerSlots.Reserve(ctx); err != nil {
		return nil, err
	}
	return &worker.SlotPermit{UserData: new(bool)}, nil
}

// TryReserveSlot implements worker.SlotSupplier.
func (s *slotsSupplier) TryReserveSlot(worker.SlotReservationInfo) *worker.SlotPermit { return nil }

// MarkSlotUsed implements worker.SlotSupplier.
func (s *slotsSupplier) MarkSlotUsed(info worker.SlotMarkUsedInfo) {
	if used, ok := info.Permit().UserData.(*bool); ok {
		*used = true
		s.count(1)
	}
}

// ReleaseSlot implements worker.SlotSupplier.
func (s *slotsSupplier) ReleaseSlot(info worker.SlotReleaseInfo) {
	if used, ok := info.Permit().UserData.(*bool); ok && *used {
		s.count(-1)
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

// drained returns a channel that is closed while nothing runs.
func (s *slotsSupplier) drained() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.quiet
}

// queueServer creates the workers of single task queues: one for each stateful instance, and one
// for each queue of a lane or of a key.
type queueServer struct {
	config    Config
	conn      client.Client
	canceller *canceller
	observer  *observer
	// tracing follows the runs that this process executes.
	tracing *tracing
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
	w.RegisterDynamicActivity(i.Tool, activity.DynamicRegisterOptions{})
	return started(w)
}

// lane implements slots.ServeQueue.
func (s *queueServer) lane(q slots.ServedQueue) (stop func(), err error) {
	w, _, err := s.workerSlots(q)
	if err != nil {
		return nil, err
	}
	return started(w)
}

// workerSlots creates a worker that polls only with permits of WorkerSlots.
func (s *queueServer) workerSlots(q slots.ServedQueue) (worker.Worker, *slotsSupplier, error) {
	slots := newSlotsSupplier(q.WorkerSlots)
	tuner, err := tunerOf(slots)
	if err != nil {
		return nil, nil, err
	}
	o := s.options(q.Lane, q.Failed)
	o.Tuner, o.TaskQueueActivitiesPerSecond = tuner, q.Rate
	o.MaxConcurrentActivityTaskPollers = max(min(q.WorkerSlots.Size(), maxPollers), 1)
	w := worker.New(s.conn, q.Queue, o)
	w.RegisterActivityWithOptions(q.Model, activity.RegisterOptions{Name: api.ModelActivity})
	w.RegisterDynamicActivity(q.Tool, activity.DynamicRegisterOptions{})
	return w, slots, nil
}

// tunerOf returns a tuner that uses slots for activities. Such a worker has no other kinds of
// tasks.
func tunerOf(slots worker.SlotSupplier) (worker.WorkerTuner, error) {
	one, err := worker.NewFixedSizeSlotSupplier(1)
	if err != nil {
		return nil, err
	}
	return worker.NewCompositeTuner(worker.CompositeTunerOptions{WorkflowSlotSupplier: one,
		ActivitySlotSupplier:      slots,
		LocalActivitySlotSupplier: one, NexusSlotSupplier: one, SessionActivitySlotSupplier: one})
}

func started(w worker.Worker) (stop func(), err error) {
	if err := w.Start(); err != nil {
		return nil, fmt.Errorf("start to poll: %w", err)
	}
	return w.Stop, nil
}
