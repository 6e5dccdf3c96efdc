package payloads

import (
	"container/list"
	"sync"
)

// recentBytes bounds the cache of a process. The payload that one activity wrote is read by the
// next workflow task and by every replay.
const recentBytes = 64 << 20

// recent is a cache of the most recently used blobs.
type recent struct {
	mu    sync.Mutex
	limit int
	size  int
	order *list.List // of blob, the last used first
	byKey map[string]*list.Element
}

type blob struct {
	key  string
	data []byte
}

func newRecent(limit int) *recent {
	return &recent{limit: limit, order: list.New(), byKey: map[string]*list.Element{}}
}

// get returns a blob, which must not be modified.
func (r *recent) get(key string) ([]byte, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e, ok := r.byKey[key]
	if !ok {
		return nil, false
	}
	r.order.MoveToFront(e)
	return e.Value.(blob).data, true
}

// add caches a blob unless it alone takes a quarter of the cache.
func (r *recent) add(key string, data []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, known := r.byKey[key]; known || len(data) > r.limit/4 {
		return
	}
	r.byKey[key] = r.order.PushFront(blob{key, data})
	for r.size += len(data); r.size > r.limit; {
		last := r.order.Back()
		old := r.order.Remove(last).(blob)
		delete(r.byKey, old.key)
		r.size -= len(old.data)
	}
}
