package slots

import (
	"fmt"
	"math"
	"sync"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/lanerules"
)

// slotQueue is one served task queue: that of the lane, or one of those of a keyed lane.
type slotQueue struct {
	holder    *slotGroup
	queue     string
	semaphore *semaphore

	// serving is held while the polling worker is replaced.
	serving sync.Mutex

	mu sync.Mutex
	// current is the worker that polls, served are all workers that have calls.
	current *service
	served  map[*service]bool
	shut    bool
	// waits means that calls wait in this process; otherwise calls that cannot run immediately are
	// requeued.
	waits bool
	// tasks counts the tasks taken from the queue that have not ended; ended is closed and replaced
	// when one ends.
	tasks  int
	ended  chan struct{}
	counts lanerules.Counts
}

// service is one SDK worker on the queue.
type service struct {
	workerSlots *WorkerSlots
	rate        float64
	counted     bool
	stop        func()
}

const (
	// spare is how many calls beyond its capacity a wait queue takes at a time in order to reject
	// them.
	spare = 32
	// keyedCalls is how many calls of one task queue of a keyed lane a worker has beside those of
	// one full key, so that a key with many waiting calls does not keep those of other keys at the
	// server.
	keyedCalls = 1000
)

// start starts to serve a task queue. The caller holds mu.
func (h *slotGroup) start(queue string) {
	q := &slotQueue{holder: h, queue: queue, served: map[*service]bool{},
		ended: make(chan struct{}), semaphore: h.owned.semaphore(queue, h.request.Group)}
	h.queues = append(h.queues, q)
	go q.configure(h.lane)
}

// configure applies the lane's current configuration.
func (q *slotQueue) configure(lane api.Lane) {
	q.serving.Lock()
	defer q.serving.Unlock()
	q.mu.Lock()
	if q.shut {
		q.mu.Unlock()
		return
	}
	q.waits = lane.UsesWaitQueue()
	rules, permits := rulesFromLane(lane, q.holder.share(lane))
	q.semaphore.queues.configure(rules)
	q.semaphore.resize(permits)
	current, rate := q.current, lane.Rate
	q.mu.Unlock()
	if lane.HasKey() {
		rate = 0 // it applies to each key
	}
	if current == nil || current.rate != rate || current.counted == lane.UsesWaitQueue() {
		q.serve(lane, rate)
	}
}

// rulesFromLane returns the rules of the wait queues of a task queue, and how many calls are taken
// from
// it at a time.
func rulesFromLane(lane api.Lane, share int) (r waitRules, permits int) {
	r = waitRules{limit: share, space: lanerules.WaitCapacity(lane), strategy: lane.Strategy}
	switch {
	case lane.HasKey():
		r.rate, permits = lane.Rate, share+r.space+keyedCalls
	case lane.UsesWaitQueue():
		permits = share + r.space + spare
	default:
		r.space, permits = math.MaxInt, share // calls that already wait here stay
	}
	return r, permits
}

// serve starts an SDK worker for the queue and replaces the previous one, which finishes its calls.
// The caller holds serving.
func (q *slotQueue) serve(lane api.Lane, rate float64) {
	s := &service{workerSlots: q.semaphore.workerSlots(), rate: rate,
		counted: !lane.UsesWaitQueue()}
	tool := q.tool
	if s.counted {
		tool = q.holder.requeueIf(q.holder.excess, lane.Name, tool)
	}
	stop, err := q.holder.config.ServeQueue(ServedQueue{Queue: q.queue, Lane: lane.Name,
		WorkerSlots: s.workerSlots, Rate: rate, Keyed: lane.HasKey(),
		Counted: s.counted, Tool: tool, Model: q.model, Failed: q.fail})
	if err != nil {
		q.holder.log.Warn("a task queue of the lane cannot be served yet", append(q.holder.fields(),
			"queue", q.queue, "error", err)...)
		return // it is tried again soon
	}
	s.stop = stop
	q.mu.Lock()
	defer q.mu.Unlock()
	q.served[s] = true
	if before := q.current; before != nil {
		before.workerSlots.Close()
		go q.retire(before)
	}
	q.current = s
	if q.shut {
		s.workerSlots.Close()
	}
}

// polls reports whether a worker polls the queue.
func (q *slotQueue) polls() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.current != nil
}

func (q *slotQueue) fail(err error) {
	select {
	case q.holder.failed <- fmt.Errorf("task queue %s: %w", q.queue, err):
	default: // one is enough
	}
}

// retire stops a worker that no longer polls once no task of the queue runs.
func (q *slotQueue) retire(s *service) {
	q.drain()
	s.stop()
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.served, s)
}

// drain returns when no task of the queue runs.
func (q *slotQueue) drain() {
	for {
		q.mu.Lock()
		tasks, ended := q.tasks, q.ended
		q.mu.Unlock()
		if tasks == 0 {
			return
		}
		<-ended
	}
}

// close stops taking tasks from the queue and requeues waiting calls.
func (q *slotQueue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	// another holder may already own the semaphore, if it got the group before this one noticed
	q.shut = true
	for s := range q.served {
		s.workerSlots.Close()
	}
	q.semaphore.queues.turnAway(errQueueClosed)
}

// stop stops the workers of a closed queue and returns when none of its tasks runs. A patient stop
// waits for calls without limit, otherwise for the worker's stop timeout.
func (q *slotQueue) stop(patient bool) {
	if patient {
		q.drain()
	}
	q.serving.Lock() // a worker that is being started is stopped too
	defer q.serving.Unlock()
	q.mu.Lock()
	services := make([]*service, 0, len(q.served))
	for s := range q.served {
		services = append(services, s)
	}
	q.mu.Unlock()
	var all sync.WaitGroup
	for _, s := range services {
		all.Go(s.stop)
	}
	all.Wait()
	q.drain()
	q.holder.owned.drop(q.queue, q.holder.request.Group)
}

// take and end count the tasks that have been taken from the queue.
func (q *slotQueue) take() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.tasks++
}

func (q *slotQueue) end(count func(*lanerules.Counts)) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if count != nil {
		count(&q.counts)
	}
	q.tasks--
	close(q.ended)
	q.ended = make(chan struct{})
}

func (q *slotQueue) count(count func(*lanerules.Counts)) {
	q.mu.Lock()
	defer q.mu.Unlock()
	count(&q.counts)
}

// addTo adds the queue's counts to c.
func (q *slotQueue) addTo(c *lanerules.Counts) {
	q.mu.Lock()
	defer q.mu.Unlock()
	c.Add(q.counts)
	keys, waiting := q.semaphore.queues.length()
	c.Waiting += waiting
	if q.holder.request.Lane.HasKey() {
		c.Keys += keys
	}
}
