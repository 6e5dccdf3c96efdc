package slots

import (
	"context"
	"sync"
)

// gate hands out permits, at most size at a time. One gate stands for a group of a lane's slots in
// this process, however often the group is given up and taken over again: a call that does not stop
// keeps its permit, and its place in the line, so that the process never overlaps itself.
type semaphore struct {
	line *line

	mu         sync.Mutex
	size, used int
	changed    chan struct{}
	// users counts the queues that go by the gate; heldSlots.mu guards it.
	users int
}

func newSemaphore() *semaphore {
	return &semaphore{line: newWaitQueue(),
		changed: make(chan struct{})}
}

func (g *semaphore) idle() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.used == 0
}

// resize changes how many permits there are. Those that are handed out already stay so.
func (g *semaphore) resize(size int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if size != g.size {
		g.size = size
		g.wake()
	}
}

// wake tells whoever waits that something has changed. The caller holds mu.
func (g *semaphore) wake() {
	close(g.changed)
	g.changed = make(chan struct{})
}

// Door is how the pollers of one SDK worker get at a gate. A closed door hands out no permits;
// those that went through it come back through it.
type WorkerSlots struct {
	semaphore *semaphore
	closed    bool
}

func (g *semaphore) workerSlots() *WorkerSlots { return &WorkerSlots{semaphore: g} }

// Reserve waits for a permit to poll for a call and execute it. Its error is that of ctx.
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

// Release gives a permit back.
func (d *WorkerSlots) Release() {
	d.semaphore.mu.Lock()
	defer d.semaphore.mu.Unlock()
	d.semaphore.used--
	d.semaphore.wake()
}

// Size returns how many permits there are at most.
func (d *WorkerSlots) Size() int {
	d.semaphore.mu.Lock()
	defer d.semaphore.mu.Unlock()
	return d.semaphore.size
}

// NewDoor returns a door with a gate of its own, of size permits.
func NewWorkerSlots(size int) *WorkerSlots {
	g := newSemaphore()
	g.size = size
	return g.workerSlots()
}

// Close has the door hand out no more permits.
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
