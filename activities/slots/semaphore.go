package slots

import (
	"context"
	"sync"
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
		w.semaphore.mu.Lock()
		taken := !w.closed && w.semaphore.used < w.semaphore.size
		if taken {
			w.semaphore.used++
		}
		changed := w.semaphore.changed
		w.semaphore.mu.Unlock()
		if taken {
			return nil
		}
		select {
		case <-changed:
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
