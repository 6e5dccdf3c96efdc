package slots

import (
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/switchyard/switchyard/api"
)

// slotQueue is one task queue that a holder serves: the lane's, or that of one of its keys.
type slotQueue struct {
	holder *slotGroup
	// part stands for the key in the queue's name; "" of a lane without keys. lane is the lane's
	// name, with the part.
	part, queue, lane string
	semaphore         *semaphore

	// serving is held while the worker that polls is replaced by another.
	serving sync.Mutex

	mu sync.Mutex
	// current is the worker that polls, served are all that have calls.
	current *service
	served  map[*service]bool
	shut    bool
	// holds says that calls wait in the line here; where it is not set, those that cannot run at
	// once are handed back.
	hosts bool
	// tasks counts what has been taken from the queue and has not ended; ended is closed when one
	// does, and made anew.
	tasks  int
	ended  chan struct{}
	counts api.LaneCounts
	// used is when the last task ended or the key was asked for last, busy until when those that
	// run may come again, again until when those that failed may.
	used, busy, again time.Time
	// asked is when the key was last asked to be closed.
	asked time.Time
}

// service is one SDK worker on the queue.
type service struct {
	workerSlots *WorkerSlots
	rate        float64
	stop        func()
}

// spare is how many more calls than it has room for a line takes at a time, to turn them away.
const spare = 32

// start begins to serve a queue, unless it is served already. The caller holds mu.
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
	q.semaphore = h.hosted.semaphore(q.queue, h.request.Group)
	h.queues[part] = q
	go q.configure(h.lane)
}

// configure goes by the lane as it is configured now.
func (q *slotQueue) configure(lane api.Lane) {
	q.serving.Lock()
	defer q.serving.Unlock()
	share := q.holder.share(lane)
	q.mu.Lock()
	if q.shut {
		q.mu.Unlock()
		return
	}
	q.hosts = lane.UsesWaitQueue()
	if q.hosts {
		q.semaphore.line.configure(share, lane.WaitCapacity(), lane.Strategy)
		q.semaphore.resize(share + lane.WaitCapacity() + spare)
	} else {
		// whoever waits there from before stays
		q.semaphore.line.configure(share, math.MaxInt, lane.Strategy)
		q.semaphore.resize(share)
	}
	current := q.current
	q.mu.Unlock()
	if current == nil || current.rate != lane.Rate {
		q.serve(lane)
	}
}

// serve starts an SDK worker for the queue in place of the one before, which finishes its calls.
// The caller holds serving.
func (q *slotQueue) serve(lane api.Lane) {
	s := &service{workerSlots: q.semaphore.workerSlots(), rate: lane.Rate}
	stop, err := q.holder.config.ServeQueue(ServedQueue{Queue: q.queue, Lane: lane.Name,
		WorkerSlots: s.workerSlots, Rate: lane.Rate,
		Tool: q.tool, Model: q.model, Failed: q.fail})
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

// retire stops a worker that polls no more when nothing of the queue runs.
func (q *slotQueue) retire(s *service) {
	q.drain()
	s.stop()
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.served, s)
}

// drain returns when nothing of the queue runs.
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

// close has nothing more taken from the queue; what waits in the line is handed back.
func (q *slotQueue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	// the gate may be another holder's already, who got the group before this one knew that it had
	// lost it
	q.shut = true
	for s := range q.served {
		s.workerSlots.Close()
	}
	q.semaphore.line.turnAway(errLineClosed)
}

// stop stops the workers of a closed queue and returns when nothing of it runs any more. With
// patience, calls are given all the time they need, else as long as a worker that stops gives them.
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
	q.holder.hosted.drop(q.queue, q.holder.request.Group)
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

// addTo adds the queue's counts to c, and returns until when it must be served though nobody uses
// it.
func (q *slotQueue) addTo(c *api.LaneCounts) (needed time.Time) {
	q.mu.Lock()
	defer q.mu.Unlock()
	c.Add(q.counts)
	c.Waiting += q.semaphore.line.length()
	return later(q.busy, q.again)
}

// expect says that a call is about to be made with the key.
func (q *slotQueue) expect() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.used = time.Now()
}

// ratePatience is how many calls a rate lets start in the time for which a queue with that rate is
// kept at least: calls may wait there meanwhile, in several partitions that each have a part of the
// rate.
const ratePatience = 10

// idle reports whether nobody has used the queue for a time and nobody is expected. Nobody can have
// where nobody polls.
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
