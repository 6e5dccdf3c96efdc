// Package lanetest tests the guarantees of lanes on a real server: limits, order, bounds and
// takeover, and all guarantees under random faults.
package lanetest

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit"
	"github.com/switchyard/switchyard/internal/core/lanerules"
	"github.com/switchyard/switchyard/internal/core/queues"
	"github.com/switchyard/switchyard/internal/test/testserver"
	"github.com/switchyard/switchyard/internal/test/witness"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	taskqueuepb "go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
)

// patience bounds a whole test. It only ends tests that hang.
const patience = 10 * time.Minute

// toolSpec is a toolspec of these tests.
type toolSpec struct {
	name, lane string
	// handler is work by default, effect idempotent, access shared, and heartbeat 15s: tests
	// without a lost worker should not lose one on a busy machine.
	handler, effect, access, heartbeat string
	// more are lines of execution, such as "queue_timeout: 1s".
	more string
}

func (t toolSpec) yaml() string {
	execution := fmt.Sprintf("{lane: %s, access: %s, effect: %s, timeout: 1m", t.lane,
		cmp.Or(t.access, "shared"), cmp.Or(t.effect, "idempotent"))
	if t.heartbeat != usual {
		execution += ", heartbeat: " + cmp.Or(t.heartbeat, "15s")
	}
	if t.effect != "once" {
		execution += ", retry: {max_attempts: 10, initial_interval: 100ms, backoff: 1}"
	}
	if t.more != "" {
		execution += ", " + t.more
	}
	return fmt.Sprintf(`name: %s
version: 1.0.0
description: Reports its duration to the witness.
parameters:
  - {name: n, type: integer, default: 0, description: What comes back.}
  - {name: ms, type: integer, default: 0, description: How long the call takes.}
  - {name: gate, type: string, default: "", description: What the call waits for.}
  - {name: key, type: string, default: "", description: The key.}
entry: {type: function, handler: %s}
execution: %s}
`, t.name, cmp.Or(t.handler, "work"), execution)
}

// lab is a real server with a witness and everything to run workers against it.
type lab struct {
	*testserver.Server
	*witness.Witness
	t   *testing.T
	ctx context.Context
	// dir contains lanes.yaml and the folder of tools.
	dir string
	// quiet keeps the logs of workers out of the output of a failed test.
	quiet bool
	// env are further variables of workers.
	env []string
}

// newLab starts a server; lanes is the text of lanes.yaml.
func newLab(t *testing.T, lanes string, tools ...toolSpec) *lab {
	t.Helper()
	l := prepareLab(t, lanes, tools...)
	l.Server = testserver.NewServer(t, serverArgs...)
	return l
}

// serverArgs configure the server. By default it counts a queue's waiting calls every five seconds.
var serverArgs = []string{"--dynamic-config-value", `matching.TaskQueueInfoByBuildIdTTL="1ms"`}

// prepareLab returns a lab without a server.
func prepareLab(t *testing.T, lanes string, tools ...toolSpec) *lab {
	t.Helper()
	testserver.Bin(t, "devserver") // skips the test where there are no programs
	l := &lab{t: t, Witness: witness.Start(t), dir: t.TempDir()}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	l.ctx = ctx
	l.configure(lanes)
	var specs []string
	for _, s := range tools {
		specs = append(specs, s.yaml())
	}
	l.write("tools/tools.yaml", strings.Join(specs, "---\n"))
	return l
}

// configure writes lanes.yaml as an editor that replaces the file does.
func (l *lab) configure(lanes string) {
	l.t.Helper()
	l.write("lanes.yaml", lanes)
}

func (l *lab) write(name, text string) {
	l.t.Helper()
	path := filepath.Join(l.dir, name)
	err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path+".new",
		[]byte(text), 0o600), os.Rename(path+".new", path))
	if err != nil {
		l.t.Fatal(err)
	}
}

// base is the task queue of these tests' workflows.
const base = "yard"

// worker starts a worker process with the tools of these tests.
func (l *lab) worker(flags ...string) *testserver.Process {
	l.t.Helper()
	return l.workerAt(l.Server.Address, flags...)
}

