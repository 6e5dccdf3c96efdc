// Package parallel spreads independent work over the processors.
package parallel

import (
	"runtime"
	"sync"
)

// Each calls work with every index below n, in any order and as many at once as there are
// processors, and returns when all calls have.
func Each(n int, work func(i int)) {
	var wait sync.WaitGroup
	next := make(chan int)
	for range min(n, runtime.GOMAXPROCS(0)) {
		wait.Go(func() {
			for i := range next {
				work(i)
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	wait.Wait()
}
