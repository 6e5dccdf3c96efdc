package host

import (
	"log/slog"
	"sync/atomic"

	"github.com/switchyard/switchyard/toolspecs/lanes"
)

// laneSource has the lanes as they are configured now.
type laneSource struct {
	set atomic.Pointer[lanes.Set]
	// changed has the newest set that nobody has taken yet.
	changed chan *lanes.Set
	close   func()
}

// readLanes reads the lanes file and goes on to read it; without one the lanes are those that always exist, and those that
// the worker is told to serve.
func (c Config) readLanes() (*laneSource, error) {
	s := &laneSource{changed: make(chan *lanes.Set, 1), close: func() {}}
	set := lanes.Of()
	if c.LanesFile != "" {
		w, err := lanes.Watch(c.LanesFile, c.ReloadInterval, func(set *lanes.Set) {
			c.Logger.Info("lanes reloaded", "file", c.LanesFile, "lanes", set.Names())
			s.take(set.Plain(c.Lanes...), c.Logger)
		}, func(err error) {
			c.Logger.Warn("the lanes file is wrong; what was in effect stays", "file", c.LanesFile, "error", err)
		})
		if err != nil {
			return nil, err
		}
		s.close, set = w.Close, w.Set()
	}
	s.set.CompareAndSwap(nil, set.Plain(c.Lanes...)) // unless it has changed already
	return s, nil
}

// namedLanes are the lanes that a wrong lanes file names, without rules: enough to check what else is wrong.
func (c Config) namedLanes() *laneSource {
	s := &laneSource{close: func() {}}
	s.set.Store(lanes.Of().Plain(append(lanes.Named(c.LanesFile), c.Lanes...)...))
	return s
}

// current returns the lanes as they are configured now.
func (s *laneSource) current() *lanes.Set { return s.set.Load() }

// take makes a set the current one. Lanes that it lacks stay as they were, because calls may wait there.
func (s *laneSource) take(set *lanes.Set, log *slog.Logger) {
	if before := s.set.Load(); before != nil {
		var kept []string
		if set, kept = set.Keeping(before); len(kept) > 0 {
			log.Warn("lanes are not in the lanes file any more; they are served until this worker stops, for calls that wait there", "lanes", kept)
		}
	}
	s.set.Store(set)
	for {
		select {
		case s.changed <- set:
			return
		case <-s.changed: // an older one that nobody needs any more
		}
	}
}