// workerAt is worker for a server at another address.
func (l *lab) workerAt(address string, flags ...string) *testserver.Process {
	l.t.Helper()
	program, err := os.Executable()
	if err != nil {
		l.t.Fatal(err)
	}
	var ready struct{ Lanes []string }
	flags = append([]string{"--address", address, "--task-queue", base, "--tools",
		filepath.Join(l.dir, "tools"),
		"--lanes-file", filepath.Join(l.dir, "lanes.yaml"), "--stop-timeout", "10s"}, flags...)
	env := append([]string{asWorker + "=1", witnessAddress + "=" + l.Witness.Address()}, l.env...)
	p := testserver.Start(l.t, &ready, env, program, flags...)
	// It runs before the process is stopped; a suspended one would not notice.
	l.t.Cleanup(func() {
		_ = syscall.Kill(p.PID(), syscall.SIGCONT)
		if l.t.Failed() && !l.quiet {
			l.showLog(p)
		}
	})
	return p
}

// showLog prints the end of a worker's log.
func (l *lab) showLog(p *testserver.Process) {
	text, err := os.ReadFile(p.Log)
	if err != nil {
		l.t.Log(err)
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	l.t.Logf("pid %d logged in the end:\n%s", p.PID(), strings.Join(lines[max(0, len(lines)-15):],
		"\n"))
}

// planCall returns a call of a plan.
func planCall(id, tool string, o order) api.PlanCall {
	arguments, err := json.Marshal(o)
	if err != nil {
		panic(err) // an order is always JSON
	}
	return api.PlanCall{ID: id, Tool: tool, Arguments: arguments}
}

// many returns n equal calls of a plan, whose results are 0 to n-1.
func many(n int, tool string, o order) []api.PlanCall {
	var calls []api.PlanCall
	for i := range n {
		o.N = i
		calls = append(calls, planCall(fmt.Sprint("c", i), tool, o))
	}
	return calls
}

// scriptCall returns a call of a scripted agent.
func scriptCall(tool string, o order) api.ScriptCall {
	return api.ScriptCall{Tool: tool, Arguments: planCall("", "", o).Arguments}
}

// agent returns an agent with the tools that its script calls.
func agent(steps ...api.ScriptStep) *api.Agent {
	var names []string
	for _, s := range steps {
		for _, c := range s.Calls {
			names = append(names, c.Tool)
		}
	}
	slices.Sort(names)
	script := api.Pack(api.Script{Steps: append(steps, api.ScriptStep{Answer: "done"})})
	return &api.Agent{Name: "tester", Model: api.Model{Provider: api.ProviderScripted,
		Script: &script},
		Tools: slices.Compact(names), Limits: api.Limits{Turns: 1000}}
}

// start starts a run; its workflow id is its name for the witness.
func (l *lab) start(id string, in api.RunInput) client.WorkflowRun {
	l.t.Helper()
	kind := api.PlanWorkflow
	if in.Agent != nil {
		kind, in.Prompt = api.AgentWorkflow, "Go."
	}
	run, err := l.Client.ExecuteWorkflow(l.ctx, client.StartWorkflowOptions{ID: id,
		TaskQueue: base}, kind, in)
	if err != nil {
		l.t.Fatal(err)
	}
	return run
}

// plan starts a plan run of the calls.
func (l *lab) plan(id string, calls ...api.PlanCall) client.WorkflowRun {
	l.t.Helper()
	return l.start(id, planOf(calls...))
}

func planOf(calls ...api.PlanCall) api.RunInput {
	plan := api.Pack(api.Plan{Calls: calls})
	return api.RunInput{Plan: &plan}
}

// result waits for a run's result; a failed run fails the test.
func (l *lab) result(run client.WorkflowRun) api.RunResult {
	l.t.Helper()
	var r api.RunResult
	if err := run.Get(l.ctx, &r); err != nil {
		spans, _ := l.Spans()
		l.t.Fatalf("run %s: %v; the witness saw last\n%s", run.GetID(), err,
			witness.List(spans[max(0, len(spans)-20):]))
	}
	return r
}

// records returns the call records of a run, by call id.
func (l *lab) records(run client.WorkflowRun) map[string]api.Record {
	l.t.Helper()
	records := map[string]api.Record{}
	for r, err := range audit.Records(l.ctx, l.Client, run.GetID(), "") {
		if err != nil {
			l.t.Fatal(err)
		}
		if _, twice := records[r.CallID]; twice {
			l.t.Errorf("%s/%s has two records", run.GetID(), r.CallID)
		}
		records[r.CallID] = r
	}
	return records
}

// await waits until the witness's spans fulfil a condition.
func (l *lab) await(what string, condition func([]witness.Span) bool) []witness.Span {
	l.t.Helper()
	return l.Witness.Await(l.ctx, l.t, what, condition)
}

// of returns the spans of a run.
func of(spans []witness.Span, run string) []witness.Span {
	return slices.DeleteFunc(slices.Clone(spans), func(s witness.Span) bool { return s.Run != run })
}

// began waits for the first execution of a run's calls.
func (l *lab) began(run string) witness.Span {
	l.t.Helper()
	spans := l.await("for a call of "+run,
		func(spans []witness.Span) bool { return len(of(spans, run)) > 0 })
	return of(spans, run)[0]
}

// until waits for a condition on the server.
func (l *lab) until(what string, condition func() bool) {
	l.t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !condition() {
		select {
		case <-l.ctx.Done():
			l.t.Fatalf("timed out waiting %s", what)
		case <-tick.C:
		}
	}
}

// slots returns what the holders of a lane's groups report with their heartbeats; groups without a
// holder are missing.
func (l *lab) slots(lane string) []lanerules.SlotsState {
	l.t.Helper()
	described, err := l.Client.DescribeWorkflowExecution(l.ctx, api.LaneWorkflowID(base, lane), "")
	if _, missing := errors.AsType[*serviceerror.NotFound](err); missing {
		return nil // no worker has served the lane yet
	}
	if l.ctx.Err() != nil {
		return nil // the caller reports what it waits for
	}
	if err != nil {
		l.t.Fatalf("ask for the holders of %s: %v", lane, err)
	}
	var states []lanerules.SlotsState
	for _, pending := range described.GetPendingActivities() {
		var state lanerules.SlotsState
		details := pending.GetHeartbeatDetails()
		if details != nil && converter.GetDefaultDataConverter().FromPayloads(details,
			&state) == nil {
			states = append(states, state)
		}
	}
	return states
}

// total adds up the counts of a lane's holders.
func (l *lab) total(lane string) lanerules.Counts {
	var all lanerules.Counts
	for _, s := range l.slots(lane) {
		all.Add(s.Counts)
	}
	return all
}

// waiting returns how many calls of a lane without keys wait, at the server or with the holder,
// whichever is more: the holder's count is a little older, so the sum would count some twice.
func (l *lab) waiting(lane string) int {
	l.t.Helper()
	answer, err := l.Client.WorkflowService().DescribeTaskQueue(l.ctx,
		&workflowservice.DescribeTaskQueueRequest{
			Namespace: client.DefaultNamespace, ReportStats: true,
			TaskQueueType: enumspb.TASK_QUEUE_TYPE_ACTIVITY,
			TaskQueue: &taskqueuepb.TaskQueue{Name: queues.Lane(base, lane),
				Kind: enumspb.TASK_QUEUE_KIND_NORMAL}})
	if err != nil {
		l.t.Fatal(err)
	}
	return max(int(answer.GetStats().GetApproximateBacklogCount()), l.total(lane).Waiting)
}

// awaitWaiting waits until n calls of a lane wait.
func (l *lab) awaitWaiting(lane string, n int) {
	l.t.Helper()
	waits := -1
	defer func() {
		if waits < n {
			l.t.Logf("%d calls wait on %s", waits, lane)
		}
	}()
	l.until(fmt.Sprintf("for %d calls that wait on %s", n, lane), func() bool {
		waits = l.waiting(lane)
		return waits >= n
	})
}

// limits makes a limit function for Excesses.
func limits(of map[string]int) func(string) int {
	return func(lane string) int {
		if n, ok := of[lane]; ok {
			return n
		}
		return -1
	}
}

// report fails the test with every account.
func (l *lab) report(accounts []string) {
	l.t.Helper()
	for _, a := range accounts[:min(len(accounts), 5)] {
		l.t.Error(a)
	}
	if n := len(accounts); n > 5 {
		l.t.Errorf("%d more", n-5)
	}
}
