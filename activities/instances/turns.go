package instances

import (
	"context"
	"slices"
	"sync"
)

// turns admits the calls of an instance in the order in which they arrive. Shared calls run
// together, an exclusive call runs alone. The zero value is ready to use.
type turns struct {
	mu sync.Mutex
	// running counts the running calls; alone is set while an exclusive one runs.
	running int
	alone   bool
	waiting []*turnWaiter
}

// turnWaiter is a call that waits for its turn. ready is closed when it comes.
type turnWaiter struct {
	alone bool
	ready chan struct{}
}

// enter waits for the call's turn; alone marks an exclusive call. It returns the cause of ctx's end
// if that is first. After nil the call must leave.
func (t *turns) enter(ctx context.Context, alone bool) error {
	w := &turnWaiter{alone: alone, ready: make(chan struct{})}
	t.mu.Lock()
	t.waiting = append(t.waiting, w)
	t.admit()
	t.mu.Unlock()
	select {
	case <-w.ready:
		return nil
	case <-ctx.Done():
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if i := slices.Index(t.waiting, w); i >= 0 {
		t.waiting = slices.Delete(t.waiting, i, i+1)
	} else {
		t.release()
	}
	t.admit()
	return context.Cause(ctx)
}

// leave ends a call.
func (t *turns) leave() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.release()
	t.admit()
}

func (t *turns) release() {
	t.running--
	t.alone = false
}

// admit starts the first waiting calls that may run. The caller holds mu.
func (t *turns) admit() {
	for len(t.waiting) > 0 {
		next := t.waiting[0]
		if t.alone || next.alone && t.running > 0 {
			return
		}
		t.running++
		t.alone = next.alone
		t.waiting = t.waiting[1:]
		close(next.ready)
	}
}
