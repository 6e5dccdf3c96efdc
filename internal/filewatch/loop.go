// Package changes finds out when files change.
package filewatch

import (
	"io/fs"
	"time"
)

// DefaultInterval is how often files are looked at where nothing else is configured.
const DefaultInterval = 5 * time.Second

// quietTime is how long a file must have stood still to be read: editors write in several steps.
const quietTime = 100 * time.Millisecond

// Loop looks at files when the file system tells of a change in their folders, every so often, and
// again soon while something is being written.
type Loop struct {
	// Interval is how often it looks for changes that the file system did not tell of; default 5s.
	Interval time.Duration
	// Folders returns the folders to watch, by path.
	Folders func() map[string]fs.FileInfo
	// Look takes in what has changed, and reports whether there is more to come soon. Two looks are
	// never closer than the time that a file takes to settle.
	Look func(now time.Time) (unsettled bool)
	// OnPolling is called when the file system cannot tell of changes, and looking every Interval
	// is all there is; nil for nothing. The error says why; each new reason is told once.
	OnPolling func(error)
}

// Run goes on until stop is closed.
func (l Loop) Run(stop <-chan struct{}) {
	n := newNotifier()
	defer n.close()
	n.watch(l.Folders())
	if l.Interval <= 0 {
		l.Interval = DefaultInterval
	}
	tick := time.NewTicker(l.Interval)
	defer tick.Stop()
	soon := time.After(quietTime) // for what changed before it was watched
	for told := ""; ; {
		told = l.tellPolling(n.failed, told)
		select {
		case <-stop:
			return
		case <-n.events():
			soon = sooner(soon)
		case n.failed = <-n.errors(): // some changes were not told
			soon = sooner(soon)
		case <-soon:
			soon = l.look(n)
		case <-tick.C:
			if soon == nil { // else it is about to look anyway
				soon = l.look(n)
			}
		}
	}
}

// look returns when to look again, if that is sooner than usual.
func (l Loop) look(n *notifier) (soon <-chan time.Time) {
	unsettled := l.Look(time.Now())
	if n.watch(l.Folders()) || unsettled {
		return sooner(nil)
	}
	return nil
}

// sooner returns the given timer, or a new one if there is none.
func sooner(soon <-chan time.Time) <-chan time.Time {
	if soon != nil {
		return soon
	}
	return time.After(quietTime)
}

// tellPolling tells of each new reason why changes are not told, and returns the reason.
func (l Loop) tellPolling(why error, told string) string {
	if why == nil {
		return ""
	}
	if why.Error() != told && l.OnPolling != nil {
		l.OnPolling(why)
	}
	return why.Error()
}
