package versioning

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/test/histories"
	"github.com/switchyard/switchyard/internal/test/testserver"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"
)

const (
	// patience bounds a whole test. It only ends tests that hang.
	patience = 10 * time.Minute
	// pace is the interval at which the tests look at the server and the ledger.
	pace = 50 * time.Millisecond
	// deployment is the name of the Worker Deployment, queue the task queue of workflows.
	deployment = "shop"
	queue      = "yard"
	ledgerFile = "ledger"
)

// toolsFile declares a tool on the lane general, whose queue is versioned, one on a lane without a
// limit, and one on the lane serial. None may run twice. The last ones are stateful and an agent.
const toolsFile = `name: own
version: 1.0.0
description: Writes to the ledger.
parameters: [{name: gate, type: string, default: "", description: What the call waits for.}]
entry: {type: function, handler: note}
execution: {lane: general, effect: once, timeout: 2m}
---
name: wide
version: 1.0.0
description: Writes to the ledger.
parameters: [{name: gate, type: string, default: "", description: What the call waits for.}]
entry: {type: function, handler: note}
execution: {lane: wide, effect: once, timeout: 2m}
---
name: single
version: 1.0.0
description: Writes to the ledger.
parameters: [{name: gate, type: string, default: "", description: What the call waits for.}]
entry: {type: function, handler: note}
execution: {lane: serial, effect: once, timeout: 2m}
---
name: counter
version: 1.0.0
description: Counts the calls of its run.
parameters: [{name: gate, type: string, default: "", description: What the call waits for.}]
entry: {type: stateful, on_loss: fail}
execution: {effect: once, heartbeat: 10s}
---
name: helper
version: 1.0.0
description: Asks another agent.
parameters: []
entry: {type: agent, agent: ../agents/helper.yaml, prompt: Go.}
`

// helperFile is the agent of the tool helper, helperScript what its model says.
const (
	helperFile = `name: helper
tools: [own]
model: {provider: scripted, script: helper.script.yaml}
`
	helperScript = `steps:
  - calls: [{tool: own}]
  - answer: done
`
)

// lab is a real server with a ledger, and workers of several builds.
type lab struct {
	*testserver.Server
	t   *testing.T
	ctx context.Context
	dir string
	// first has the id of each run's first execution.
	first map[string]string
}

// newLab starts a server that notices soon that no run needs a version any more.
func newLab(t *testing.T) *lab {
	t.Helper()
	testserver.Bin(t, "devserver") // skips the test where there are no programs
	t.Parallel()
	l := &lab{t: t, dir: t.TempDir(), first: map[string]string{}}
	l.write("tools/tools.yaml", toolsFile)
	l.write("agents/helper.yaml", helperFile)
	l.write("agents/helper.script.yaml", helperScript)
	l.write("lanes.yaml", "lanes:\n  wide: {}\n")
	l.Server = testserver.NewServer(t,
		"--dynamic-config-value", `matching.wv.VersionDrainageStatusVisibilityGracePeriod="1s"`,
		"--dynamic-config-value", `matching.wv.VersionDrainageStatusRefreshInterval="1s"`)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	l.ctx = ctx
	return l
}

func (l *lab) write(name, text string) {
	l.t.Helper()
	path := filepath.Join(l.dir, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text),
		0o600)); err != nil {
		l.t.Fatal(err)
	}
}

// open opens a gate.
func (l *lab) open(gate string) { l.write(gate, "") }

