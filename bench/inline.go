package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"go.temporal.io/sdk/client"

	"github.com/switchyard/switchyard/api"
)

// way selects how the steps of a run are executed: as activities or inline.
type way struct{ model, tool string }

var (
	asActivities = way{api.LaneGeneral, "payload"}
	allInline    = way{api.LaneInline, "payload_inline"}
)

// run returns the input of an agent run with the given turns and calls per turn.
func (w way) run(turns, calls int) api.RunInput {
	a := agent(0, turnSize)
	call := api.ScriptCall{Tool: w.tool, Arguments: json.RawMessage(fmt.Sprintf(`{"size":%d}`,
		turnSize)), Repeat: calls}
	var steps []api.ScriptStep
	for range turns {
		steps = append(steps, api.ScriptStep{Calls: []api.ScriptCall{call}})
	}
	a.Model.Script.Value.Steps = append(steps, a.Model.Script.Value.Steps...)
	a.Tools, a.Limits.Turns, a.Model.Lane = []string{w.tool}, turns+1, w.model
	return api.RunInput{Agent: a, Prompt: "go"}
}

func (w way) side() side {
	return side{api.DefaultTaskQueue, api.AgentWorkflow, w.run(turns, 1)}
}

// measureInline compares a run with everything inline to the same run with activities.
func measureInline(ctx context.Context, l *lab) (map[string]float64, error) {
	value, err := l.measureRatio(ctx, l.pairs, allInline.side(), asActivities.side())
	return map[string]float64{"inline_wall_ratio": value}, err
}

// Sizes of the runs whose throughput is measured.
const (
	shortTurns   = 5
	callsPerTurn = 2
)

// measureThroughput compares the rate at which a worker completes a backlog of short runs, with
// everything inline and with activities. Each side has its own server, because timers of activities
// load the server for minutes.
func measureThroughput(ctx context.Context, l *lab) (map[string]float64, error) {
	alone := func(w way) timed {
		return func() (time.Duration, error) {
			own, err := newLab(ctx, l.bin)
			if err != nil {
				return 0, err
			}
			defer own.close()
			if _, err := own.workOff(ctx, "warm-up", l.runs/10,
				w.run(shortTurns, callsPerTurn)); err != nil {
				return 0, err
			}
			return own.workOff(ctx, "short-runs", l.runs, w.run(shortTurns, callsPerTurn))
		}
	}
	value, err := ratio(max(l.pairs/3, 1), alone(asActivities), alone(allInline))
	return map[string]float64{"inline_throughput_ratio": value}, err
}

// workOff starts n runs on a separate queue, then a worker for it. It returns the time from the
// worker's first action to the end of the last run, by the server's clock.
func (l *lab) workOff(ctx context.Context, queue string, n int, input api.RunInput) (time.Duration,
	error) {
	runs := make([]client.WorkflowRun, n)
	for i := range runs {
		var err error
		if runs[i], err = l.client.ExecuteWorkflow(ctx,
			client.StartWorkflowOptions{TaskQueue: queue}, api.AgentWorkflow, input); err != nil {
			return 0, err
		}
	}
	stop, err := l.serve(ctx, queue)
	if err != nil {
		return 0, err
	}
	defer stop()
	// Waiting for the last run first costs the server least: it ends about last.
	for _, run := range slices.Backward(runs) {
		if err := run.Get(ctx, nil); err != nil {
			return 0, err
		}
	}
	return l.span(ctx, runs)
}

// span returns the time from a worker's first action on the runs to the end of the last one.
func (l *lab) span(ctx context.Context, runs []client.WorkflowRun) (time.Duration, error) {
	var began, ended time.Time
	for _, run := range runs {
		events, err := l.events(ctx, execution{run.GetID(), run.GetRunID()})
		if err != nil {
			return 0, err
		}
		for _, event := range events {
			at := event.GetEventTime().AsTime()
			starts := event.GetWorkflowTaskStartedEventAttributes() != nil
			if starts && (began.IsZero() || at.Before(began)) {
				began = at
			}
			if at.After(ended) {
				ended = at
			}
		}
	}
	return ended.Sub(began), nil
}
