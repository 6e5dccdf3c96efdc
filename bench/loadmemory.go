package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/switchyard/switchyard/api"
)

// A worker under load executes loadRuns plans at the same time, each of loadCalls calls in a row
// with results of loadSize bytes.
const (
	loadRuns  = 200
	loadCalls = 20
	loadSize  = 5 << 10
)

// sampling is the time between two readings of a process's memory.
const sampling = 10 * time.Millisecond

// measureLoadMemory compares the peak of the anonymous memory of a worker that executes plans with
// that of a worker that executes the same calls by hand-written workflows: of the whole process,
// including the histories and results in flight, the cached runs, and garbage. Pages of the program
// file do not count: how many are in memory depends on the file cache of the machine.
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

// peak executes runs at the same time and returns the peak of the worker's anonymous memory. The
// kernel records no peak of it, so it is read every 10 ms.
func peak(ctx context.Context, l *lab, p *process, runs int, s side) (bytes float64, err error) {
	over, most := make(chan struct{}), make(chan sampled, 1)
	go func() { most <- p.sample(over) }()
	err = each(ctx, runs, runs, func(ctx context.Context, _ int) error {
		_, _, err := l.runToEnd(ctx, s.queue, s.kind, s.input)
		return err
	})
	close(over)
	top := <-most
	if err == nil {
		err = top.err
	}
	fmt.Fprintf(os.Stderr, "  %s: at most %.1f MB anonymous in %d readings\n", s.kind,
		float64(top.bytes)/1e6, top.readings)
	return float64(top.bytes), err
}

// sampled is the highest of several readings of a process's anonymous memory.
type sampled struct {
	bytes    uint64
	readings int
	err      error
}

// sample reads the anonymous memory of the process until over is closed.
func (p *process) sample(over <-chan struct{}) (s sampled) {
	tick := time.NewTicker(sampling)
	defer tick.Stop()
	for {
		bytes, err := p.memory("RssAnon")
		if err != nil {
			s.err = err
			return s
		}
		s.bytes, s.readings = max(s.bytes, bytes), s.readings+1
		select {
		case <-over:
			return s
		case <-tick.C:
		}
	}
}
