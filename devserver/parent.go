package main

import (
	"context"
	"os"
	"sync/atomic"
	"time"
)

// parentPoll is the interval of checks for the parent.
const parentPoll = 500 * time.Millisecond

// withParent returns a context that ends when the process pid does, and a function that tells
// whether it did. With pid 0 nothing is watched.
func withParent(ctx context.Context, pid int) (context.Context, func() bool) {
	var gone atomic.Bool
	if pid == 0 {
		return ctx, gone.Load
	}
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		defer cancel()
		pollExit(ctx, pid)
		gone.Store(ctx.Err() == nil)
	}()
	return ctx, gone.Load
}

// pollExit returns when the process has exited or the context ends. A reparented process counts as
// orphaned, because a killed process keeps its ID until it is reaped.
func pollExit(ctx context.Context, pid int) {
	isParent := os.Getppid() == pid
	tick := time.NewTicker(parentPoll)
	defer tick.Stop()
	for exists(pid) && (!isParent || os.Getppid() == pid) {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}
