package slots

import (
	"context"
	"sync"
)

// semaphore issues permits, at most size at a time. One semaphore serves a group of a lane's slots
// in this process, however often the group is given up and taken over again: a call that does not
// stop keeps its permit and its slot, so that the calls of the process never exceed the limit.
type semaphore struct {
	queue *waitQueue

	mu         sync.Mutex
	size, used int
	changed    chan struct{}
	// users counts the queues that use the semaphore; guarded by ownedSlots.mu.
	users int
}

func newSemaphore() *semaphore {
	return &semaphore{queue: newWaitQueue(),
		changed: make(chan struct{})}
}

func (g *semaphore) idle() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.used == 0
}

// resize changes the number of permits. Issued permits stay valid.
func (g *semaphore) resize(size int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if size != g.size {
		g.size = size
		g.wake()
	}
}

// wake wakes all waiters. The caller holds mu.
func (g *semaphore) wake() {
	close(g.changed)
	g.changed = make(chan struct{})
}

// WorkerSlots gives the pollers of one SDK worker access to a semaphore. After Close it issues no
// permits; issued permits can still be released.
type WorkerSlots struct {
	semaphore *semaphore
	closed    bool
}

func (g *semaphore) workerSlots() *WorkerSlots { return &WorkerSlots{semaphore: g} }

// Reserve waits for a permit to poll for a call and execute it. It returns the error of ctx.
func (d *WorkerSlots) Reserve(ctx context.Context) error {
	for {
		d.semaphore.mu.Lock()
		if !d.closed && d.semaphore.used < d.semaphore.size {
			d.semaphore.used++
			d.semaphore.mu.Unlock()
			return nil
		}
		changed := d.semaphore.changed
		d.semaphore.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Release returns a permit.
func (d *WorkerSlots) Release() {
	d.semaphore.mu.Lock()
	defer d.semaphore.mu.Unlock()
	d.semaphore.used--
	d.semaphore.wake()
}

// Size returns the maximum number of permits.
func (d *WorkerSlots) Size() int {
	d.semaphore.mu.Lock()
	defer d.semaphore.mu.Unlock()
	return d.semaphore.size
}

// NewWorkerSlots returns worker slots with their own semaphore of size permits.
func NewWorkerSlots(size int) *WorkerSlots {
	g := newSemaphore()
	g.size = size
	return g.workerSlots()
}

// Close stops issuing permits.
func (d *WorkerSlots) Close() {
	d.semaphore.mu.Lock()
	defer d.semaphore.mu.Unlock()
	d.closed = true
}

func (d *WorkerSlots) isClosed() bool {
	d.semaphore.mu.Lock()
	defer d.semaphore.mu.Unlock()
	return d.closed
}
