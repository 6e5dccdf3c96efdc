package main

import (
	"context"
	"sync"
)

// runsAtOnce is how many runs a figure starts at a time.
const runsAtOnce = 32

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
