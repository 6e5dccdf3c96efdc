package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
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
	// manyKeys is how many times as many keys are used for memory and polls as for the takeover.
	manyKeys = 10
	// plansOfKeys is the number of concurrent plans whose calls use the keys, callsOfKeys the
	// maximum number of calls of one.
	plansOfKeys = 10
	callsOfKeys = 100
)

// Other keys may add this part and as many bytes to what the first ones have added to a worker.
const (
	keyRest  = 0.1
	keySlack = 8e6
)

// measureKeyed uses keys of one lane on one worker, each for a call, and then as many others.
// open_keys_mb is the maximum growth of the worker process's resident memory after a garbage
// collection, open_keys_pollers the number of long polls that the worker keeps open. Memory that
// grows with the number of keys ever used is an error. Then the worker is killed: keyed_takeover_s
// is the time until a call with each of a thousand keys has ended on another worker.
func measureKeyed(ctx context.Context, l *lab) (values map[string]float64, err error) {
	err = l.onMeteredServer(ctx, keyRules, func(ctx context.Context, m metered, y *yard) error {
		values, err = y.measureKeys(ctx, &lab{client: y.client, keys: l.keys}, m)
		return err
	}, "devices")
	return values, err
}

func (y *yard) measureKeys(ctx context.Context, l *lab, m metered) (map[string]float64, error) {
	if _, err := y.start(api.LaneGeneral); err != nil {
		return nil, err
	}
	others, err := m.openPolls(ctx)
	if err != nil {
		return nil, err
	}
	holder, err := y.startHolder(ctx, l)
	if err != nil {
		return nil, err
	}
	added, err := y.useTwice(ctx, l, holder)
	if err != nil {
		return nil, err
	}
	polls, err := m.openPolls(ctx)
	if err != nil {
		return nil, err
	}
	took, err := y.takeOver(ctx, l, holder)
	return map[string]float64{"open_keys_mb": max(added, 0) / 1e6,
		"open_keys_pollers": polls - others, "keyed_takeover_s": took.Seconds()}, err
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

// useTwice uses keys, and then others, and returns the most that they added to the worker.
func (y *yard) useTwice(ctx context.Context, l *lab, holder *process) (added float64, err error) {
	before, err := holder.footprint()
	if err != nil {
		return 0, err
	}
	fmt.Fprintln(os.Stderr, "  idle:", before)
	var took [2]float64
	for i := range took {
		began := time.Now()
		if err := y.useKeys(ctx, l, fmt.Sprint("round", i), manyKeys*l.keys); err != nil {
			return 0, err
		}
		used := time.Since(began)
		after, err := holder.footprint()
		if err != nil {
			return 0, err
		}
		fmt.Fprintf(os.Stderr, "  after %d keys within %.1f s: %s\n", manyKeys*l.keys,
			used.Seconds(), after)
		took[i] = float64(after.Live) - float64(before.Live)
		added = max(added, float64(after.Resident)-float64(before.Resident))
	}
	if took[1]-took[0] > keyRest*took[0]+keySlack {
		return 0, fmt.Errorf("%d keys took %.1f MB, and as many other keys %.1f more",
			manyKeys*l.keys, took[0]/1e6, (took[1]-took[0])/1e6)
	}
	return added, nil
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
