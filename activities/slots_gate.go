package activities

import (
	"context"
	"sync"
)

// gate hands out permits, at most size at a time. One gate stands for a group of a lane's slots in this process, however
// often the group is given up and taken over again: a call that does not stop keeps its permit, and its place in the line,
// so that the process never overlaps itself.
type gate struct {
	line *line

	mu         sync.Mutex
	size, used int
	changed    chan struct{}
	// users counts the queues that go by the gate; heldSlots.mu guards it.
	users int
}

func newGate() *gate { return &gate{line: newLine(), changed: make(chan struct{})} }

func (g *gate) idle() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.used == 0
}

// resize changes how many permits there are. Those that are handed out already stay so.
func (g *gate) resize(size int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if size != g.size {
		g.size = size
		g.wake()
	}
}

// wake tells whoever waits that something has changed. The caller holds mu.
func (g *gate) wake() {
	close(g.changed)
	g.changed = make(chan struct{})
}

// Door is how the pollers of one SDK worker get at a gate. A closed door hands out no permits; those that went through it
// come back through it.
type Door struct {
	gate   *gate
	closed bool
}

func (g *gate) door() *Door { return &Door{gate: g} }

// Reserve waits for a permit to poll for a call and execute it. Its error is that of ctx.
func (d *Door) Reserve(ctx context.Context) error {
	for {
		d.gate.mu.Lock()
		if !d.closed && d.gate.used < d.gate.size {
			d.gate.used++
			d.gate.mu.Unlock()
			return nil
		}
		changed := d.gate.changed
		d.gate.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Release gives a permit back.
func (d *Door) Release() {
	d.gate.mu.Lock()
	defer d.gate.mu.Unlock()
	d.gate.used--
	d.gate.wake()
}

// Size returns how many permits there are at most.
func (d *Door) Size() int {
	d.gate.mu.Lock()
	defer d.gate.mu.Unlock()
	return d.gate.size
}

// NewDoor returns a door with a gate of its own, of size permits.
func NewDoor(size int) *Door {
	g := newGate()
	g.size = size
	return g.door()
}

// Close has the door hand out no more permits.
func (d *Door) Close() {
	d.gate.mu.Lock()
	defer d.gate.mu.Unlock()
	d.closed = true
}

func (d *Door) isClosed() bool {
	d.gate.mu.Lock()
	defer d.gate.mu.Unlock()
	return d.closed
}
