package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/switchyard/switchyard/api"
)

const (
	turns    = 100
	turnSize = 1 << 10
)

// measureTurns alternates agent runs and hand-written workflows and returns the median ratio of the
// pairs.
func measureTurns(ctx context.Context, l *lab) (map[string]float64, error) {
	input := api.RunInput{Agent: agent(turns, turnSize), Prompt: "go"}
	hand := handInput{Turns: turns, Size: turnSize}
	ratio, err := l.measureRatio(ctx, l.pairs, side{api.DefaultTaskQueue, api.AgentWorkflow, input},
		side{handQueue, "handTurns", hand})
	if err != nil {
		return nil, err
	}
	return map[string]float64{"turn_wall_ratio": ratio}, nil
}

// measurePipeline compares a plan of calls in a row with a workflow that makes the same ones.
func measurePipeline(ctx context.Context, l *lab) (map[string]float64, error) {
	plan := chains("payload", fmt.Sprintf(`{"size":%d}`, turnSize), 1, turns)
	ratio, err := l.measureRatio(ctx, 2*l.pairs, side{api.DefaultTaskQueue, api.PlanWorkflow, plan},
		side{handQueue, "handCalls", handInput{Turns: turns, Size: turnSize}})
	return map[string]float64{"pipeline_ratio": ratio}, err
}

// side is one of two compared workflows.
type side struct {
	queue, kind string
	input       any
}

// measureRatio alternates both sides and returns the ratio of their times, first ÷ second.
func (l *lab) measureRatio(ctx context.Context, pairs int, first, second side) (float64, error) {
	sided := func(s side) timed {
		return func() (time.Duration, error) {
			_, took, err := l.runToEnd(ctx, s.queue, s.kind, s.input)
			return took, err
		}
	}
	return ratio(pairs, sided(first), sided(second))
}

// timed does something and returns its duration.
type timed func() (time.Duration, error)

// ratio returns the median ratio of the times of two functions.
func ratio(pairs int, first, second timed) (float64, error) {
	return compare(pairs, first, second, func(a, b time.Duration) float64 {
		return a.Seconds() / b.Seconds()
	})
}

// difference returns the median difference of the times of two functions, in milliseconds.
func difference(pairs int, first, second timed) (float64, error) {
	return compare(pairs, first, second, func(a, b time.Duration) float64 {
		return (a - b).Seconds() * 1000
	})
}

// compare alternates two functions, after one pair to warm up, and returns the median of what of a
// pair's times. The order changes from pair to pair.
func compare(pairs int, first, second timed,
	of func(a, b time.Duration) float64) (float64, error) {
	things, values := [2]timed{first, second}, make([]float64, 0, pairs)
	for i := range pairs + 1 {
		var times [2]time.Duration
		for n := range 2 {
			which := (i + n) % 2
			took, err := things[which]()
			if err != nil {
				return 0, err
			}
			times[which] = took
		}
		if i > 0 {
			values = append(values, of(times[0], times[1]))
		}
	}
	slices.Sort(values)
	return values[len(values)/2], nil
}

// eventsPerTurn returns the slope of the history's length, without the events that every run has
// once.
func (l *lab) eventsPerTurn(ctx context.Context, queue, kind string,
	input func(turns int) any) (float64, error) {
	var lengths [2]int64
	for i, n := range []int{turns / 2, turns} {
		first, _, err := l.runToEnd(ctx, queue, kind, input(n))
		if err != nil {
			return 0, err
		}
		s, err := l.historySize(ctx, first)
		if err != nil {
			return 0, err
		}
		lengths[i] = s.events
	}
	return float64(lengths[1]-lengths[0]) / (turns / 2), nil
}
