package lanes

import (
	"time"

	"github.com/switchyard/switchyard/internal/filewatch"
)

// Watcher keeps a set of lanes in step with a lanes file. A file that is broken by an edit, or
// gone, keeps the set that was in effect; so does one whose edit would leave waiting calls in
// queues that nobody serves any more.
type Watcher struct{ file *filewatch.File[Set] }

// Watch loads the lanes file at path and keeps watching it until Close. The error is
// strictyaml.Faults with everything that is wrong in the file. Changes that the file system does
// not tell of are found every interval; zero is 5s.
//
// onChange is called with every other set that takes effect, and with the same one when a fault is
// over; onFault with every fault that is another one than before. Either may be nil. They are
// called one after the other, and must not call Close.
func Watch(path string, interval time.Duration, onChange func(*Set), onFault func(error)) (*Watcher,
	error) {
	w, err := newWatcher(path, onChange, onFault)
	if err != nil {
		return nil, err
	}
	w.file.Follow(interval)
	return w, nil
}

func newWatcher(path string, onChange func(*Set), onFault func(error)) (*Watcher, error) {
	file, err := filewatch.NewFile(path, filewatch.Reading[Set]{Read: read, Decode: decode},
		onChange, onFault)
	if err != nil {
		return nil, err
	}
	return &Watcher{file}, nil
}

// Set returns the lanes that are in effect.
func (w *Watcher) Set() *Set { return w.file.Value() }

// Close ends the watching; the set stays as it is. No function is called any more when it returns.
func (w *Watcher) Close() { w.file.Close() }
