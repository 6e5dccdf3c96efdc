package main

import (
	"context"
	"encoding/json"
	"fmt"
	"syscall"
	"time"

	"github.com/switchyard/switchyard/api"
)

// keyRules defines a keyed serial lane.
const keyRules = `
lanes:
  devices: {key: "{{args.key}}"}
`

const (
	// plansOfKeys is the number of concurrent plans whose calls use the keys, callsOfKeys the
	// maximum number of calls of one.
	plansOfKeys = 10
	callsOfKeys = 100
)

// measureKeyed kills a worker that has used the keys of one lane, each for a call. The figure is
// the time until a call with each of the keys has ended on another worker.
func measureKeyed(ctx context.Context, l *lab) (map[string]float64, error) {
	ctx, y, err := newYard(ctx, l, keyRules, "devices")
	if err != nil {
		return nil, err
	}
	defer y.close()
	if _, err := y.start(api.LaneGeneral); err != nil {
		return nil, err
	}
	holder, err := y.startHolder(ctx, l)
	if err != nil {
		return nil, err
	}
	took, err := y.takeOver(ctx, l, holder)
	return map[string]float64{"keyed_takeover_s": took.Seconds()}, err
}

// startHolder starts a worker of the keyed lane and makes some calls, so that the cost of a
// process's first calls is not attributed to keys.
func (y *yard) startHolder(ctx context.Context, l *lab) (*process, error) {
	holder, err := y.start("devices")
	if err != nil {
		return nil, err
	}
	if err := y.awaitServed(ctx); err != nil {
		return nil, err
	}
	return holder, y.useKeys(ctx, l, "first", plansOfKeys)
}

// takeOver uses keys, kills the worker that has them, and returns how long it takes until a call
// with each of them has ended on another.
func (y *yard) takeOver(ctx context.Context, l *lab, holder *process) (time.Duration, error) {
	if err := y.useKeys(ctx, l, "last", l.keys); err != nil {
		return 0, err
	}
	if _, err := y.start("devices"); err != nil {
		return 0, err
	}
	holder.end(syscall.SIGKILL)
	began := time.Now()
	err := y.useKeys(ctx, l, "last", l.keys)
	return time.Since(began), err
}

// useKeys makes one call with each of n keys.
func (y *yard) useKeys(ctx context.Context, l *lab, name string, n int) error {
	calls := min(n/plansOfKeys, callsOfKeys)
	return each(ctx, n/calls, plansOfKeys, func(ctx context.Context, part int) error {
		plan := api.Plan{Name: "keys"}
		for i := range calls {
			plan.Calls = append(plan.Calls, api.PlanCall{ID: fmt.Sprintf("c%d", i),
				Tool: "payload_devices",
				Arguments: json.RawMessage(fmt.Sprintf(`{"size":%d,"key":"%s-%d-%d"}`, turnSize,
					name, part, i))})
		}
		packed := api.Pack(plan)
		_, _, err := l.runToEnd(ctx, yardQueue, api.PlanWorkflow, api.RunInput{Plan: &packed})
		return err
	})
}
