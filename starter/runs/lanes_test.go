package runs

import (
	"errors"
	"testing"
	"time"

	"github.com/switchyard/switchyard/audit"
	"github.com/switchyard/switchyard/starter/cli"
)

func TestLaneWatch_GivesUpOnRunsWithoutWorkers(t *testing.T) {
	now := time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)
	run := audit.Running{Kind: audit.KindRun, State: audit.StateWaiting, Queue: "q",
		Since: now.Add(-time.Minute)}
	call := audit.Running{Kind: audit.KindCall, ID: "1.1", State: audit.StateWaiting, Lane: "gpu",
		Queue: "q/gpu", Since: now.Add(-time.Minute)}
	late := run
	late.Since = now.Add(-time.Minute + 1)
	busy := audit.Running{Kind: audit.KindCall, ID: "1.2", State: audit.StateRunning, Queue: "q"}
	const atQueue = `no worker has served task queue "q" for 1m0s; the run demo stays open and goes on when a worker starts
  start one: worker --task-queue q
  follow the run: starter watch demo
  cancel it: starter cancel demo`
	const atLane = `no worker has served the lane "gpu", task queue "q/gpu" for 1m0s; the run demo stays open and goes on when a worker starts
  start one: worker --lanes gpu --task-queue q
  follow the run: starter watch demo
  cancel it: starter cancel demo`
	for _, c := range []struct {
		name    string
		givesUp bool
		running []audit.Running
		served  bool
		want    string
	}{
		{name: "the run", givesUp: true, running: []audit.Running{run}, want: atQueue},
		{name: "a call", givesUp: true, running: []audit.Running{call}, want: atLane},
		{name: "not yet", givesUp: true, running: []audit.Running{late}},
		{name: "never", running: []audit.Running{run}},
		{name: "served", givesUp: true, running: []audit.Running{run}, served: true},
		{name: "something runs", givesUp: true, running: []audit.Running{call, busy}},
		{name: "nothing waits", givesUp: true},
	} {
		l := newLaneWatch(nil, "default", "q", cli.Invocation{})
		l.givesUp = c.givesUp
		l.reported["q"], l.reported["q/gpu"] = !c.served, !c.served
		got := ""
		if err := l.checkTimeout("demo", "r1", c.running, now); err != nil {
			got = err.Error()
			if e, ok := errors.AsType[*cli.ExitError](err); !ok || e.Code != cli.ExitUnserved {
				t.Errorf("%s: the error is %#v, not one with code %d", c.name, err, cli.ExitUnserved)
			}
		}
		if got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.name, got, c.want)
		}
	}
}
