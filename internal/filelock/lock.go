// Package filelock locks files across processes, and waits a bounded time for a lock.
package filelock

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"
)

// interval is how often a locked file is tried again.
const interval = 20 * time.Millisecond

// Lock locks a file across processes and creates it if needed. The lock ends with unlock or
// with the process. It fails if another process keeps the lock for longer than wait, or with the
// cause of ctx's end. Where the file cannot be created or the file system has no locks, unlock does
// nothing: to work without a lock is better than not to work.
func Lock(ctx context.Context, path string, wait time.Duration) (unlock func(), err error) {
	_ = os.MkdirAll(filepath.Dir(path), 0o700) // without the folder there is no lock either
	ctx, cancel := context.WithTimeoutCause(ctx, wait,
		fmt.Errorf("another process has locked %s for %v; if it hangs, end it", path, wait))
	defer cancel()
	lock := flock.New(path)
	if locked, _ := lock.TryLockContext(ctx, interval); !locked && ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return func() { _ = lock.Close() }, nil
}

// besideWait bounds the wait of Beside. Who replaces a file has the lock for an instant.
const besideWait = 10 * time.Second

// Beside locks a hidden file beside the one at path. Programs that read a file, change it and
// replace it lock it so, because the file itself becomes another one.
func Beside(path string) (unlock func(), err error) {
	return Lock(context.Background(), filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+
		".lock"), besideWait)
}
