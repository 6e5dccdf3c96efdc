// Package filewatch finds out when files change.
package filewatch

import (
	"cmp"
	"io/fs"
	"time"
)

// DefaultInterval is how often files are looked at where nothing else is configured.
const DefaultInterval = 5 * time.Second

// Never is the interval with which changes are ignored.
const Never = time.Duration(-1)

// quietTime is how long a file must be unchanged before it is read, because editors write in
// several steps.
const quietTime = 100 * time.Millisecond

// Loop checks files when the file system reports a change in their folders, at intervals, and again
// soon while a file is being written.
type Loop struct {
	// Interval is the interval of checks for changes that the file system did not report; default
	// 5s. A negative interval, as Never, ignores all changes.
	Interval time.Duration
	// Folders returns the folders to watch, by path.
	Folders func() map[string]fs.FileInfo
	// Look applies changes and reports whether another check is needed soon. Two checks are at
	// least quietTime apart.
	Look func(now time.Time) (unsettled bool)
	// OnPolling is called when the file system cannot report changes, so that only the checks every
	// Interval find them; nil ignores this. It is called once for each new reason.
	OnPolling func(error)
}

// Run checks until stop is closed.
func (l Loop) Run(stop <-chan struct{}) {
	if l.Interval < 0 {
		<-stop
		return
	}
	n := newNotifier()
	defer n.close()
	n.watch(l.Folders())
	l.Interval = cmp.Or(l.Interval, DefaultInterval)
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
		case n.failed = <-n.errors(): // some changes were not reported
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

// sooner returns the given timer, or a new one if it is nil.
func sooner(soon <-chan time.Time) <-chan time.Time {
	if soon != nil {
		return soon
	}
	return time.After(quietTime)
}

// tellPolling reports each new reason why changes are not reported, and returns the reason.
func (l Loop) tellPolling(why error, told string) string {
	if why == nil {
		return ""
	}
	if why.Error() != told && l.OnPolling != nil {
		l.OnPolling(why)
	}
	return why.Error()
}
