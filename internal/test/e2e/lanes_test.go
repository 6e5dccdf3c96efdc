package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit/lanestate"
	"github.com/switchyard/switchyard/internal/test/testserver"
	"github.com/switchyard/switchyard/toolspecs/lanes"
	"go.temporal.io/sdk/client"
)

// lanesLab is a lab whose workers read a lanes file, and tools that the test declares.
type lanesLab struct {
	*lab
	file, tools string
}

func newLanesLab(t *testing.T, tools, lanesFile string, serverFlags ...string) *lanesLab {
	t.Helper()
	l := &lanesLab{lab: newLab(t, serverFlags...), file: filepath.Join(t.TempDir(), "lanes.yaml"),
		tools: t.TempDir()}
	if err := os.WriteFile(filepath.Join(l.tools, "tools.yaml"), []byte(tools), 0o600); err != nil {
		t.Fatal(err)
	}
	l.configure(lanesFile)
	return l
}

// configure writes the lanes file.
func (l *lanesLab) configure(text string) {
	l.t.Helper()
	next := l.file + ".next"
	if err := os.WriteFile(next, []byte(text), 0o600); err != nil {
		l.t.Fatal(err)
	}
	if err := os.Rename(next, l.file); err != nil {
		l.t.Fatal(err)
	}
}

// worker starts a worker that serves the lanes of the file.
func (l *lanesLab) worker(flags ...string) *testserver.Process {
	l.t.Helper()
	return l.workerIn(nil, append([]string{"--tools", l.tools, "--lanes-file", l.file,
		"--reload-interval", "100ms"}, flags...)...)
}

// plan runs calls of tools: "id tool arguments" each.
func (l *lanesLab) plan(id string, calls ...string) client.WorkflowRun {
	l.t.Helper()
	p := api.Plan{Name: id}
	for _, call := range calls {
		fields := strings.SplitN(call, " ", 3)
		p.Calls = append(p.Calls, api.PlanCall{ID: fields[0], Tool: fields[1],
			Arguments: []byte(fields[2])})
	}
	packed := api.Pack(p)
	return l.run(api.PlanWorkflow, id, api.RunInput{Plan: &packed})
}

// state returns the state of a lane.
func (l *lanesLab) state(name string) lanestate.State {
	l.t.Helper()
	set, err := lanes.Load(l.file)
	if err != nil {
		l.t.Fatal(err)
	}
	lane, _ := set.Lane(name)
	states, err := lanestate.NewReader(l.Client, "default", api.DefaultTaskQueue).Read(l.ctx, lane)
	if err != nil {
		l.t.Fatal(err)
	}
	return states[0]
}

// holders returns the process id of the holder of each group of a lane's slots; 0 without a holder.
func (l *lanesLab) holders(name string) []int {
	var pids []int
	for _, h := range l.state(name).Holders {
		pid := 0
		if h.Served {
			if _, err := fmt.Sscanf(h.Worker, "%d@", &pid); err != nil {
				l.t.Fatal(err)
			}
		}
		pids = append(pids, pid)
	}
	return pids
}

const laneTools = `
name: work
version: 1.0.0
description: Works on the lane pool.
parameters: [{name: ms, type: integer, required: true}]
entry: {type: function, handler: tick}
execution: {lane: pool, effect: idempotent}
---
name: touch
version: 1.0.0
description: Uses a device.
parameters: [{name: device, type: string, required: true}, {name: ms, type: integer, default: 1}]
entry: {type: command, argv: ["true"]}
execution: {lane: device, effect: idempotent}
---
name: wait
version: 1.0.0
description: Holds the lane queue until the gate opens.
entry: {type: function, handler: hold}
execution: {lane: queue}
`

// Calls with any key run, whatever characters it has. Records name the key. A key without calls
// takes nothing.
func TestLane_RunsCallsWithAnyKey(t *testing.T) {
	l := newLanesLab(t, laneTools,
		"lanes: {pool: {limit: 1}, device: {key: '{{args.device}}', limit: 1}, queue: {limit: 1}}")
	l.worker()
	for n := range 2 {
		run := l.plan(fmt.Sprint("run", n), `a touch {"device":"one"}`,
			`b touch {"device":"two/three ü"}`, `c touch {"device":"one"}`)
		if r := l.result(run); r.Usage.Failed != 0 {
			t.Errorf("result: %+v", r)
		}
		for _, r := range l.records(run) {
			if odd := r.CallID == "b"; odd != strings.HasPrefix(r.Lane, "device/~") || !odd &&
				r.Lane != "device/one" {
				t.Errorf("the call %s ran on %s", r.CallID, r.Lane)
			}
		}
		l.await("for the keys to have no calls", func() bool {
			s := l.state("device")
			// holders of idle keys report their counts with a delay
			return s.Counts.Keys == 0 && s.Counts.Acquired == int64(3*(n+1))
		})
	}
}

// A lane gets a limit, other holders, a rate and bypassing callers, and loses them again, while
// workers and runs continue. A lane that is removed from the file is still served.
func TestLane_FollowsItsFile(t *testing.T) {
	const rest = ", device: {key: '{{args.device}}'}, queue: {limit: 1}}"
	l := newLanesLab(t, laneTools, "lanes: {pool: {}"+rest)
	w := l.worker()
	n := 0
	works := func() {
		t.Helper()
		n++
		if r := l.result(l.plan(fmt.Sprint("run", n), `a work {"ms":1}`,
			`b work {"ms":1}`)); r.Usage.Failed != 0 {
			t.Errorf("result: %+v", r)
		}
	}
	works()
	for _, c := range []struct {
		pool   string
		groups int
	}{{"{limit: 2}", 2}, {"{limit: 3, holders: 1}", 1}, {"{rate: 1000}", 0},
		{"{limit: 1, bypass: [plan]}", 1}, {"{}", 0}} {
		l.configure("lanes: {pool: " + c.pool + rest)
		l.await("for the lane to be "+c.pool, func() bool {
			hosted := l.holders("pool")
			return len(hosted) == c.groups && !slices.Contains(hosted, 0)
		})
		works()
	}
	l.configure("lanes: {" + strings.TrimPrefix(rest, ", "))
	l.await("for the lanes without it", func() bool {
		log, err := os.ReadFile(w.Log)
		return err == nil && strings.Contains(string(log), "removed lanes are served until this worker stops")
	})
	works()
}

// The call completes, although it takes longer than the stop timeout of a worker.
func TestLane_LosesItsLimitWhileACallRuns(t *testing.T) {
	const rest = "lanes: {pool: {limit: 1}, device: {key: '{{args.device}}'}, queue: "
	l := newLanesLab(t, laneTools, rest+"{limit: 1}}")
	first := l.worker("--stop-timeout", "1s")
	running := l.plan("running", "one wait {}")
	l.awaitEntries(1)
	l.configure(rest + "{}}")
	l.result(l.plan("changed", `two work {"ms":6000}`))
	l.openGate()
	l.result(running)
	if got := fmt.Sprint(l.executions()); got != "map[one wait:1 two work:1]" {
		t.Errorf("executions: %s", got)
	}
	if c := first.Stop(); c != 0 {
		t.Errorf("exit code %d", c)
	}
}
