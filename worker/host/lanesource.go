package host

import (
	"log/slog"
	"sync/atomic"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/toolspecs/lanes"
)

// laneSource holds the current configuration of lanes.
type laneSource struct {
	set atomic.Pointer[lanes.Set]
	// changed holds the newest set that has not been applied yet.
	changed chan *lanes.Set
	close   func()
}

// readLanes reads and watches the lanes file. Without a file the lanes are the predefined ones and
// those of Config.Lanes.
func (c Config) readLanes() (*laneSource, error) {
	s := &laneSource{changed: make(chan *lanes.Set, 1), close: func() {}}
	set := lanes.NewSet()
	if c.LanesFile != "" {
		w, err := lanes.Watch(c.LanesFile, c.ReloadInterval, func(set *lanes.Set) {
			c.Logger.Info("lanes reloaded", "file", c.LanesFile, "lanes", set.Names())
			s.take(set.Plain(c.Lanes...), c.Logger)
		}, func(err error) {
			c.Logger.Warn("invalid lanes file; the previous configuration stays in effect", "file",
				c.LanesFile, "error", err)
		})
		if err != nil {
			return nil, err
		}
		s.close, set = w.Close, w.Set()
	}
	s.set.CompareAndSwap(nil, set.Plain(c.Lanes...)) // unless a reload was faster
	return s, nil
}

// namedLanes returns the lanes that an invalid lanes file names, without rules. They suffice to
// find the faults of toolspecs.
func (c Config) namedLanes() *laneSource {
	s := &laneSource{close: func() {}}
	s.set.Store(lanes.NewSet().Plain(append(lanes.ReadNames(c.LanesFile), c.Lanes...)...))
	return s
}

// current returns the current configuration.
func (s *laneSource) current() *lanes.Set { return s.set.Load() }

// lane returns a lane as it is currently configured.
func (s *laneSource) lane(name string) (api.Lane, bool) { return s.current().Lane(name) }

// take makes a set the current one. Removed lanes keep their configuration, because calls may wait
// on them.
func (s *laneSource) take(set *lanes.Set, log *slog.Logger) {
	if before := s.set.Load(); before != nil {
		var kept []string
		if set, kept = set.Merge(before); len(kept) > 0 {
			log.Warn("removed lanes are served until this worker stops: calls may wait on them",
				"lanes", kept)
		}
	}
	s.set.Store(set)
	for {
		select {
		case s.changed <- set:
			return
		case <-s.changed: // an outdated set
		}
	}
}
