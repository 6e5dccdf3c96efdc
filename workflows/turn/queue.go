package turn

// Queue determines which calls are ready: those whose predecessors have all ended.
type Queue struct {
	missing []int   // per call: how many it still waits for
	waiters [][]int // per call: who waits for it
	Ready   []int
	Running int
	closed  bool
}

func NewQueue(waits [][]int) *Queue {
	q := &Queue{missing: make([]int, len(waits)), waiters: make([][]int, len(waits))}
	for i, before := range waits {
		q.missing[i] = len(before)
		for _, j := range before {
			q.waiters[j] = append(q.waiters[j], i)
		}
		if len(before) == 0 {
			q.Ready = append(q.Ready, i)
		}
	}
	return q
}

// Take removes and returns ready calls, so that at most limit calls run.
func (q *Queue) Take(limit int) []int {
	n := min(len(q.Ready), limit-q.Running)
	if n <= 0 {
		return nil
	}
	taken := q.Ready[:n]
	q.Ready = q.Ready[n:]
	q.Running += n
	return taken
}

// Abandon returns the n calls that were taken last. After that, no call becomes ready.
func (q *Queue) Abandon(n int) {
	q.Running -= n
	q.Ready, q.closed = nil, true
}

func (q *Queue) End(i int) {
	q.Running--
	if q.closed {
		return
	}
	for _, w := range q.waiters[i] {
		if q.missing[w]--; q.missing[w] == 0 {
			q.Ready = append(q.Ready, w)
		}
	}
}
