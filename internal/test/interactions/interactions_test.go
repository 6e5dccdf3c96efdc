// Package interactions composes features at random on a real server and compares what the system
// says with a ledger outside of it.
package interactions

import (
	"flag"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"
)

// Flags of TestInteractions. A seed is one scenario; RUNS=1 SEED=n of the make target replays it.
var (
	runs   = flag.Int("runs", 100, "number of scenarios")
	seed   = flag.Uint64("seed", 1, "seed of the first scenario; the others follow")
	atOnce = flag.Int("at-once", 8, "number of scenarios that run at a time")
)

// TestInteractions_KeepEveryPromise runs scenarios of random features, several at a time, on one
// server with two workers. The ledger outside decides whether a once call took effect twice,
// whether something was lost or told falsely, and whether every call of a failed run was undone.
func TestInteractions_KeepEveryPromise(t *testing.T) {
	var poor []string
	scenarios := make(chan *scenario, *runs)
	for i := range *runs {
		s := newScenario(*seed + uint64(i))
		if s.poor {
			poor = append(poor, s.principal())
		}
		scenarios <- s
		if *runs == 1 {
			fmt.Print(s)
		}
	}
	close(scenarios)
	l := newLab(t, poor)
	began, sum := time.Now(), newSummary()
	evaluations, over := make(chan evaluation), make(chan struct{})
	go func() {
		defer close(over)
		for v := range evaluations {
			sum.add(v)
			report(t, v, sum, began)
		}
	}()
	done := make(chan struct{})
	go func() {
		defer close(done)
		var all sync.WaitGroup
		for range *atOnce {
			all.Go(func() {
				for s := range scenarios {
					evaluations <- execute(l, s)
				}
			})
		}
		all.Wait()
		close(evaluations)
		<-over
	}()
	l.keep(done)
	for _, excess := range l.excesses() {
		t.Error(excess)
	}
	fmt.Printf("\n%d scenarios from seed %d in %.0f s, %d failed\nruns: %s\ncalls: %s\n\n%s\n",
		sum.scenarios, *seed, time.Since(began).Seconds(), sum.failed, counts(sum.runs),
		counts(sum.outcomes), sum.table())
	if missing := sum.missing(); *runs >= longForm && len(missing) > 0 {
		t.Errorf("these features never met: %s", strings.Join(missing, ", "))
	}
}

// longForm is the number of scenarios from which every pair of features has to occur.
const longForm = 2000

// report prints the faults of a scenario, and now and then the progress.
func report(t *testing.T, v evaluation, sum *summary, began time.Time) {
	for _, fault := range v.faults {
		t.Errorf("seed %d: %s", v.seed, fault)
	}
	if sum.scenarios%100 == 0 {
		fmt.Printf("%d of %d scenarios, %d failed, %.0f s\n", sum.scenarios, *runs, sum.failed,
			time.Since(began).Seconds())
	}
}
