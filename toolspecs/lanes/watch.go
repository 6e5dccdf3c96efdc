package lanes

import (
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"sync"
	"sync/atomic"
	"time"

	"github.com/switchyard/switchyard"
	"github.com/switchyard/switchyard/toolspecs/changes"
)

// Watcher keeps a set of lanes in step with a lanes file. A file that is broken by an edit, or gone, keeps the set that was
// in effect; so does one whose edit would leave waiting calls in queues that nobody serves any more.
type Watcher struct {
	path      string
	onChange  func(*Set)
	onFault   func(error)
	set       atomic.Pointer[Set]
	stop, end chan struct{}
	close     func()

	// What follows is of the goroutine that looks at the file. seen is how the file stood when it was looked at last, stamp
	// how it stood when it was read.
	seen, stamp changes.Stamp
	read        time.Time
	// digest is what reading it gave, and failed says that it gave an error, which may be over at any moment.
	digest string
	failed bool
	// fault is what was told of it last; empty where it is in effect.
	fault string
}

// Watch loads the lanes file at path and keeps watching it until Close. The error is strictyaml.Faults with everything that
// is wrong in the file. Changes that the file system does not tell of are found every interval; zero is 5s.
//
// onChange is called with every other set that takes effect, and with the same one when a fault is over; onFault with every
// fault that is another one than before. Either may be nil. They are called one after the other, and must not call Close.
func Watch(path string, interval time.Duration, onChange func(*Set), onFault func(error)) (*Watcher, error) {
	w, err := newWatcher(path, onChange, onFault)
	if err != nil {
		return nil, err
	}
	loop := changes.Loop{Interval: interval, Folders: w.folders, Look: w.look}
	go func() {
		defer close(w.end)
		loop.Run(w.stop)
	}()
	return w, nil
}

func newWatcher(path string, onChange func(*Set), onFault func(error)) (*Watcher, error) {
	w := &Watcher{path: path, onChange: onChange, onFault: onFault, stop: make(chan struct{}), end: make(chan struct{})}
	w.close = sync.OnceFunc(func() { close(w.stop) })
	w.seen = w.now()
	w.stamp, w.read = w.seen, time.Now()
	data, err := read(path)
	if err != nil {
		return nil, err
	}
	set, err := Decode(path, data)
	if err != nil {
		return nil, err
	}
	w.digest = switchyard.Digest(data)
	w.set.Store(set)
	return w, nil
}

// Set returns the lanes that are in effect.
func (w *Watcher) Set() *Set { return w.set.Load() }

// Close ends the watching; the set stays as it is. No function is called any more when it returns.
func (w *Watcher) Close() {
	w.close()
	<-w.end
}

func (w *Watcher) now() changes.Stamp { return changes.StampOf(os.Stat(w.path)) }

// folders returns the file's folder, where there is one.
func (w *Watcher) folders() map[string]fs.FileInfo {
	dir := filepath.Dir(w.path)
	info, err := os.Stat(dir)
	if err != nil {
		return nil
	}
	return map[string]fs.FileInfo{dir: info}
}

// look reads the file where it has changed. Only what two looks in a row saw alike counts: a file that is being written, or
// replaced, is left for the next look.
func (w *Watcher) look(now time.Time) (unsettled bool) {
	before := w.seen
	w.seen = w.now()
	if w.seen.Same(w.stamp) && !w.failed && !w.stamp.Doubtful(w.read) {
		return false
	}
	if !w.seen.Same(before) {
		return true
	}
	data, err := read(w.path)
	if !w.now().Same(w.seen) {
		return true // it was written while we read
	}
	w.stamp, w.read, w.failed = w.seen, now, err != nil
	w.take(data, err)
	return false
}

// take puts what was read into effect, or tells what is wrong with it.
func (w *Watcher) take(data []byte, err error) {
	digest := switchyard.Digest(data)
	if err != nil {
		digest = err.Error()
	}
	if digest == w.digest {
		return
	}
	w.digest = digest
	var set *Set
	if err == nil {
		set, err = decode(w.path, data, w.Set())
	}
	if err != nil {
		w.tell(err)
		return
	}
	over := w.fault != ""
	w.fault = ""
	if !over && reflect.DeepEqual(set, w.Set()) {
		return
	}
	w.set.Store(set)
	if w.onChange != nil {
		w.onChange(set)
	}
}

// tell tells of a fault that is another one than before.
func (w *Watcher) tell(err error) {
	if err.Error() == w.fault {
		return
	}
	w.fault = err.Error()
	if w.onFault != nil {
		w.onFault(err)
	}
}
