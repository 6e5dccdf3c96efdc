package console

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/switchyard/switchyard/internal/panics"
)

const (
	// maxViews bounds the runs that are kept read.
	maxViews = 16
	// keptFor is how long a reading goes on for a browser that was told to ask again.
	keptFor = 10 * time.Second
)

// errReading says that a run is still being read.
var errReading = errors.New("the run is being read")

// viewCache keeps the last runs that were read, so that several browsers, and a browser that
// refreshes, do not read the same history again, also not at the same time.
type viewCache struct {
	backend backend
	mu      sync.Mutex
	views   []cachedView
	flights map[string]*flight
}

// cachedView is a page of a run, and how long it took to read.
type cachedView struct {
	run  runRef
	key  string
	view *runView
	took time.Duration
}

// flight is a reading under way. It ends early when no request waits for it any more.
type flight struct {
	cancel  context.CancelFunc
	waiting int
	done    chan struct{} // closed after view and err are set
	view    *runView
	err     error
}

func newViewCache(b backend) *viewCache {
	return &viewCache{backend: b, flights: map[string]*flight{}}
}

// of returns the page of a run, read again only if its history has grown. If that takes longer than
// patience, it returns errReading, and the reading goes on for a while; zero waits to the end.
func (c *viewCache) of(ctx context.Context, run runRef, before int, patience time.Duration) (
	*runView, error) {
	o, err := c.backend.outline(ctx, run)
	if err != nil {
		return nil, err
	}
	key := fmt.Sprint(run, before, o.Status)
	for _, part := range o.Parts {
		key += fmt.Sprint(" ", part.RunID, " ", part.HistoryEvents)
	}
	view, f := c.join(key, run, before)
	if view != nil {
		return view, nil
	}
	defer c.leave(key, f)
	var late <-chan time.Time
	if patience > 0 {
		late = time.After(patience)
	}
	select {
	case <-f.done:
		return f.view, f.err
	case <-late:
		c.keep(key, f)
		return nil, errReading
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// keep has a flight go on for the request that the browser sends next.
func (c *viewCache) keep(key string, f *flight) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f.waiting++
	time.AfterFunc(keptFor, func() { c.leave(key, f) })
}

// took returns how long the run was read the last time; zero if that is not known.
func (c *viewCache) took(run runRef) (last time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, v := range c.views {
		if v.run == run {
			last = v.took
		}
	}
	return last
}

// join returns the view if it is kept, or else the flight that reads it.
func (c *viewCache) join(key string, run runRef, before int) (*runView, *flight) {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := slices.IndexFunc(c.views, func(v cachedView) bool { return v.key == key })
	if i >= 0 {
		return c.views[i].view, nil
	}
	f := c.flights[key]
	if f == nil {
		// The reading is for all who wait: the end of the first request does not end it.
		ctx, cancel := context.WithCancel(context.Background())
		f = &flight{cancel: cancel, done: make(chan struct{})}
		c.flights[key] = f
		go c.fly(ctx, f, key, run, before)
	}
	f.waiting++
	return nil, f
}

// fly reads the view of a flight and keeps it.
func (c *viewCache) fly(ctx context.Context, f *flight, key string, run runRef, before int) {
	began := time.Now()
	view, err := containPanics(ctx, func() (*runView, error) {
		return readRun(ctx, c.backend, run, before)
	})
	c.mu.Lock()
	defer c.mu.Unlock()
	f.view, f.err = view, err
	close(f.done)
	c.land(key, f)
	if err == nil {
		c.views = append(c.views, cachedView{run, key, view, time.Since(began)})
		c.views = slices.Clone(c.views[max(0, len(c.views)-maxViews):])
	}
}

// leave is called by each request that has waited for a flight.
func (c *viewCache) leave(key string, f *flight) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if f.waiting--; f.waiting == 0 {
		f.cancel()
		c.land(key, f)
	}
}

// land lets the next request read anew. c.mu is held.
func (c *viewCache) land(key string, f *flight) {
	if c.flights[key] == f {
		delete(c.flights, key)
	}
}

// containPanics returns what f returns. In a goroutine of its own, a panic on the records of one
// run
// would end the gateway; here it is an error.
func containPanics[T any](ctx context.Context, f func() (T, error)) (out T, err error) {
	defer panics.Gateway.Contain(ctx, nil, func(failed error) { err = failed })
	return f()
}
