package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/gofrs/flock"
)

// lockFile locks a file, or returns which process has locked it. The lock ends with the process.
// The file is never removed, because two processes could then lock two files with one name.
func lockFile(path string) (*flock.Flock, error) {
	lock := flock.New(path, flock.SetPermissions(privateFile))
	locked, err := lock.TryLock()
	switch {
	case err != nil:
		return nil, fmt.Errorf("cannot lock %s: %w", path, err)
	case !locked:
		return nil, fmt.Errorf("another devserver%s uses this file: stop it, or choose another file",
			holder(path))
	}
	// For the message above only.
	_ = os.WriteFile(path, []byte(strconv.Itoa(os.Getpid())+"\n"), privateFile)
	return lock, nil
}

// holder is the process that wrote the lock file, as words to put into a message, or nothing. On
// Windows a locked file cannot be read.
func holder(path string) string {
	content, err := os.ReadFile(path)
	if pid := strings.TrimSpace(string(content)); err == nil && pid != "" {
		return " (process " + pid + ")"
	}
	return ""
}