// worker starts a worker of a build; empty for one without versioning.
func (l *lab) worker(build string, env ...string) *testserver.Process {
	l.t.Helper()
	program, err := os.Executable()
	if err != nil {
		l.t.Fatal(err)
	}
	var ready struct {
		DeploymentName string `json:"deployment_name"`
		BuildID        string `json:"build_id"`
	}
	name := deployment
	if build == "" {
		name = ""
	}
	env = append([]string{asWorker + "=1", folder + "=" + l.dir,
		"TEMPORAL_WORKER_BUILD_ID=" + build}, env...)
	// Two calls of a lane fit into one worker, so that more of them need both.
	p := testserver.Start(l.t, &ready, env, program, "--address", l.Address, "--task-queue", queue,
		"--tools", filepath.Join(l.dir, "tools"), "--lanes-file", filepath.Join(l.dir, "lanes.yaml"),
		"--stop-timeout", "5s", "--concurrency", "2", "--deployment-name", name)
	l.t.Cleanup(func() {
		if text, err := os.ReadFile(p.Log); l.t.Failed() && err == nil {
			l.t.Logf("the worker of build %q logged:\n%s", build, text[max(0, len(text)-3000):])
		}
	})
	if ready.DeploymentName != name || ready.BuildID != build {
		l.t.Errorf("the worker is ready as %+v", ready)
	}
	return p
}

// until calls done until it reports true.
func (l *lab) until(what string, done func() bool) {
	l.t.Helper()
	tick := time.NewTicker(pace)
	defer tick.Stop()
	for !done() {
		select {
		case <-tick.C:
		case <-l.ctx.Done():
			l.t.Fatalf("waited in vain for %s; the ledger has\n%s", what,
				strings.Join(l.ledger(), "\n"))
		}
	}
}

func (l *lab) versions() client.WorkerDeploymentHandle {
	return l.Client.WorkerDeploymentClient().GetHandle(deployment)
}

// current makes a build the one of new runs. The server refuses that until it has seen its worker.
func (l *lab) current(build string) {
	l.t.Helper()
	l.until("build "+build+" to become current", func() bool {
		_, err := l.versions().SetCurrentVersion(l.ctx,
			client.WorkerDeploymentSetCurrentVersionOptions{BuildID: build})
		return err == nil
	})
	l.until("new runs on "+build, func() bool { return l.buildOfNewRun() == build })
}

// ramp gives a build its share of the new runs.
func (l *lab) ramp(build string, percent float32) {
	l.t.Helper()
	l.until("build "+build+" to ramp", func() bool {
		_, err := l.versions().SetRampingVersion(l.ctx,
			client.WorkerDeploymentSetRampingVersionOptions{BuildID: build, Percentage: percent})
		return err == nil
	})
}

// buildOfNewRun returns on which build a new run is executed. Task queues learn of a change with a
// delay.
func (l *lab) buildOfNewRun() string {
	l.t.Helper()
	probe := l.plan(fmt.Sprint("probe-", time.Now().UnixNano()), call("c", "own", ""))
	l.result(probe)
	return l.onlyBuild(probe)
}

// drained waits until the server reports that no open run is pinned to a build.
func (l *lab) drained(build string) {
	l.t.Helper()
	l.until("build "+build+" to be drained", func() bool {
		d, err := l.versions().DescribeVersion(l.ctx,
			client.WorkerDeploymentDescribeVersionOptions{BuildID: build})
		return err == nil && d.Info.DrainageInfo != nil && d.Info.DrainageInfo.DrainageStatus ==
			client.WorkerDeploymentVersionDrainageStatusDrained
	})
}

// call returns a call of a plan that waits for the gate and for earlier calls.
func call(id, tool, gate string, after ...string) api.PlanCall {
	arguments, err := json.Marshal(order{Gate: gate})
	if err != nil {
		panic(err) // an order is always JSON
	}
	return api.PlanCall{ID: id, Tool: tool, Arguments: arguments, DependsOn: after}
}

func (l *lab) plan(id string, calls ...api.PlanCall) client.WorkflowRun {
	l.t.Helper()
	plan := api.Pack(api.Plan{Calls: calls})
	return l.start(id, api.PlanWorkflow, api.RunInput{Plan: &plan})
}

// agent starts an agent that makes one call per turn, each with its gate.
func (l *lab) agent(id, tool string, gates ...string) client.WorkflowRun {
	l.t.Helper()
	var steps []api.ScriptStep
	for _, gate := range gates {
		steps = append(steps, api.ScriptStep{Calls: []api.ScriptCall{
			{Tool: tool, Arguments: call("", tool, gate).Arguments}}})
	}
	script := api.Pack(api.Script{Steps: append(steps, api.ScriptStep{Answer: "done"})})
	return l.start(id, api.AgentWorkflow, api.RunInput{Prompt: "Go.", Agent: &api.Agent{
		Name: "tester", Tools: []string{tool},
		Model: api.Model{Provider: api.ProviderScripted, Script: &script}}})
}

