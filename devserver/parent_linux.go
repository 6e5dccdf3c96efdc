package main

import (
	"context"
	"errors"

	"golang.org/x/sys/unix"
)

// awaitExit returns true when the process has exited or the context ends, and false if this kernel
// cannot report it.
func awaitExit(ctx context.Context, pid int) bool {
	handle, err := unix.PidfdOpen(pid, 0)
	if errors.Is(err, unix.ESRCH) {
		return true
	}
	if err != nil {
		return false
	}
	defer unix.Close(handle)
	for ctx.Err() == nil {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(handle), Events: unix.POLLIN}},
			int(parentPoll.Milliseconds()))
		if err != nil && !errors.Is(err, unix.EINTR) {
			return false
		}
		if n > 0 {
			return true
		}
	}
	return true
}
