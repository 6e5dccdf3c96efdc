package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit"
	"github.com/switchyard/switchyard/audit/lanestate"
	enumspb "go.temporal.io/api/enums/v1"
)

const (
	probeRuns    = 5
	probeTimeout = 20 * time.Second
	probeTool    = "echo"
)

// probe makes a few direct calls and tells what one takes: the run as a whole, and the call's own wait for a worker.
func (d *doctor) probe(ctx context.Context) ([]finding, error) {
	workers, err := lanestate.Pollers(ctx, d.client, d.namespace, d.queue, enumspb.TASK_QUEUE_TYPE_WORKFLOW)
	if err != nil {
		return nil, err
	}
	if len(workers) == 0 {
		return []finding{{markWarn, "no worker, so a call cannot be probed", "start one: " + d.app.connection.reach().workerCommand(d.queue, api.LaneGeneral)}}, nil
	}
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	var walls, waits []time.Duration
	for range probeRuns {
		wall, wait, err := d.probeOnce(ctx)
		if err != nil {
			return []finding{{markBad, fmt.Sprintf("a call of %s did not succeed: %v", probeTool, err), "look at it: " + d.app.connection.reach().command("list --limit 1")}}, nil
		}
		walls, waits = append(walls, wall), append(waits, wait)
	}
	return []finding{evaluate(median(walls), median(waits))}, nil
}

func median[T cmp.Ordered](values []T) T {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[len(sorted)/2]
}

// judge holds a direct call's times against those of tuned and untuned servers.
func evaluate(wall, wait time.Duration) finding {
	text := fmt.Sprintf("a direct call takes %s, of which it waits %s for a worker (median of %d)", brief(wall), brief(wait), probeRuns)
	if wait <= slowCall && wall <= 4*slowCall {
		return finding{markGood, text, ""}
	}
	return finding{markWarn, text + "; on a tuned server a call costs about 6ms, on an untuned one 100ms", tuning}
}

func (d *doctor) probeOnce(ctx context.Context) (wall, wait time.Duration, err error) {
	s := &start{kind: api.CallerDirect, workflow: api.CallWorkflow, name: probeTool, queue: d.queue, id: "doctor-" + randomHex(4)}
	s.input.Caller = api.Caller{Type: api.CallerDirect, ID: currentUser()}
	s.input.Call = &api.Call{Tool: probeTool, Arguments: `{"text":"doctor"}`}
	began := time.Now()
	runID, err := d.app.begin(ctx, d.client, s)
	if err != nil {
		return 0, 0, err
	}
	if err := d.client.GetWorkflow(ctx, s.id, runID).Get(ctx, nil); err != nil {
		return 0, 0, err
	}
	wall = time.Since(began)
	for r, err := range audit.Records(ctx, d.client, s.id, runID) {
		if err != nil {
			return 0, 0, err
		}
		wait = r.QueueWait.Std()
	}
	return wall, wait, nil
}
