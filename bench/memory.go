package main

import (
	"context"
	"runtime"
	"sync"

	"github.com/switchyard/switchyard/api"
)

const (
	fewRuns    = 1_000
	manyRuns   = 10_000
	runsAtOnce = 32
)

// measureMemory compares the live heap of a worker after 10,000 finished one-turn runs with that
// after 1,000.
func measureMemory(ctx context.Context, l *lab) (map[string]float64, error) {
	input := api.RunInput{Agent: agent(1, turnSize), Prompt: "go"}
	if err := l.runMany(ctx, fewRuns, input); err != nil {
		return nil, err
	}
	few := liveHeap()
	if err := l.runMany(ctx, manyRuns-fewRuns, input); err != nil {
		return nil, err
	}
	return map[string]float64{"worker_memory_ratio": liveHeap() / few}, nil
}

func (l *lab) runMany(ctx context.Context, runs int, input api.RunInput) error {
	return each(ctx, runs, runsAtOnce, func(ctx context.Context, _ int) error {
		_, _, err := l.runToEnd(ctx, api.DefaultTaskQueue, api.AgentWorkflow, input)
		return err
	})
}

// each calls do for the numbers below n, several at a time. It stops at the first error.
func each(ctx context.Context, n, atOnce int, do func(context.Context, int) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	tickets := make(chan int, n)
	for i := range n {
		tickets <- i
	}
	close(tickets)
	var running sync.WaitGroup
	for range atOnce {
		running.Go(func() {
			for i := range tickets {
				if err := do(ctx, i); err != nil {
					cancel(err)
					return
				}
			}
		})
	}
	running.Wait()
	return context.Cause(ctx)
}

// liveHeap returns the bytes of the heap after a garbage collection. The process is the worker and
// the client that starts the runs.
func liveHeap() float64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc)
}
