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

// keyRules defines a keyed serial lane; its format argument is the idle timeout of keys.
const keyRules = `
lanes:
  devices: {key: "{{args.key}}", idle_timeout: %s}
`

// The longer idle timeout keeps all keys open at once, the shorter one closes them.
const (
	longIdle  = "10m"
	shortIdle = "1s"
)

// plansOfKeys is the number of concurrent plans whose calls use the keys.
const plansOfKeys = 10

// Of what keys take, this part and as many bytes may be left when they are closed, and other keys
// may take that much more.
const (
	keyRest  = 0.1
	keySlack = 8e6
)

// measureKeyed opens keys on one worker, each by a call, and closes them again, twice with
// different keys. keyed_lanes_mb is the maximum growth of the worker process's resident memory
// after a garbage collection. An unused key that stays open, or memory that is not released, is an
// error. Then the worker is killed with its keys open: keyed_takeover_s is the time until a call
// with each key has ended on another worker.
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
	fmt.Fprintln(os.Stderr, "  idle:", before)
	var took [2]float64
	for i := range took {
		open, rest, err := y.openAndClose(ctx, l, holder, fmt.Sprint("round", i))
		if err != nil {
			return 0, err
		}
		took[i] = float64(open.Live) - float64(before.Live)
		if left := float64(rest.Live) - float64(before.Live); left > keyRest*took[i]+keySlack {
			return 0, fmt.Errorf("%d keys took %.1f MB, of which %.1f remain when they are "+
				"closed", l.keys, took[i]/1e6, left/1e6)
		}
		added = max(added, float64(open.Resident)-float64(before.Resident))
	}
	if took[1]-took[0] > keyRest*took[0]+keySlack {
		return 0, fmt.Errorf("%d keys took %.1f MB, and as many other keys %.1f more", l.keys,
			took[0]/1e6, took[1]/1e6)
	}
	return added, nil
}

// startHolder starts a worker of workflows and one of the keyed lane and makes some calls, so that
// the cost of a process's first call is not attributed to keys.
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

// openAndClose opens and closes keys, and returns the worker's memory in between and afterwards.
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

// closeKeys closes unused keys and returns when none is open.
func (y *yard) closeKeys(ctx context.Context) error {
	if err := y.configure(fmt.Sprintf(keyRules, shortIdle)); err != nil {
		return err
	}
	if err := y.awaitKeys(ctx, 0); err != nil {
		return err
	}
	return y.configure(fmt.Sprintf(keyRules, longIdle))
}

// awaitKeys returns when n keys are open according to their holders.
func (y *yard) awaitKeys(ctx context.Context, n int) error {
	return y.await(ctx, fmt.Sprint(n, " open keys"), func(states []lanestate.State) bool {
		return slices.ContainsFunc(states, func(s lanestate.State) bool {
			return s.Lane.Name == "devices" && s.Keys == n && s.Counts.Keys == n &&
				s.ServedGroups() == s.Lane.Holders
		})
	})
}
