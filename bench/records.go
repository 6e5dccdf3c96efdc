package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit"
	"github.com/switchyard/switchyard/audit/history"
	"github.com/switchyard/switchyard/audit/stats"
)

const (
	// recordTurns and recordCalls make a run of 10,000 calls.
	recordTurns, recordCalls = 200, 50
	// reportedRuns are the runs of a report; each tenth is an agent's, of reportedTurns turns, the
	// others are direct calls.
	reportedRuns, reportedTurns = 1_000, 3
	// followedTurns are those of the run that is followed.
	followedTurns = 40
)

// records runs an agent of so many turns with 50 calls each, and measures how many records a second
// are derived of its histories, which are in memory, at best: what else the machine does only slows
// it; and by how much the heap grows while they are read from the server, from the tenth of the run
// to its end.
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
		n, err := derived(parts)
		if err != nil || n != turns*recordCalls {
			return nil, fmt.Errorf("%d records of %d calls: %w", n, turns*recordCalls, err)
		}
		rate = max(rate, float64(n)/time.Since(began).Seconds())
	}
	grown, err := l.heapWhileReading(ctx, e, turns*recordCalls)
	return map[string]float64{recordRate: rate, "records_heap_mb": grown}, err
}

func measureRecords(ctx context.Context, l *lab) (map[string]float64, error) {
	return l.records(ctx, recordTurns)
}

// parts returns the histories of a run's executions.
func (l *lab) parts(ctx context.Context, e execution) ([][]*historypb.HistoryEvent, error) {
	var parts [][]*historypb.HistoryEvent
	for e.runID != "" {
		var events []*historypb.HistoryEvent
		for history := l.history(ctx, e); history.HasNext(); {
			event, err := history.Next()
			if err != nil {
				return nil, err
			}
			events = append(events, event)
		}
		parts = append(parts, events)
		e.runID = events[len(
			events)-1].GetWorkflowExecutionContinuedAsNewEventAttributes().GetNewExecutionRunId()
	}
	return parts, nil
}

// derived counts the records of a run.
func derived(parts [][]*historypb.HistoryEvent) (records int, err error) {
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

// heapWhileReading returns the heap growth in MB between a tenth of the run's calls and the last.
func (l *lab) heapWhileReading(ctx context.Context, e execution, calls int) (float64, error) {
	n, early, late := 0, 0.0, 0.0
	for _, err := range audit.Records(ctx, l.client, e.workflowID, e.runID) {
		if err != nil {
			return 0, err
		}
		switch n++; n {
		case calls / 10:
			early = liveHeap()
		case calls:
			late = liveHeap()
		}
	}
	return (late - early) / 1e6, nil
}

// measureReport measures starter report over many runs, as users start it.
func measureReport(ctx context.Context, l *lab) (map[string]float64, error) {
	return l.report(ctx, reportedRuns)
}

func (l *lab) report(ctx context.Context, runs int) (map[string]float64, error) {
	call := api.RunInput{Call: &api.Call{Tool: "payload", Arguments: `{"size":100}`}}
	conversation := api.RunInput{Agent: agent(reportedTurns, turnSize), Prompt: "go"}
	if err := each(ctx, runs, runsAtOnce, func(ctx context.Context, i int) error {
		kind, input := api.CallWorkflow, call
		if i%10 == 0 {
			kind, input = api.AgentWorkflow, conversation
		}
		_, _, err := l.runToEnd(ctx, api.DefaultTaskQueue, kind, input)
		return err
	}); err != nil {
		return nil, err
	}
	if err := l.awaitListed(ctx, runs); err != nil {
		return nil, err
	}
	began := time.Now()
	out, err := exec.CommandContext(ctx, filepath.Join(l.bin, "starter"), "report", "--address",
		l.address, "--limit", fmt.Sprint(runs+1), "--output", "json").Output()
	took := time.Since(began).Seconds()
	var found stats.Report
	if err = errors.Join(err, json.Unmarshal(out, &found)); err == nil && found.Runs.All < runs {
		err = fmt.Errorf("the report has %d runs, want %d", found.Runs.All, runs)
	}
	return map[string]float64{"report_s": took}, err
}

// awaitListed waits until the server lists the given number of ended runs.
func (l *lab) awaitListed(ctx context.Context, runs int) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for {
		count, err := l.client.CountWorkflow(ctx,
			&workflowservice.CountWorkflowExecutionsRequest{Query: "ExecutionStatus='Completed'"})
		if err == nil && count.GetCount() >= int64(runs) {
			return nil
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
			return fmt.Errorf("the server does not list %d runs: %w", runs,
				errors.Join(err, context.Cause(ctx)))
		}
	}
}

// measureFollow measures the median time from an event, by the server's clock, to its line in
// starter watch.
func measureFollow(ctx context.Context, l *lab) (map[string]float64, error) {
	return l.follow(ctx, followedTurns)
}

func (l *lab) follow(ctx context.Context, turns int) (map[string]float64, error) {
	run, err := l.client.ExecuteWorkflow(ctx,
		client.StartWorkflowOptions{TaskQueue: api.DefaultTaskQueue}, api.AgentWorkflow,
		api.RunInput{Agent: slowly(agent(turns, turnSize)), Prompt: "go"})
	if err != nil {
		return nil, err
	}
	watch := exec.CommandContext(ctx, filepath.Join(l.bin, "starter"), "watch", run.GetID(),
		"--address", l.address, "--output", "json")
	stdout, err := watch.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := watch.Start(); err != nil {
		return nil, err
	}
	waits, err := waitsOf(stdout)
	if err = errors.Join(err, watch.Wait(), run.Get(ctx, nil)); err != nil || len(waits) == 0 {
		return nil, fmt.Errorf("%d events were seen in time: %w", len(waits), err)
	}
	slices.Sort(waits)
	return map[string]float64{"follow_ms": waits[len(waits)/2]}, nil
}

// waitsOf returns the delay of each line in milliseconds, for events after the first line.
func waitsOf(watch io.Reader) (waits []float64, err error) {
	var follows time.Time
	lines := bufio.NewScanner(watch)
	lines.Buffer(nil, 1<<22)
	for lines.Scan() {
		seen := time.Now()
		var e api.Event
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			return nil, err
		}
		if follows.IsZero() {
			follows = seen
		}
		if e.Sequence > 0 && e.Time.After(follows) {
			waits = append(waits, float64(seen.Sub(e.Time).Microseconds())/1e3)
		}
	}
	return waits, lines.Err()
}

// slowly adds a delay to each turn of an agent.
func slowly(a *api.Agent) *api.Agent {
	script := a.Model.Script.Value
	for i := range script.Steps {
		for j := range script.Steps[i].Calls {
			script.Steps[i].Calls[j] = api.ScriptCall{Tool: "pause",
				Arguments: json.RawMessage(`{"ms":50}`)}
		}
	}
	packed := api.Pack(script)
	a.Model.Script, a.Tools = &packed, []string{"pause"}
	return a
}
