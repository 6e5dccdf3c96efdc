// Package smallmap has maps that take little memory while they have few entries, as nearly all maps
// of a run have: a map of Go takes some hundred bytes with its first entry.
package smallmap

import (
	"maps"
	"slices"
)

// few is the number of entries up to which a Map has no Go map.
const few = 8

// Map maps texts to values. The zero value is empty.
type Map[V any] struct {
	list []entry[V]
	// index is nil while there are few entries.
	index map[string]V
}

type entry[V any] struct {
	key   string
	value V
}

// find returns the place of a key in the list, or -1.
func (m *Map[V]) find(key string) int {
	return slices.IndexFunc(m.list, func(e entry[V]) bool { return e.key == key })
}

// Find returns the value of a key, and whether there is one.
func (m *Map[V]) Find(key string) (value V, ok bool) {
	if m.index != nil {
		value, ok = m.index[key]
		return value, ok
	}
	if i := m.find(key); i >= 0 {
		return m.list[i].value, true
	}
	return value, false
}

// Get returns the value of a key, the zero value if there is none.
func (m *Map[V]) Get(key string) V {
	value, _ := m.Find(key)
	return value
}

// Set sets the value of a key.
func (m *Map[V]) Set(key string, value V) {
	if m.index != nil {
		m.index[key] = value
		return
	}
	switch i := m.find(key); {
	case i >= 0:
		m.list[i].value = value
	case len(m.list) < few:
		m.list = append(m.list, entry[V]{key, value})
	default:
		m.index = make(map[string]V, 2*few)
		for _, e := range m.list {
			m.index[e.key] = e.value
		}
		m.index[key], m.list = value, nil
	}
}

// Delete removes a key.
func (m *Map[V]) Delete(key string) {
	if m.index != nil {
		if delete(m.index, key); len(m.index) == 0 {
			m.index = nil
		}
		return
	}
	if i := m.find(key); i >= 0 {
		m.list = slices.Delete(m.list, i, i+1)
	}
}

// Len returns the number of entries.
func (m *Map[V]) Len() int { return len(m.list) + len(m.index) }

// Keys returns the keys, sorted.
func (m *Map[V]) Keys() []string {
	keys := slices.Sorted(maps.Keys(m.index))
	for _, e := range m.list {
		keys = append(keys, e.key)
	}
	slices.Sort(keys)
	return keys
}
