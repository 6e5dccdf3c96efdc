package operate

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/switchyard/switchyard"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit/lanestate"
	"github.com/switchyard/switchyard/internal/runstart"
	"github.com/switchyard/switchyard/starter/internal/cli"
	enumspb "go.temporal.io/api/enums/v1"
)

const (
	probeRuns    = 5
	probeTimeout = 20 * time.Second
	probeTool    = "echo"
)

// probe makes a few direct calls and reports the duration of the run and the call's wait for a
// worker.
func (d *doctor) probe(ctx context.Context) ([]finding, error) {
	workers, err := lanestate.Pollers(ctx, d.client, d.namespace, d.queue,
		enumspb.TASK_QUEUE_TYPE_WORKFLOW)
	if err != nil {
		return nil, err
	}
	if len(workers) == 0 {
		return []finding{{markWarn, "no worker serves the probe call", "start one: " +
			d.app.Connection.Invocation().WorkerCommand(d.queue, api.LaneGeneral)}}, nil
	}
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	c := d.app.Client(d.client)
	var walls, waits []time.Duration
	for range probeRuns {
		wall, wait, err := d.probeOnce(ctx, c)
		if err != nil {
			return []finding{{markBad, fmt.Sprintf("the probe call of %s failed: %v", probeTool,
					err), "inspect it: " +
					d.app.Connection.Invocation().Command("list --limit 1")}},
				nil
		}
		walls, waits = append(walls, wall), append(waits, wait)
	}
	return []finding{evaluate(median(walls), median(waits))}, nil
}

func median[T cmp.Ordered](values []T) T {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[len(sorted)/2]
}

// evaluate compares a direct call's times with those of tuned and untuned servers.
func evaluate(wall, wait time.Duration) finding {
	text := fmt.Sprintf("a direct call takes %s, including %s waiting for a worker (median of %d)",
		cli.ShortDuration(wall), cli.ShortDuration(wait), probeRuns)
	if wait <= slowCall && wall <= 4*slowCall {
		return finding{markGood, text, ""}
	}
	return finding{markWarn, text +
		"; expect about 6ms on a tuned server and 100ms on an untuned one", tuning}
}

func (d *doctor) probeOnce(ctx context.Context, c *switchyard.Client) (wall, wait time.Duration,
	err error) {
	id := "doctor-" + runstart.RandomHex(4)
	began := time.Now()
	run, err := c.Call(ctx, probeTool, map[string]string{"text": "doctor"},
		switchyard.StartOptions{ID: id, TaskQueue: d.queue})
	if err != nil {
		return 0, 0, err
	}
	if _, err := run.Result(ctx); err != nil {
		return 0, 0, err
	}
	wall = time.Since(began)
	for r, err := range run.Records(ctx) {
		if err != nil {
			return 0, 0, err
		}
		wait = r.QueueWait.Std()
	}
	return wall, wait, nil
}
