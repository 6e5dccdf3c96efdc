//go:build unix

package main

import (
	"errors"

	"golang.org/x/sys/unix"
)

// exists reports whether a process has this id; one of another user counts.
func exists(pid int) bool {
	err := unix.Kill(pid, 0)
	return err == nil || errors.Is(err, unix.EPERM)
}
