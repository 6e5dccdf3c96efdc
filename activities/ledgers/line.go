package ledgers

import (
	"context"
	"crypto/rand"
	"errors"
	mathrand "math/rand/v2"
	"slices"
	"sync"
	"time"
)

const (
	// attemptTimeout bounds one attempt of a request. The pauses between attempts double from
	// firstPause to longestPause.
	attemptTimeout = 5 * time.Second
	firstPause     = 20 * time.Millisecond
	longestPause   = 2 * time.Second
	// maxValues and maxBytes bound one request. The server takes 2 MB.
	maxValues = 200
	maxBytes  = 256 << 10
)

// line sends what this process has for one ledger, in its order: one request at a time, with all
// that has gathered meanwhile. The server admits ten updates of a workflow at a time and refuses
// the others; 400 requests at once that are each repeated contend for the workflow with its own
// tasks, so that two calls a second get through.
type line[T, R any] struct {
	// send sends values and returns the results of the first of them, at least of one. An attempt
	// with the same ID has the same values.
	send func(ctx context.Context, id string, values []T) ([]R, error)
	// size returns about how many bytes a value has in a request.
	size func(T) int
	// once says that a failed request is not repeated.
	once bool

	mu      sync.Mutex
	waiting []*waiter[T, R]
	sending bool
	// failure is that of the last attempt; nil if it was answered.
	failure error
}

// waiter is a value with whoever waits for its result.
type waiter[T, R any] struct {
	value T
	// left is closed when the caller has stopped waiting, ended when there is a result or an error.
	left   <-chan struct{}
	ended  chan struct{}
	result R
	err    error
}

func (w *waiter[T, R]) end(result R, err error) {
	w.result, w.err = result, err
	close(w.ended)
}

// do returns the results of values. Attempts are repeated until ctx ends. The error is that of the
// last attempt and the cause of ctx.
func (l *line[T, R]) do(ctx context.Context, values ...T) ([]R, error) {
	all := make([]*waiter[T, R], len(values))
	for i, v := range values {
		all[i] = &waiter[T, R]{value: v, left: ctx.Done(), ended: make(chan struct{})}
	}
	l.add(all)
	results := make([]R, len(all))
	for i, w := range all {
		select {
		case <-w.ended:
			if w.err != nil {
				return nil, w.err
			}
			results[i] = w.result
		case <-ctx.Done():
			return nil, l.joinFailure(context.Cause(ctx))
		}
	}
	return results, nil
}

func (l *line[T, R]) add(all []*waiter[T, R]) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.waiting = append(l.waiting, all...)
	if !l.sending {
		l.sending = true
		go l.run()
	}
}

func (l *line[T, R]) joinFailure(cause error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return errors.Join(cause, l.failure)
}

// run sends requests until no caller waits.
func (l *line[T, R]) run() {
	for batch := l.next(); len(batch) > 0; batch = l.next() {
		l.deliver(batch)
	}
}

// next returns the values of the next request. Those whose callers have stopped waiting are left
// out, so that a ledger that lags does not work for nothing.
func (l *line[T, R]) next() []*waiter[T, R] {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.waiting = slices.DeleteFunc(l.waiting, func(w *waiter[T, R]) bool {
		select {
		case <-w.left:
			return true
		default:
			return false
		}
	})
	n, bytes := 0, 0
	for ; n < min(len(l.waiting), maxValues); n++ {
		if bytes += l.size(l.waiting[n].value); n > 0 && bytes > maxBytes {
			break
		}
	}
	l.sending = n > 0
	batch := slices.Clone(l.waiting[:n])
	l.waiting = slices.Delete(l.waiting, 0, n)
	return batch
}

// deliver makes attempts until one is answered or no caller waits. What the answer leaves out is
// sent first in the next request.
func (l *line[T, R]) deliver(batch []*waiter[T, R]) {
	ctx, cancel := awaitContext(batch)
	defer cancel()
	values := make([]T, len(batch))
	for i, w := range batch {
		values[i] = w.value
	}
	id := rand.Text()
	for pause := firstPause; ; pause = min(2*pause, longestPause) {
		results, err := l.attempt(ctx, id, values)
		if err == nil {
			for i, r := range results {
				batch[i].end(r, nil)
			}
			l.mu.Lock()
			l.waiting = slices.Concat(batch[len(results):], l.waiting)
			l.mu.Unlock()
			return
		}
		if l.once {
			for _, w := range batch {
				w.end(*new(R), err)
			}
			return
		}
		// Without jitter the workers that were refused together would ask together again.
		timer := time.NewTimer(pause/2 + mathrand.N(pause))
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
		}
	}
}

// awaitContext returns a context that ends when no caller waits for any of the values.
func awaitContext[T, R any](batch []*waiter[T, R]) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		defer cancel()
		for _, w := range batch {
			select {
			case <-w.left:
			case <-ctx.Done():
				return
			}
		}
	}()
	return ctx, cancel
}

var errNoAnswer = errors.New("the ledger answered none of the requests")

func (l *line[T, R]) attempt(ctx context.Context, id string, values []T) ([]R, error) {
	ctx, cancel := context.WithTimeout(ctx, attemptTimeout)
	defer cancel()
	results, err := l.send(ctx, id, values)
	if n := len(results); err == nil && (n == 0 || n > len(values)) {
		err = errNoAnswer
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.failure = err
	return results, err
}
