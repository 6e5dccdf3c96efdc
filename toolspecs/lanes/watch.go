package lanes

import (
	"time"

	"github.com/switchyard/switchyard/internal/filewatch"
)

// Watcher keeps a set of lanes in sync with a lanes file. While the file is missing or invalid, or
// would leave waiting calls in queues without workers, the previous set stays in effect.
type Watcher struct{ file *filewatch.File[Set] }

// Watch loads the lanes file at path and watches it until Close. The error is strictyaml.Faults
// with all faults of the file. Changes that the file system does not report are found every
// interval; zero means 5s.
//
// onChange is called with each new set that takes effect, and with the same set when a fault is
// resolved. onFault is called with each new fault. Either may be nil. Calls are sequential and must
// not call Close.
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

// Close stops watching; the set stays available. After Close returns, no function is called.
func (w *Watcher) Close() { w.file.Close() }
