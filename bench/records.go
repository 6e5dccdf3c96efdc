package main

import (
	"context"
	"fmt"
	"time"

	historypb "go.temporal.io/api/history/v1"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit/history"
)

// recordTurns and recordCalls make a run of 10,000 calls.
const recordTurns, recordCalls = 200, 50

// records runs an agent of so many turns with 50 calls each, and measures how many records a second
// are derived of its histories, which are in memory, at best: what else the machine does only slows
// it.
func (l *lab) records(ctx context.Context, turns int) (map[string]float64, error) {
	a := agent(turns, turnSize)
	script := a.Model.Script.Value
	for i := range turns {
		script.Steps[i].Calls[0].Repeat = recordCalls
	}
	packed := api.Pack(script)
	a.Model.Script, a.Limits.Calls = &packed, turns*recordCalls
	e, _, err := l.runToEnd(ctx, api.DefaultTaskQueue, api.AgentWorkflow, api.RunInput{Agent: a,
		Prompt: "go"})
	if err != nil {
		return nil, err
	}
	parts, err := l.parts(ctx, e)
	if err != nil {
		return nil, err
	}
	rate := 0.0
	for range l.pairs {
		began := time.Now()
		n, err := countRecords(parts)
		if err != nil || n != turns*recordCalls {
			return nil, fmt.Errorf("%d records of %d calls: %w", n, turns*recordCalls, err)
		}
		rate = max(rate, float64(n)/time.Since(began).Seconds())
	}
	return map[string]float64{"records_per_s": rate}, nil
}

func measureRecords(ctx context.Context, l *lab) (map[string]float64, error) {
	return l.records(ctx, recordTurns)
}

// parts returns the histories of a run's executions.
func (l *lab) parts(ctx context.Context, e execution) (parts [][]*historypb.HistoryEvent,
	err error) {
	for e.runID != "" {
		events, err := l.events(ctx, e)
		if err != nil {
			return nil, err
		}
		parts, e.runID = append(parts, events), continuation(events)
	}
	return parts, nil
}

// countRecords counts the records of a run.
func countRecords(parts [][]*historypb.HistoryEvent) (records int, err error) {
	d := history.NewDeriver("", "")
	for _, part := range parts {
		for _, event := range part {
			events, err := d.Add(event)
			if err != nil {
				return records, err
			}
			for _, e := range events {
				if e.Record != nil {
					records++
				}
			}
		}
	}
	return records, nil
}
