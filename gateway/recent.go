package gateway

import "time"

// recent holds what clients leave behind in memory, bounded in number for each principal and in
// all. What was used least recently goes first, so it has to be something that can be made again.
// newRecent makes one. It is guarded by its owner.
type recent[V any] struct {
	each, all int
	entries   map[string]*entry[V]
}

type entry[V any] struct {
	value     V
	principal string
	used      time.Time
	// busy is the number of requests that use it: it stays as long. They are bounded by the limit
	// of requests in flight.
	busy int
}

func newRecent[V any](each, all int) recent[V] {
	return recent[V]{each: each, all: all, entries: map[string]*entry[V]{}}
}

// add adds or replaces what a principal leaves under an id, and returns it with what had to go.
func (r *recent[V]) add(id, principal string, value V) (added *entry[V], gone []V) {
	added = &entry[V]{value: value, principal: principal, used: time.Now(), busy: 1}
	r.entries[id] = added
	defer func() { added.busy-- }()
	own := func(e *entry[V]) bool { return e.principal == principal }
	gone = r.reduce(r.each, own)
	return added, append(gone, r.reduce(r.all, func(*entry[V]) bool { return true })...)
}

// reduce removes the least recent of the entries that count until there are at most as many as
// allowed.
func (r *recent[V]) reduce(allowed int, counts func(*entry[V]) bool) (gone []V) {
	for {
		number, oldest := 0, ""
		for id, e := range r.entries {
			if !counts(e) {
				continue
			}
			number++
			if e.busy == 0 && (oldest == "" || e.used.Before(r.entries[oldest].used)) {
				oldest = id
			}
		}
		if number <= allowed || oldest == "" {
			return gone
		}
		gone = append(gone, r.entries[oldest].value)
		delete(r.entries, oldest)
	}
}
