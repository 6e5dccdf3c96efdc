// Package filelock locks files across processes.
package filelock

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// interval is how often a locked file is tried again.
const interval = 20 * time.Millisecond

// errLocked says that another process has the lock.
var errLocked = errors.New("the file is locked")

// Lock locks a file across processes and creates it if needed. The lock ends with unlock or
// with the process. It fails if another process keeps the lock for longer than wait, or with the
// cause of ctx's end. Where the file cannot be created or the file system has no locks, unlock does
// nothing: to work without a lock is better than not to work.
func Lock(ctx context.Context, path string, wait time.Duration) (unlock func(), err error) {
	none := func() {}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return none, nil
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return none, nil
	}
	deadline := time.Now().Add(wait)
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for err = tryLock(file); errors.Is(err, errLocked); err = tryLock(file) {
		if time.Now().After(deadline) {
			_ = file.Close()
			return nil, fmt.Errorf("another process has locked %s for %v; if it hangs, end it",
				path, wait)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			_ = file.Close()
			return nil, context.Cause(ctx)
		}
	}
	return func() { _ = file.Close() }, nil
}

// besideWait bounds the wait of Beside. Who replaces a file has the lock for an instant.
const besideWait = 10 * time.Second

// Beside locks a hidden file beside the one at path. Programs that read a file, change it and
// replace it lock it so, because the file itself becomes another one.
func Beside(path string) (unlock func(), err error) {
	return Lock(context.Background(), filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+
		".lock"), besideWait)
}
