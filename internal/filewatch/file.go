package filewatch

import (
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"sync"
	"sync/atomic"
	"time"

	"github.com/switchyard/switchyard/api"
)

// Reading is how a file becomes a value.
type Reading[T any] struct {
	// Read returns the bytes of the file at a path.
	Read func(path string) ([]byte, error)
	// Decode makes the value of them. before is the value in effect, nil at first.
	Decode func(path string, data []byte, before *T) (*T, error)
	// Same reports whether two values are alike, so that nothing changes; default is
	// reflect.DeepEqual.
	Same func(a, b *T) bool
}

// File keeps a value in sync with the file that it is read from. While the file is missing or
// invalid, the previous value stays in effect.
type File[T any] struct {
	path      string
	reading   Reading[T]
	onChange  func(*T)
	onFault   func(error)
	value     atomic.Pointer[T]
	stop, end chan struct{}
	close     func()

	// seen is the stamp at the last check, stamp that at the last read. They and the fields below
	// belong to the watching goroutine.
	seen, stamp Stamp
	read        time.Time
	// digest is the digest of the last read. failed is set if the read failed, which may be
	// temporary.
	digest string
	failed bool
	// fault is the last reported fault; empty if the file is in effect.
	fault string
}

// NewFile loads the file at path and returns the error of reading it.
//
// onChange is called with each new value that takes effect, and with the same value when a fault is
// resolved. onFault is called with each new fault. Either may be nil. Calls are sequential and must
// not call Close.
func NewFile[T any](path string, r Reading[T], onChange func(*T), onFault func(error)) (*File[T],
	error) {
	f := &File[T]{path: path, reading: r, onChange: onChange, onFault: onFault,
		stop: make(chan struct{}), end: make(chan struct{})}
	if r.Same == nil {
		f.reading.Same = func(a, b *T) bool { return reflect.DeepEqual(a, b) }
	}
	f.close = sync.OnceFunc(func() { close(f.stop) })
	f.seen = f.now()
	f.stamp, f.read = f.seen, time.Now()
	data, err := r.Read(path)
	if err != nil {
		return nil, err
	}
	value, err := r.Decode(path, data, nil)
	if err != nil {
		return nil, err
	}
	f.digest = api.Digest(data)
	f.value.Store(value)
	return f, nil
}

// Follow watches the file until Close. Call it once. Changes that the file system does not report
// are found every interval; zero means 5s.
func (f *File[T]) Follow(interval time.Duration) {
	loop := Loop{Interval: interval, Folders: f.Folders, Look: f.Look}
	go func() {
		defer close(f.end)
		loop.Run(f.stop)
	}()
}

// Value returns the value that is in effect.
func (f *File[T]) Value() *T { return f.value.Load() }

// Fault returns the last reported fault; empty if the file is in effect.
func (f *File[T]) Fault() string { return f.fault }

// Close stops watching; the value stays available. After Close returns, no function is called.
func (f *File[T]) Close() {
	f.close()
	<-f.end
}

func (f *File[T]) now() Stamp { return NewStamp(os.Stat(f.path)) }

// Folders returns the file's folder, where there is one.
func (f *File[T]) Folders() map[string]fs.FileInfo {
	dir := filepath.Dir(f.path)
	info, err := os.Stat(dir)
	if err != nil {
		return nil
	}
	return map[string]fs.FileInfo{dir: info}
}

// Look reads the file where it has changed. Only what two looks in a row saw alike counts: a file
// that is being written, or replaced, is left for the next look, and then it is unsettled.
func (f *File[T]) Look(now time.Time) (unsettled bool) {
	before := f.seen
	f.seen = f.now()
	if f.seen.Same(f.stamp) && !f.failed && !f.stamp.Doubtful(f.read) {
		return false
	}
	if !f.seen.Same(before) {
		return true
	}
	data, err := f.reading.Read(f.path)
	if !f.now().Same(f.seen) {
		return true // it was written while we read
	}
	f.stamp, f.read, f.failed = f.seen, now, err != nil
	f.take(data, err)
	return false
}

// take applies what was read, or reports the fault.
func (f *File[T]) take(data []byte, err error) {
	digest := api.Digest(data)
	if err != nil {
		digest = err.Error()
	}
	if digest == f.digest {
		return
	}
	f.digest = digest
	var value *T
	if err == nil {
		value, err = f.reading.Decode(f.path, data, f.Value())
	}
	if err != nil {
		f.tell(err)
		return
	}
	over := f.fault != ""
	f.fault = ""
	if !over && f.reading.Same(value, f.Value()) {
		return
	}
	f.value.Store(value)
	if f.onChange != nil {
		f.onChange(value)
	}
}

// tell reports a fault that differs from the previous one.
func (f *File[T]) tell(err error) {
	if err.Error() == f.fault {
		return
	}
	f.fault = err.Error()
	if f.onFault != nil {
		f.onFault(err)
	}
}
