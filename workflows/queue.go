package workflows

// queue tells which calls are ready: all those they wait for have ended.
type queue struct {
	missing []int   // per call: how many it still waits for
	waiters [][]int // per call: who waits for it
	ready   []int
	running int
	closed  bool
}

func newQueue(waits [][]int) *queue {
	q := &queue{missing: make([]int, len(waits)), waiters: make([][]int, len(waits))}
	for i, before := range waits {
		q.missing[i] = len(before)
		for _, j := range before {
			q.waiters[j] = append(q.waiters[j], i)
		}
		if len(before) == 0 {
			q.ready = append(q.ready, i)
		}
	}
	return q
}

// take removes and returns ready calls, as many as keep the running ones within limit.
func (q *queue) take(limit int) []int {
	n := min(len(q.ready), limit-q.running)
	if n <= 0 {
		return nil
	}
	taken := q.ready[:n]
	q.ready = q.ready[n:]
	q.running += n
	return taken
}

// abandon gives back the n calls taken last, and makes none ready any more.
func (q *queue) abandon(n int) {
	q.running -= n
	q.ready, q.closed = nil, true
}

func (q *queue) end(i int) {
	q.running--
	if q.closed {
		return
	}
	for _, w := range q.waiters[i] {
		if q.missing[w]--; q.missing[w] == 0 {
			q.ready = append(q.ready, w)
		}
	}
}
