package slots

import (
	"context"
	"sync"
	"time"
)

// semaphore issues permits, at most size at a time. One semaphore serves a group of a lane's slots
// in this process, however often the group is given up and taken over again: a call that does not
// stop keeps its permit and its slot, so that the calls of the process never exceed the limit. On a
// lane with wait queues, size includes the waiting calls, and waitRules.limit is the lane's limit.
type semaphore struct {
	queues *waitQueues

	mu         sync.Mutex
	size, used int
	changed    chan struct{}
	// crowd is the number of permits from which on each further one only probes whether the server
	// has calls of other keys; zero is none. The next probe is at the time next, the pause before
	// the one after that is at least pause.
	crowd int
	next  time.Time
	pause time.Duration
	// users counts the queues that use the semaphore; guarded by ownedSlots.mu.
	users int
}

func newSemaphore() *semaphore {
	return &semaphore{queues: newWaitQueues(), changed: make(chan struct{})}
}

func (s *semaphore) idle() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.used == 0
}

// resize changes the number of permits. Issued permits stay valid.
func (s *semaphore) resize(size int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if size != s.size {
		s.size = size
		s.wake()
	}
}

// Bounds of the time between two probes. A probe that finds a call of a crowded key doubles it, one
// that finds a call of another key ends it.
const (
	minProbe = 50 * time.Millisecond
	maxProbe = 10 * time.Second
)

// probeFrom sets from how many permits on further ones are probes; zero means that none are.
func (s *semaphore) probeFrom(crowd int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if crowd != s.crowd {
		s.crowd = crowd
		s.wake()
	}
}

// recordProbe records what a probe found.
func (s *semaphore) recordProbe(found, crowded bool, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case found:
		s.pause, s.next = 0, time.Time{}
		s.wake()
	case crowded:
		s.pause = min(max(2*s.pause, minProbe), maxProbe)
		s.next = now.Add(s.pause)
	}
}

// take issues a permit if there is one. Otherwise it returns after which time there may be one, or
// zero if one has to be released before. The caller holds mu.
func (s *semaphore) take(now time.Time) (taken bool, wait time.Duration) {
	if s.used >= s.size {
		return false, 0
	}
	if s.crowd > 0 && s.used >= s.crowd {
		if wait = s.next.Sub(now); wait > 0 {
			return false, wait
		}
		s.next = now.Add(max(s.pause, minProbe)) // until it is known what this one finds
	}
	s.used++
	return true, 0
}

// wake wakes all waiters. The caller holds mu.
func (s *semaphore) wake() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// WorkerSlots gives the pollers of one SDK worker access to a semaphore. After Close it issues no
// permits; issued permits can still be released.
type WorkerSlots struct {
	semaphore *semaphore
	closed    bool
}

func (s *semaphore) workerSlots() *WorkerSlots { return &WorkerSlots{semaphore: s} }

// Reserve waits for a permit to poll for a call and execute it. It returns the error of ctx.
func (w *WorkerSlots) Reserve(ctx context.Context) error {
	for {
		var due <-chan time.Time
		w.semaphore.mu.Lock()
		if !w.closed {
			taken, wait := w.semaphore.take(time.Now())
			if taken {
				w.semaphore.mu.Unlock()
				return nil
			}
			if wait > 0 {
				due = time.After(wait)
			}
		}
		changed := w.semaphore.changed
		w.semaphore.mu.Unlock()
		select {
		case <-changed:
		case <-due:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Release returns a permit.
func (w *WorkerSlots) Release() {
	w.semaphore.mu.Lock()
	defer w.semaphore.mu.Unlock()
	w.semaphore.used--
	w.semaphore.wake()
}

// Size returns the maximum number of permits.
func (w *WorkerSlots) Size() int {
	w.semaphore.mu.Lock()
	defer w.semaphore.mu.Unlock()
	return w.semaphore.size
}

// NewWorkerSlots returns worker slots with their own semaphore of size permits.
func NewWorkerSlots(size int) *WorkerSlots {
	s := newSemaphore()
	s.size = size
	return s.workerSlots()
}

// Close stops issuing permits.
func (w *WorkerSlots) Close() {
	w.semaphore.mu.Lock()
	defer w.semaphore.mu.Unlock()
	w.closed = true
}

func (w *WorkerSlots) isClosed() bool {
	w.semaphore.mu.Lock()
	defer w.semaphore.mu.Unlock()
	return w.closed
}
