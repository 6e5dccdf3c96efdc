package main

import (
	"context"
	"fmt"
	"os"

	"github.com/switchyard/switchyard/api"
)

// A worker under load executes loadRuns plans at the same time, each of loadCalls calls in a row
// with results of loadSize bytes.
const (
	loadRuns  = 200
	loadCalls = 20
	loadSize  = 5 << 10
)

// measureLoadMemory compares the peak of the resident memory of a worker that executes plans with
// that of a worker that executes the same calls by hand-written workflows: of the whole process,
// including the histories and results in flight, the cached runs, and garbage.
func measureLoadMemory(ctx context.Context, l *lab) (map[string]float64, error) {
	return loadMemory(ctx, l, loadRuns)
}

func loadMemory(ctx context.Context, l *lab, runs int) (map[string]float64, error) {
	ctx, y, err := newYard(ctx, l, "{}\n", api.LaneGeneral)
	if err != nil {
		return nil, err
	}
	defer y.close()
	ours, err := y.start(api.LaneGeneral)
	if err != nil {
		return nil, err
	}
	plan := chains("payload_"+api.LaneGeneral, fmt.Sprintf(`{"size":%d}`, loadSize), 1, loadCalls)
	most, err := peak(ctx, l, ours, runs, side{yardQueue, api.PlanWorkflow, plan})
	if err != nil {
		return nil, err
	}
	simple, err := y.launch("the hand-written workflows", serveHand, y.address)
	if err != nil {
		return nil, err
	}
	mostSimple, err := peak(ctx, l, simple, runs, side{handAlone, "handCalls",
		handInput{Turns: loadCalls, Size: loadSize}})
	return map[string]float64{"load_memory_ratio": most / mostSimple}, err
}

// peak executes runs at the same time and returns the peak of the worker's resident memory.
func peak(ctx context.Context, l *lab, p *process, runs int,
	s side) (bytes float64, err error) {
	err = each(ctx, runs, runs, func(ctx context.Context, _ int) error {
		_, _, err := l.runToEnd(ctx, s.queue, s.kind, s.input)
		return err
	})
	if err != nil {
		return 0, err
	}
	most, err := p.memory("VmHWM")
	fmt.Fprintf(os.Stderr, "  %s: at most %.1f MB resident\n", s.kind, float64(most)/1e6)
	return float64(most), err
}
