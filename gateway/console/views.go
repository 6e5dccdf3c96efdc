package console

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/switchyard/switchyard/internal/panics"
	"golang.org/x/sync/singleflight"
)

const (
	// maxViews bounds the runs that are kept read, readWithin one reading.
	maxViews   = 16
	readWithin = 2 * time.Minute
)

// viewCache keeps the last runs that were read, so that several browsers, and a browser that
// refreshes, do not read the same history again, also not at the same time.
type viewCache struct {
	backend backend
	reading singleflight.Group
	mu      sync.Mutex
	views   []cachedView
}

// cachedView is a page of a run. A run that changes all the time is read again after four times as
// long as the reading took.
type cachedView struct {
	run    runRef
	before int
	key    string
	view   *runView
	again  time.Time
}

// of returns the page of a run, read again only if its history has grown. The reading is for all
// who wait, so it does not end with the first request.
func (c *viewCache) of(ctx context.Context, run runRef, before int) (*runView, error) {
	o, err := c.backend.outline(ctx, run)
	if err != nil {
		return nil, err
	}
	key := fmt.Sprint(run, before, o.Status)
	for _, part := range o.Parts {
		key += fmt.Sprint(" ", part.RunID, " ", part.HistoryEvents)
	}
	if view := c.find(key, run, before); view != nil {
		return view, nil
	}
	done := c.reading.DoChan(key, func() (any, error) { return c.read(key, run, before) })
	select {
	case r := <-done:
		view, _ := r.Val.(*runView)
		return view, r.Err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// find returns a view that is kept; nil for none.
func (c *viewCache) find(key string, run runRef, before int) *runView {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := slices.IndexFunc(c.views, func(v cachedView) bool {
		return v.key == key || v.run == run && v.before == before && time.Now().Before(v.again)
	})
	if i < 0 {
		return nil
	}
	return c.views[i].view
}

// read reads a view and keeps it.
func (c *viewCache) read(key string, run runRef, before int) (*runView, error) {
	ctx, cancel := context.WithTimeout(context.Background(), readWithin)
	defer cancel()
	began := time.Now()
	view, err := containPanics(ctx, func() (*runView, error) {
		return readRun(ctx, c.backend, run, before)
	})
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	again := time.Now().Add(4 * time.Since(began))
	c.views = append(c.views, cachedView{run, before, key, view, again})
	c.views = slices.Clone(c.views[max(0, len(c.views)-maxViews):])
	return view, nil
}

// containPanics returns what f returns. In a goroutine of its own, a panic on the records of one
// run would end the gateway; here it is an error.
func containPanics[T any](ctx context.Context, f func() (T, error)) (out T, err error) {
	defer panics.Gateway.Contain(ctx, nil, func(failed error) { err = failed })
	return f()
}
