package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/switchyard/switchyard/api"
)

const (
	fanCalls  = 100
	fanMillis = 50
)

// measureFanout compares a plan of parallel calls with a workflow that makes the same calls.
func measureFanout(ctx context.Context, l *lab) (map[string]float64, error) {
	plan := chains("pause", fmt.Sprintf(`{"ms":%d}`, fanMillis), fanCalls, 1)
	ratio, err := l.measureRatio(ctx, 2*l.pairs, side{api.DefaultTaskQueue, api.PlanWorkflow, plan},
		side{handQueue, "handFan", handInput{Turns: fanCalls, Size: fanMillis}})
	return map[string]float64{"fanout_ratio": ratio}, err
}

// chains returns the input of a plan with that many parallel chains of sequential calls.
func chains(tool, arguments string, rows, length int) api.RunInput {
	plan := api.Plan{Name: "chains"}
	for row := range rows {
		for i := range length {
			call := api.PlanCall{ID: fmt.Sprintf("c%d-%d", row, i), Tool: tool,
				Arguments: json.RawMessage(arguments)}
			if i > 0 {
				call.DependsOn = []string{fmt.Sprintf("c%d-%d", row, i-1)}
			}
			plan.Calls = append(plan.Calls, call)
		}
	}
	packed := api.Pack(plan)
	return api.RunInput{Plan: &packed}
}

// laneRules define a lane without a limit, and lanes whose limit is the number of concurrent calls.
const laneRules = `
lanes:
  free: {}
  one: {limit: 1}
  ten: {limit: 10}
`

// loads are the calls that are compared: on a lane with a limit, and as many in as many rows on
// free.
var loads = []struct {
	lane         string
	rows, length int
}{{"one", 1, 50}, {"ten", 10, 10}}

// measureLimited compares calls on a lane with a limit with the same calls on a lane without: one
// at a time, and as many as the limit allows. The figure is the worse ratio. That the limit adds
// events to the history, of the run or of the lane's keeper, is an error.
func measureLimited(ctx context.Context, l *lab) (map[string]float64, error) {
	ctx, y, err := newYard(ctx, l, laneRules, "free", "one", "ten")
	if err != nil {
		return nil, err
	}
	defer y.close()
	if _, err := y.start(api.LaneGeneral, "free", "one", "ten"); err != nil {
		return nil, err
	}
	if err := y.awaitServed(ctx); err != nil {
		return nil, err
	}
	before, err := y.keeperEvents(ctx)
	if err != nil {
		return nil, err
	}
	worst, err := l.worstLoad(ctx)
	if err != nil {
		return nil, err
	}
	if err := l.sameEvents(ctx, "one"); err != nil {
		return nil, err
	}
	if after, err := y.keeperEvents(ctx); err != nil || after != before {
		return nil, errors.Join(err,
			fmt.Errorf("the histories of the lanes' workflows had %d events before the calls and "+
				"have %d after them", before, after))
	}
	return map[string]float64{"limited_lane_ratio": worst}, nil
}

// worstLoad returns the highest ratio of all loads.
func (l *lab) worstLoad(ctx context.Context) (worst float64, err error) {
	for _, load := range loads {
		ratio, err := l.measureRatio(ctx, 2*l.pairs, onLane(load.lane, load.rows, load.length),
			onLane("free", load.rows, load.length))
		if err != nil {
			return 0, err
		}
		fmt.Fprintf(os.Stderr, "  %d calls at a time: %.3f\n", load.rows, ratio)
		worst = max(worst, ratio)
	}
	return worst, nil
}

func onLane(lane string, rows, length int) side {
	return side{yardQueue, api.PlanWorkflow, chains("payload_"+lane, fmt.Sprintf(`{"size":%d}`,
		turnSize), rows, length)}
}

// sameEvents fails unless a call has as many events in the history on the lane as on free.
func (l *lab) sameEvents(ctx context.Context, lane string) error {
	var events [2]float64
	for i, name := range []string{lane, "free"} {
		var err error
		events[i], err = l.eventsPerTurn(ctx, yardQueue, api.PlanWorkflow, func(n int) any {
			return onLane(name, 1, n).input
		})
		if err != nil {
			return err
		}
	}
	if events[0] != events[1] {
		return fmt.Errorf("a call has %v events on the lane %s and %v on one without a limit",
			events[0], lane, events[1])
	}
	return nil
}

// keeperEvents is how many events the histories of the lanes' keepers have.
func (y *yard) keeperEvents(ctx context.Context) (int64, error) {
	sum := int64(0)
	for _, load := range loads {
		d, err := y.client.DescribeWorkflowExecution(ctx, api.LaneWorkflowID(yardQueue, load.lane),
			"")
		if err != nil {
			return 0, err
		}
		sum += d.GetWorkflowExecutionInfo().GetHistoryLength()
	}
	return sum, nil
}
