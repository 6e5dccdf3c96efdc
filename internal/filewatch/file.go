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

// File keeps a value in step with the file that it is read from. A file that is broken by an edit,
// or gone, keeps the value that was in effect.
type File[T any] struct {
	path      string
	reading   Reading[T]
	onChange  func(*T)
	onFault   func(error)
	value     atomic.Pointer[T]
	stop, end chan struct{}
	close     func()

	// What follows is of the goroutine that looks at the file. seen is how the file stood when it
	// was looked at last, stamp how it stood when it was read.
	seen, stamp Stamp
	read        time.Time
	// digest is what reading it gave, and failed says that it gave an error, which may be over at
	// any moment.
	digest string
	failed bool
	// fault is what was told of it last; empty where it is in effect.
	fault string
}

// NewFile loads the file at path. The error is that of reading it.
//
// onChange is called with every other value that takes effect, and with the same one when a fault
// is over; onFault with every fault that is another one than before. Either may be nil. They are
// called one after the other, and must not call Close.
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

// Follow keeps watching the file until Close; it is called once. Changes that the file system does
// not tell of are found every interval; zero is 5s.
func (f *File[T]) Follow(interval time.Duration) {
	loop := Loop{Interval: interval, Folders: f.Folders, Look: f.Look}
	go func() {
		defer close(f.end)
		loop.Run(f.stop)
	}()
}

// Value returns the value that is in effect.
func (f *File[T]) Value() *T { return f.value.Load() }

// Fault is what was told of the file last; empty where it is in effect.
func (f *File[T]) Fault() string { return f.fault }

// Close ends the watching; the value stays as it is. No function is called any more when it
// returns.
func (f *File[T]) Close() {
	f.close()
	<-f.end
}

func (f *File[T]) now() Stamp { return StampOf(os.Stat(f.path)) }

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

// take puts what was read into effect, or tells what is wrong with it.
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

// tell tells of a fault that is another one than before.
func (f *File[T]) tell(err error) {
	if err.Error() == f.fault {
		return
	}
	f.fault = err.Error()
	if f.onFault != nil {
		f.onFault(err)
	}
}
