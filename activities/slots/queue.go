package slots

import (
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/switchyard/switchyard/api"
)

// slotQueue is one served task queue: that of the lane or of one of its keys.
type slotQueue struct {
	holder *slotGroup
	// part identifies the key in the queue's name; "" for a lane without keys. lane is the lane's
	// name including the part.
	part, queue, lane string
	semaphore         *semaphore

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
	counts api.LaneCounts
	// used is when the last task ended or the key was last requested; busy is until when retries of
	// running tasks may arrive, again until when those of failed tasks may.
	used, busy, again time.Time
	// asked is when closing the key was last requested.
	asked time.Time
}

// service is one SDK worker on the queue.
type service struct {
	workerSlots *WorkerSlots
	rate        float64
	counted     bool
	stop        func()
}

// spare is how many calls beyond its capacity a wait queue takes at a time in order to reject them.
const spare = 32

// start starts to serve a queue unless it is served already. The caller holds mu.
func (h *slotGroup) start(part string) {
	if h.ended || h.queues[part] != nil {
		return
	}
	q := &slotQueue{holder: h, part: part, lane: h.lane.Name,
		queue:  h.lane.TaskQueue(h.request.Base, ""),
		served: map[*service]bool{}, ended: make(chan struct{}), used: time.Now()}
	if h.lane.Keyed() {
		q.lane += "/" + part
		q.queue = h.lane.QueueOfPart(h.request.Base, part)
	}
	if until := h.needed[part]; until > 0 {
		q.again = time.UnixMilli(until)
	}
	q.semaphore = h.owned.semaphore(q.queue, h.request.Group)
	h.queues[part] = q
	go q.configure(h.lane)
}

// configure applies the lane's current configuration.
func (q *slotQueue) configure(lane api.Lane) {
	q.serving.Lock()
	defer q.serving.Unlock()
	share := q.holder.share(lane)
	q.mu.Lock()
	if q.shut {
		q.mu.Unlock()
		return
	}
	q.waits = lane.UsesWaitQueue()
	if q.waits {
		q.semaphore.queue.configure(share, lane.WaitCapacity(), lane.Strategy)
		q.semaphore.resize(share + lane.WaitCapacity() + spare)
	} else {
		// calls that already wait here stay
		q.semaphore.queue.configure(share, math.MaxInt, lane.Strategy)
		q.semaphore.resize(share)
	}
	current := q.current
	q.mu.Unlock()
	if current == nil || current.rate != lane.Rate || current.counted == lane.UsesWaitQueue() {
		q.serve(lane)
	}
}

// serve starts an SDK worker for the queue and replaces the previous one, which finishes its calls.
// The caller holds serving.
func (q *slotQueue) serve(lane api.Lane) {
	s := &service{workerSlots: q.semaphore.workerSlots(), rate: lane.Rate,
		counted: !lane.UsesWaitQueue()}
	tool, model := q.tool, q.model
	if s.counted {
		tool, model = q.holder.unless(q.holder.excess, q.lane, tool, model)
	}
	stop, err := q.holder.config.ServeQueue(ServedQueue{Queue: q.queue, Lane: lane.Name,
		WorkerSlots: s.workerSlots, Rate: lane.Rate, Keyed: lane.Keyed(),
		Counted: s.counted, Tool: tool, Model: model, Failed: q.fail})
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
	q.semaphore.queue.turnAway(errQueueClosed)
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
func (q *slotQueue) take(again time.Time) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.tasks++
	q.busy = later(q.busy, again)
}

func (q *slotQueue) end(count func(*api.LaneCounts), again time.Time) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if count != nil {
		count(&q.counts)
	}
	q.again = later(q.again, again)
	q.used = time.Now()
	if q.tasks--; q.tasks == 0 {
		q.busy = time.Time{}
	}
	close(q.ended)
	q.ended = make(chan struct{})
}

func (q *slotQueue) count(count func(*api.LaneCounts)) {
	q.mu.Lock()
	defer q.mu.Unlock()
	count(&q.counts)
}

// addTo adds the queue's counts to c, and returns until when the queue must be served even if it is
// unused.
func (q *slotQueue) addTo(c *api.LaneCounts) (needed time.Time) {
	q.mu.Lock()
	defer q.mu.Unlock()
	c.Add(q.counts)
	c.Waiting += q.semaphore.queue.length()
	return later(q.busy, q.again)
}

// expect records that a call with the key is expected.
func (q *slotQueue) expect() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.used = time.Now()
}

// ratePatience is how many calls may start at a queue's rate during the minimum time for which it
// stays open. Calls may wait at the server meanwhile, in several partitions that each have a part
// of the rate.
const ratePatience = 10

// idle reports whether the queue was unused for the timeout and no call is expected. It is false
// while no worker polls.
func (q *slotQueue) idle(timeout time.Duration, now time.Time) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.current == nil {
		return false
	}
	if rate := q.current.rate; rate > 0 {
		timeout = max(timeout, time.Duration(ratePatience/rate*float64(time.Second)))
	}
	return q.tasks == 0 && now.Sub(q.used) >= timeout && now.After(q.again)
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