func (l *lab) start(id, kind string, in api.RunInput) client.WorkflowRun {
	l.t.Helper()
	run, err := l.Client.ExecuteWorkflow(l.ctx, client.StartWorkflowOptions{ID: id,
		TaskQueue: queue}, kind, in)
	if err != nil {
		l.t.Fatal(err)
	}
	l.first[id] = run.GetRunID()
	return run
}

// result waits for a run's result; a failed run or call fails the test.
func (l *lab) result(run client.WorkflowRun) api.RunResult {
	l.t.Helper()
	var r api.RunResult
	if err := run.Get(l.ctx, &r); err != nil {
		l.t.Fatalf("run %s: %v; the ledger has\n%s", run.GetID(), err,
			strings.Join(l.ledger(), "\n"))
	}
	if r.Usage.Failed > 0 {
		l.t.Errorf("run %s has failed calls: %+v", run.GetID(), r)
	}
	return r
}

// ledger returns the executions of calls, each as "run call tool build". A line that is being
// written is not among them.
func (l *lab) ledger() []string {
	data, err := os.ReadFile(filepath.Join(l.dir, ledgerFile))
	if err != nil {
		return nil
	}
	lines := strings.Split(string(data), "\n")
	return lines[:len(lines)-1]
}

// started waits until a call has started and returns the build that executes it.
func (l *lab) started(run, call string) (build string) {
	l.t.Helper()
	l.until("the call "+run+"/"+call, func() bool {
		for _, line := range l.ledger() {
			if words := strings.Fields(line); words[0] == run && words[1] == call {
				build = words[3]
				return true
			}
		}
		return false
	})
	return build
}

// checkLedger fails the test unless every call of the runs was executed exactly once.
func (l *lab) checkLedger(calls map[string]int) {
	l.t.Helper()
	times, got := map[string]int{}, map[string]int{}
	for _, line := range l.ledger() {
		words := strings.Fields(line)
		if strings.HasPrefix(words[0], "probe-") {
			continue
		}
		if times[words[0]+"/"+words[1]]++; times[words[0]+"/"+words[1]] > 1 {
			l.t.Errorf("the call %s/%s was executed twice", words[0], words[1])
		}
		got[words[0]]++
	}
	if !maps.Equal(got, calls) {
		l.t.Errorf("calls of runs in the ledger: %v, want %v", got, calls)
	}
}

// builds returns, for each execution of a run, the builds that completed its workflow tasks. A
// workflow task that failed is an error: no history may meet a build that cannot replay it.
func (l *lab) builds(run client.WorkflowRun) (all [][]string) {
	l.t.Helper()
	chain, err := histories.Fetch(l.ctx, l.Client, run.GetID(), l.first[run.GetID()])
	if err != nil {
		l.t.Fatal(err)
	}
	for _, h := range chain {
		var of []string
		for _, e := range h.Events {
			if e.EventType == enumspb.EVENT_TYPE_WORKFLOW_TASK_FAILED {
				l.t.Errorf("a workflow task of %s failed: %v", run.GetID(),
					e.GetWorkflowTaskFailedEventAttributes().GetFailure().GetMessage())
			}
			done := e.GetWorkflowTaskCompletedEventAttributes()
			if build := done.GetDeploymentVersion().GetBuildId(); done != nil &&
				!slices.Contains(of, build) {
				of = append(of, build)
			}
		}
		all = append(all, of)
	}
	return all
}

// onlyBuild returns the build of a run that one build executed as a whole.
func (l *lab) onlyBuild(run client.WorkflowRun) string {
	l.t.Helper()
	all := l.builds(run)
	if len(all) != 1 || len(all[0]) != 1 {
		l.t.Fatalf("the run %s was executed by the builds %q", run.GetID(), all)
	}
	return all[0][0]
}
