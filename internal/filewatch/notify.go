package filewatch

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/fsnotify/fsnotify"
)

// notifier receives change notifications of the file system for some folders. A notification is
// only a hint to check at once: changes that it misses are found by the periodic check.
type notifier struct {
	watcher *fsnotify.Watcher
	// dirs are the folders that are watched, by path; a path can come to mean another folder.
	dirs map[string]fs.FileInfo
	// failed is why some or all folders cannot be watched; nil where all are.
	failed error
}

func newNotifier() *notifier {
	n := &notifier{dirs: map[string]fs.FileInfo{}}
	n.watcher, n.failed = fsnotify.NewWatcher()
	return n
}

// events are changes; nil where nothing can be watched.
func (n *notifier) events() <-chan fsnotify.Event {
	if n.watcher == nil {
		return nil
	}
	return n.watcher.Events
}

// errors reports that notifications were dropped because there were too many.
func (n *notifier) errors() <-chan error {
	if n.watcher == nil {
		return nil
	}
	return n.watcher.Errors
}

// watch watches exactly the given folders, as far as that is possible, and reports whether there is
// a new one among them: something may have changed in that before it was watched.
func (n *notifier) watch(dirs map[string]fs.FileInfo) (added bool) {
	if n.watcher == nil {
		return false
	}
	n.failed = nil
	for path, watched := range n.dirs {
		if now, there := dirs[path]; !there || !os.SameFile(now, watched) {
			_ = n.watcher.Remove(path) // it may have been removed with the folder
			delete(n.dirs, path)
		}
	}
	for path, info := range dirs {
		if _, watched := n.dirs[path]; watched {
			continue
		}
		switch err := n.watcher.Add(path); {
		case errors.Is(err, fs.ErrNotExist): // it was just removed, which the next check finds
			continue
		case err != nil:
			n.failed = fmt.Errorf("watch %s: %w", path, err)
			continue
		}
		n.dirs[path], added = info, true
	}
	return added
}

func (n *notifier) close() {
	if n.watcher != nil {
		_ = n.watcher.Close()
	}
}
