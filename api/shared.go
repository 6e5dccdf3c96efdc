package api

import (
	"encoding/json"
	"slices"
	"sync"
)

// maxShared bounds the JSON of the values that are shared, per type and in bytes.
const maxShared = 16 << 20

// shared decodes JSON and keeps the values, so that the runs of one process that have equal agents
// and tools have one copy of them. What a value has by reference must not be changed.
type shared[T any] struct {
	mu     sync.Mutex
	size   int
	values map[string]T
}

// decode decodes data into a value, or copies the value that equal data gave before.
func (s *shared[T]) decode(data []byte, into *T, decode func([]byte) (T, error)) error {
	s.mu.Lock()
	value, known := s.values[string(data)]
	s.mu.Unlock()
	if known {
		*into = value
		return nil
	}
	value, err := decode(data)
	if err != nil {
		return err
	}
	*into = value
	s.keep(string(data), value)
	return nil
}

// keep keeps a value. If the values become too large, it forgets the others.
func (s *shared[T]) keep(data string, value T) {
	if len(data) > maxShared {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.size += len(data); s.size > maxShared || s.values == nil {
		s.values, s.size = map[string]T{}, len(data)
	}
	s.values[data] = value
}

var (
	sharedAgents shared[Agent]
	sharedPinned shared[Pinned]
)

// UnmarshalJSON decodes an agent. Agents of equal JSON share what they have by reference.
func (a *Agent) UnmarshalJSON(data []byte) error {
	return sharedAgents.decode(data, a, func(data []byte) (Agent, error) {
		type plain Agent
		var p plain
		err := json.Unmarshal(data, &p)
		return Agent(p), err
	})
}

// UnmarshalJSON decodes what a run is pinned to. Values of equal JSON share what they have by
// reference. An append to one of their lists copies it.
func (p *Pinned) UnmarshalJSON(data []byte) error {
	return sharedPinned.decode(data, p, func(data []byte) (Pinned, error) {
		type plain Pinned
		var v plain
		err := json.Unmarshal(data, &v)
		v.Catalog.Tools = slices.Clip(v.Catalog.Tools)
		v.DescendantTools = slices.Clip(v.DescendantTools)
		v.Policies.Rules = slices.Clip(v.Policies.Rules)
		return Pinned(v), err
	})
}
