package slots

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/switchyard/switchyard/api"
)

// heldSlots are the groups that this process holds now.
type ownedSlots struct {
	mu         sync.Mutex
	all        map[*slotGroup]bool
	semaphores map[string]*semaphore
	// fewer is closed when a group is held no more, and made anew.
	fewer chan struct{}
	// given are the groups that were given up for other workers, with the time.
	given map[groupOf]time.Time
}

func newOwnedSlots() *ownedSlots {
	return &ownedSlots{fewer: make(chan struct{}), all: map[*slotGroup]bool{},
		semaphores: map[string]*semaphore{}, given: map[groupOf]time.Time{}}
}

func (s *ownedSlots) add(h *slotGroup) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all[h] = true
}

func (s *ownedSlots) remove(h *slotGroup) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.all, h)
	close(s.fewer)
	s.fewer = make(chan struct{})
}

// gate returns the gate of a group's queue. It outlives the group's holding for as long as calls
// have its permits.
func (s *ownedSlots) semaphore(queue string, group int) *semaphore {
	s.mu.Lock()
	defer s.mu.Unlock()
	id := fmt.Sprint(queue, " ", group)
	g := s.semaphores[id]
	if g == nil {
		g = newSemaphore()
		s.semaphores[id] = g
	}
	g.users++
	return g
}

// drop says that a queue goes by the gate no more. It is forgotten when no queue does and nobody
// has a permit.
func (s *ownedSlots) drop(queue string, group int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	id := fmt.Sprint(queue, " ", group)
	g := s.semaphores[id]
	if g.users--; g.users == 0 && g.idle() {
		delete(s.semaphores, id)
	}
}

// States returns what this process's holders tell, by lane.
func (a *Server) States() map[string][]api.SlotsState {
	a.hosted.mu.Lock()
	holders := slices.Collect(maps.Keys(a.hosted.all))
	// a holder that tells takes its own lock first, as one that opens a key does
	a.hosted.mu.Unlock()
	states := map[string][]api.SlotsState{}
	for _, h := range holders {
		name := h.request.Lane.Name
		states[name] = append(states[name], h.state())
	}
	return states
}

// Leave is for a worker that is stopped because this process serves a lane otherwise from now on,
// while it goes on with the rest: groups of the lane's slots are given up when their calls have
// ended, whatever time they take.
func (a *Server) Leave(lane string) {
	a.hosted.mu.Lock()
	defer a.hosted.mu.Unlock()
	for h := range a.hosted.all {
		if h.request.Lane.Name == lane {
			h.left.Store(true)
		}
	}
}

// Await returns when this process holds no slots any more, or ctx ends.
func (a *Server) Await(ctx context.Context) {
	for ctx.Err() == nil {
		a.hosted.mu.Lock()
		hosted, fewer := len(a.hosted.all), a.hosted.fewer
		a.hosted.mu.Unlock()
		if hosted == 0 {
			return
		}
		select {
		case <-fewer:
		case <-ctx.Done():
		}
	}
}
