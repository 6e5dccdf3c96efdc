package slots

import (
	"sync"
	"time"
)

// waitQueues are the wait queues of a task queue: one for each key with calls, and one with the key
// "" on a lane without keys. A key without calls has none.
type waitQueues struct {
	mu    sync.Mutex
	rules waitRules
	byKey map[string]*waitQueue
}

func newWaitQueues() *waitQueues { return &waitQueues{byKey: map[string]*waitQueue{}} }

// configure changes the rules of all wait queues.
func (s *waitQueues) configure(r waitRules) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.rules == r {
		return
	}
	s.rules = r
	for _, q := range s.byKey {
		q.configure(r)
	}
}

// use returns the wait queue of a key for one call. The caller then calls release.
func (s *waitQueues) use(key string) *waitQueue {
	s.mu.Lock()
	defer s.mu.Unlock()
	q := s.byKey[key]
	if q == nil {
		q = newWaitQueue()
		q.configure(s.rules)
		s.byKey[key] = q
	}
	q.users++
	return q
}

// release ends the use of a wait queue by one call.
func (s *waitQueues) release(key string, q *waitQueue) {
	s.mu.Lock()
	defer s.mu.Unlock()
	q.users--
	s.tidy(key, q)
}

// tidy deletes a wait queue that no call uses, once a new one would start no call earlier. The
// caller holds mu.
func (s *waitQueues) tidy(key string, q *waitQueue) {
	if q.users > 0 || q.tidied || s.byKey[key] != q {
		return
	}
	if wait := q.owes(time.Now()); wait > 0 {
		q.tidied = true
		time.AfterFunc(wait, func() {
			s.mu.Lock()
			defer s.mu.Unlock()
			q.tidied = false
			s.tidy(key, q)
		})
		return
	}
	delete(s.byKey, key)
}

// turnAway rejects all waiting calls.
func (s *waitQueues) turnAway(why error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, q := range s.byKey {
		q.turnAway(why)
	}
}

// length returns the number of keys with calls and the number of waiting calls.
func (s *waitQueues) length() (keys, waiting int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, q := range s.byKey {
		waiting += q.length()
	}
	return len(s.byKey), waiting
}
