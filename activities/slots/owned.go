package slots

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/switchyard/switchyard/internal/core/lanerules"
)

// ownedSlots are the groups that this process owns.
type ownedSlots struct {
	mu         sync.Mutex
	all        map[*slotGroup]bool
	semaphores map[string]*semaphore
	// fewer is closed and replaced when the process gives up a group.
	fewer chan struct{}
	// given are the groups that were given up for other workers, with the time.
	given map[groupOf]time.Time
	// pollers are the workers that poll for slots, by queue.
	pollers map[string]*pollerList
}

func newOwnedSlots() *ownedSlots {
	return &ownedSlots{fewer: make(chan struct{}), all: map[*slotGroup]bool{},
		semaphores: map[string]*semaphore{}, given: map[groupOf]time.Time{},
		pollers: map[string]*pollerList{}}
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

// semaphore returns the semaphore of a group's queue. It outlives the ownership of the group while
// calls have permits.
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

// drop records that a queue no longer uses the semaphore. It deletes a semaphore without users and
// issued permits.
func (s *ownedSlots) drop(queue string, group int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	id := fmt.Sprint(queue, " ", group)
	g := s.semaphores[id]
	if g.users--; g.users == 0 && g.idle() {
		delete(s.semaphores, id)
	}
}

// States returns the states of this process's slot groups, by lane.
func (a *Server) States() map[string][]lanerules.SlotsState {
	a.owned.mu.Lock()
	holders := slices.Collect(maps.Keys(a.owned.all))
	// a group takes its own lock before this one when it starts to serve a queue
	a.owned.mu.Unlock()
	states := map[string][]lanerules.SlotsState{}
	for _, h := range holders {
		name := h.request.Lane.Name
		states[name] = append(states[name], h.state())
	}
	return states
}

// Leave prepares the stop of a worker whose lane has a new configuration while the process
// continues: groups of the lane's slots are given up when their calls have ended, however long that
// takes.
func (a *Server) Leave(lane string) {
	a.owned.mu.Lock()
	defer a.owned.mu.Unlock()
	for h := range a.owned.all {
		if h.request.Lane.Name == lane {
			h.left.Store(true)
		}
	}
}

// Await returns when this process owns no slots any more, or ctx ends.
func (a *Server) Await(ctx context.Context) {
	for ctx.Err() == nil {
		a.owned.mu.Lock()
		owned, fewer := len(a.owned.all), a.owned.fewer
		a.owned.mu.Unlock()
		if owned == 0 {
			return
		}
		select {
		case <-fewer:
		case <-ctx.Done():
		}
	}
}
