package activities

import (
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/switchyard/switchyard"
)

// heldSlots are the groups that this process holds now.
type heldSlots struct {
	mu    sync.Mutex
	all   map[*slots]bool
	gates map[string]*gate
	// given are the groups that were given up for other workers, with the time.
	given map[groupOf]time.Time
}

func newHeldSlots() *heldSlots {
	return &heldSlots{all: map[*slots]bool{}, gates: map[string]*gate{}, given: map[groupOf]time.Time{}}
}

func (s *heldSlots) add(h *slots) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all[h] = true
}

func (s *heldSlots) remove(h *slots) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.all, h)
}

// gate returns the gate of a group's queue. It outlives the group's holding for as long as calls have its permits.
func (s *heldSlots) gate(queue string, group int) *gate {
	s.mu.Lock()
	defer s.mu.Unlock()
	id := fmt.Sprint(queue, " ", group)
	g := s.gates[id]
	if g == nil {
		g = newGate()
		s.gates[id] = g
	}
	g.users++
	return g
}

// drop says that a queue goes by the gate no more. It is forgotten when no queue does and nobody has a permit.
func (s *heldSlots) drop(queue string, group int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	id := fmt.Sprint(queue, " ", group)
	g := s.gates[id]
	if g.users--; g.users == 0 && g.idle() {
		delete(s.gates, id)
	}
}

// SlotStates returns what this process's holders tell, by lane.
func (a *Activities) SlotStates() map[string][]switchyard.SlotsState {
	a.held.mu.Lock()
	holders := slices.Collect(maps.Keys(a.held.all))
	a.held.mu.Unlock() // a holder that tells takes its own lock first, as one that opens a key does
	states := map[string][]switchyard.SlotsState{}
	for _, h := range holders {
		name := h.request.Lane.Name
		states[name] = append(states[name], h.state())
	}
	return states
}
