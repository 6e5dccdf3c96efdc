package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
)

// errLocked is what tryLock returns when another process holds the lock.
var errLocked = errors.New("locked")

// lockFile locks a file, or returns which process has locked it. The lock ends with the process.
// The file is never removed, because two processes could then lock two files with one name.
func lockFile(path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, privateFile)
	if err != nil {
		return nil, fmt.Errorf("cannot make the lock file: %w", err)
	}
	if err := tryLock(file); err != nil {
		defer file.Close()
		if errors.Is(err, errLocked) {
			return nil, fmt.Errorf(
				"another devserver%s uses this file: stop it, or choose another file", holder(file))
		}
		return nil, fmt.Errorf("cannot lock %s: %w", path, err)
	}
	if err := file.Truncate(0); err == nil {
		_, _ = file.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0) // for the message above only
	}
	return file, nil
}

// holder is the process that wrote the lock file, as words to put into a message, or nothing.
func holder(file *os.File) string {
	content, err := io.ReadAll(io.LimitReader(file, 32))
	if pid := strings.TrimSpace(string(content)); err == nil && pid != "" {
		return " (process " + pid + ")"
	}
	return ""
}
