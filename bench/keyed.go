package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"syscall"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit/lanestate"
)

// keyRules is a serial lane with keys, which stay open for as long as it says when nobody uses
// them.
const keyRules = `
lanes:
  devices: {key: "{{args.key}}", idle_timeout: %s}
`

// What is long enough for all keys to be open at once, and what closes them.
const (
	longIdle  = "10m"
	shortIdle = "1s"
)

// plansOfKeys is in how many plans at once the calls are made that use the keys.
const plansOfKeys = 10

// Of what keys take, this part and as many bytes may be left when they are closed, and other keys
// may take that much more.
const (
	keyRest  = 0.1
	keySlack = 8e6
)

// measureKeyed opens keys on one worker, each used by a call, and closes them again, twice with
// other keys. keyed_lanes_mb is the most that they add to the memory of the worker's process as the
// system counts it, after a collection of its garbage. That a key stays though nobody uses it, or
// that keys leave behind what they took, is an error. Then the worker is killed with its keys open:
// keyed_takeover_s is the time from there until a call with each of them has ended on another
// worker.
func measureKeyed(ctx context.Context, l *lab) (map[string]float64, error) {
	ctx, y, err := newYard(ctx, l, fmt.Sprintf(keyRules, longIdle), "devices")
	if err != nil {
		return nil, err
	}
	defer y.close()
	holder, err := y.startHolder(ctx, l)
	if err != nil {
		return nil, err
	}
	added, err := y.openTwice(ctx, l, holder)
	if err != nil {
		return nil, err
	}
	took, err := y.takeOver(ctx, l, holder)
	return map[string]float64{"keyed_lanes_mb": added / 1e6, "keyed_takeover_s": took.Seconds()},
		err
}

// openTwice opens keys and closes them, and once more with others, and returns the most that they
// added to the worker.
func (y *yard) openTwice(ctx context.Context, l *lab, holder *process) (added float64, err error) {
	before, err := holder.footprint()
	if err != nil {
		return 0, err
	}
	fmt.Fprintln(os.Stderr, "  at rest:", before)
	var took [2]float64
	for i := range took {
		open, rest, err := y.openAndClose(ctx, l, holder, fmt.Sprint("round", i))
		if err != nil {
			return 0, err
		}
		took[i] = float64(open.Live) - float64(before.Live)
		if left := float64(rest.Live) - float64(before.Live); left > keyRest*took[i]+keySlack {
			return 0, fmt.Errorf("%d keys took %.1f MB, of which %.1f are left when they are "+
				"closed", l.keys, took[i]/1e6, left/1e6)
		}
		added = max(added, float64(open.Resident)-float64(before.Resident))
	}
	if took[1]-took[0] > keyRest*took[0]+keySlack {
		return 0, fmt.Errorf("%d keys took %.1f MB, and as many others after them %.1f", l.keys,
			took[0]/1e6, took[1]/1e6)
	}
	return added, nil
}

// startHolder starts a worker of the workflows and one of the lane with keys, which has made calls:
// what the first call of a process takes does not count as the keys'.
func (y *yard) startHolder(ctx context.Context, l *lab) (*process, error) {
	if _, err := y.start(api.LaneGeneral); err != nil {
		return nil, err
	}
	holder, err := y.start("devices")
	if err != nil {
		return nil, err
	}
	if err := y.awaitServed(ctx); err != nil {
		return nil, err
	}
	if err := y.useKeys(ctx, l, "first", plansOfKeys); err != nil {
		return nil, err
	}
	return holder, errors.Join(y.awaitKeys(ctx, plansOfKeys), y.closeKeys(ctx))
}

// openAndClose opens keys and closes them, and returns what the worker takes in between and then.
func (y *yard) openAndClose(ctx context.Context, l *lab, holder *process, name string) (open,
	rest footprint, err error) {
	began := time.Now()
	if err := y.useKeys(ctx, l, name, l.keys); err != nil {
		return open, rest, err
	}
	used := time.Since(began)
	if err := y.awaitKeys(ctx, l.keys); err != nil {
		return open, rest, err
	}
	if open, err = holder.footprint(); err != nil {
		return open, rest, err
	}
	began = time.Now()
	if err := y.closeKeys(ctx); err != nil {
		return open, rest, err
	}
	closed := time.Since(began)
	rest, err = holder.footprint()
	fmt.Fprintf(os.Stderr, "  %d keys: %s, used within %.1f s\n  without them: %s, after %.1f s\n",
		l.keys, open, used.Seconds(), rest, closed.Seconds())
	return open, rest, err
}

// takeOver opens keys, kills the worker that has them, and returns how long it takes until a call
// with each of them has ended on another.
func (y *yard) takeOver(ctx context.Context, l *lab, holder *process) (time.Duration, error) {
	if err := y.useKeys(ctx, l, "last", l.keys); err != nil {
		return 0, err
	}
	if err := y.awaitKeys(ctx, l.keys); err != nil {
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
	return each(ctx, plansOfKeys, plansOfKeys, func(ctx context.Context, part int) error {
		plan := api.Plan{Name: "keys"}
		for i := range n / plansOfKeys {
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

// closeKeys has the keys close that nobody uses, and returns when none is open.
func (y *yard) closeKeys(ctx context.Context) error {
	if err := y.configure(fmt.Sprintf(keyRules, shortIdle)); err != nil {
		return err
	}
	if err := y.awaitKeys(ctx, 0); err != nil {
		return err
	}
	return y.configure(fmt.Sprintf(keyRules, longIdle))
}

// awaitKeys returns when n keys are open, and their holders say so.
func (y *yard) awaitKeys(ctx context.Context, n int) error {
	return y.await(ctx, fmt.Sprint(n, " open keys"), func(states []lanestate.State) bool {
		return slices.ContainsFunc(states, func(s lanestate.State) bool {
			return s.Lane.Name == "devices" && s.Keys == n && s.Counts.Keys == n &&
				s.ServedGroups() == s.Lane.Holders
		})
	})
}
