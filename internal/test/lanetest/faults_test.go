package lanetest

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/test/testserver"
	"github.com/switchyard/switchyard/internal/test/witness"
	"github.com/switchyard/switchyard/payloads"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"
)

// Flags of TestFaults. The same seed gives the same calls and the same faults; when they meet
// depends on the machine.
var (
	faultCount = flag.Int("faults", 100, "number of faults that TestFaults_BreakNoPromise causes")
	faultSeed  = flag.Uint64("seed", 1, "seed of TestFaults")
)

const (
	// faultWorkers serve the runs; each reaches the server through a wire of its own.
	faultWorkers = 3
	// openRuns are in progress at a time.
	openRuns = 6
	// talks is the number of conversations that runs continue.
	talks = 3
	// calmAfter is how long runs have after the last fault, and after their cancellation.
	calmAfter = 60 * time.Second
	// faultPatience bounds the test. It only ends a test that hangs.
	faultPatience = 100 * time.Minute
)

// faultLanes have a limit, except for the predefined lane general.
const faultLanes = `lanes:
  one: {limit: 1}
  two: {limit: 2}
  phone: {limit: 1, key: "{{args.key}}"}
`

var faultLimits = map[string]int{"one": 1, "two": 2, "phone": 1}

// faultLab is a lab whose parts fail: workers, their connections, the server, disks, and the
// services, programs and MCP servers that tools use.
type faultLab struct {
	*lab
	random  *rand.Rand
	ledger  *ledger
	workers []*faultyWorker
	// mcp is the MCP server that listens, at mcpAddress.
	mcp        *testserver.Process
	mcpAddress string
	// disk is a folder whose disk is full at times if it is mounted. notes are the effects of
	// programs, on that disk.
	disk, notes string
	mounted     bool
	// counts are the faults so far, by name.
	counts map[string]int
	// resumed are the times at which MCP servers were resumed.
	resumed []time.Time
	runs    []*faultRun
	ended   chan *faultRun
	open    int
	calls   int
	// hundreds is the number of hundreds of faults that progress has printed.
	hundreds int
}

// faultRun is a run of TestFaults.
type faultRun struct {
	id, runID string
	// prompt is that of a run that continues a conversation; empty for others.
	prompt string
	// calls is the number of calls that the run makes if nothing stops it.
	calls int
	agent bool
	over  bool
}

type faultyWorker struct {
	*testserver.Process
	wire *wire
}

func newFaultLab(t *testing.T) *faultLab {
	t.Helper()
	testserver.Bin(t, "devserver") // skips the test where there are no programs
	dir := t.TempDir()
	disk := filepath.Join(dir, "disk")
	f := &faultLab{lab: &lab{t: t, Witness: witness.Start(t), dir: dir, quiet: true},
		random: rand.New(rand.NewPCG(*faultSeed, 0)), ledger: newLedger(t, *faultSeed),
		disk: disk, notes: filepath.Join(disk, "notes"), counts: map[string]int{},
		ended: make(chan *faultRun, 1)}
	ctx, cancel := context.WithTimeout(context.Background(), faultPatience)
	t.Cleanup(cancel)
	f.ctx = ctx
	f.mountDisk()
	f.env = []string{noteFolder + "=" + f.notes, ledgerAddress + "=" + f.ledger.server.URL,
		"TMPDIR=" + f.temporary()}
	f.mcpAddress = f.freeAddress()
	f.startMCP()
	f.configure(faultLanes)
	f.write("tools/tools.yaml", f.tools())
	f.Server = testserver.NewServer(t, "--db-filename",
		filepath.Join(dir, "temporal.db"))
	f.Client = f.dial()
	for range faultWorkers {
		w := &faultyWorker{wire: newWire(f.lab)}
		w.Process = f.startWorker(w)
		f.workers = append(f.workers, w)
	}
	return f
}

// dial returns a client that reads what the workers store.
func (f *faultLab) dial() client.Client {
	f.t.Helper()
	storage, err := payloads.Open(payloads.Config{Store: f.store()})
	if err != nil {
		f.t.Fatal(err)
	}
	options := client.Options{HostPort: f.Server.Address, Logger: testserver.Quiet}
	if err := storage.Apply(&options); err != nil {
		f.t.Fatal(err)
	}
	c, err := client.Dial(options)
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(c.Close)
	return c
}

func (f *faultLab) store() string { return "file://" + f.payloads() }

func (f *faultLab) startWorker(w *faultyWorker) *testserver.Process {
	f.t.Helper()
	return f.workerAt(w.wire.Address, "--stop-timeout", "2s", "--payload-store", f.store())
}

// TestFaults_BreakNoPromise causes random faults while agents, plans, direct calls and
// conversations make calls of every kind on lanes of every kind, and compares their records with
// ledgers outside the system.
func TestFaults_BreakNoPromise(t *testing.T) {
	f := newFaultLab(t)
	for f.total() < *faultCount {
		for f.open < openRuns {
			f.startRun()
		}
		f.cause(f.next())
		f.collect()
		f.progress()
	}
	f.awaitCalm()
	f.print()
	f.verify()
}

// total returns how many faults were caused.
func (f *faultLab) total() (n int) {
	for _, count := range f.allCounts() {
		n += count
	}
	return n
}

// progress prints a line after every hundred faults.
func (f *faultLab) progress() {
	if n := f.total() / 100; n > f.hundreds {
		f.hundreds = n
		fmt.Printf("%d of %d faults, %d runs, %d open\n", f.total(), *faultCount, len(f.runs),
			f.open)
	}
}

// allCounts returns the faults so far, with those of the ledger, by name.
func (f *faultLab) allCounts() map[string]int {
	all := f.ledger.faults()
	for name, n := range f.counts {
		all[name] += n
	}
	return all
}

// startRun starts the next run. The kinds take turns. The last run of a conversation has to end
// before the next one starts; a plan takes its place until then.
func (f *faultLab) startRun() {
	f.t.Helper()
	n := len(f.runs)
	run, before := &faultRun{id: fmt.Sprint("run-", n)}, f.calls
	kind, in := api.AgentWorkflow, api.RunInput{Prompt: "Go."}
	talk := fmt.Sprint("talk-", n/4%talks)
	switch {
	case n%4 == 0:
		in.Agent = f.agent(3, 4)
	case n%4 == 2:
		name, arguments := f.nextCall()
		kind, in = api.CallWorkflow, api.RunInput{Call: &api.Call{ID: "1.1", Tool: name,
			Arguments: string(arguments)}}
	case n%4 == 3 && !f.busy(talk):
		run.id, run.prompt = talk, fmt.Sprint("Prompt ", n)
		in = api.RunInput{Agent: f.agent(2, 2), Prompt: run.prompt, Conversation: talk,
			Continue: true}
	default:
		kind, in = api.PlanWorkflow, planOf(f.planCalls(10)...)
	}
	policy := enumspb.WORKFLOW_ID_REUSE_POLICY_REJECT_DUPLICATE
	if run.prompt != "" {
		policy = enumspb.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE
	}
	started, err := f.Client.ExecuteWorkflow(f.ctx, client.StartWorkflowOptions{ID: run.id,
		TaskQueue: base, WorkflowIDReusePolicy: policy}, kind, in)
	if err != nil {
		f.t.Fatalf("start %s: %v", run.id, err)
	}
	run.runID, run.calls, run.agent = started.GetRunID(), f.calls-before, in.Agent != nil
	f.runs = append(f.runs, run)
	f.open++
	go func() {
		f.end(run)
		f.ended <- run
	}()
}

// busy reports whether a run of a conversation has not ended.
func (f *faultLab) busy(talk string) bool {
	return slices.ContainsFunc(f.runs, func(r *faultRun) bool { return r.id == talk && !r.over })
}

// end waits until a run has ended, however it ended, and through outages of the server.
func (f *faultLab) end(run *faultRun) {
	for f.ctx.Err() == nil && f.status(run) == enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING {
		select {
		case <-time.After(200 * time.Millisecond):
		case <-f.ctx.Done():
		}
	}
}

// status returns how a run ended. A run of which the server says nothing is running.
func (f *faultLab) status(run *faultRun) enumspb.WorkflowExecutionStatus {
	ctx, cancel := context.WithTimeout(f.ctx, 5*time.Second)
	defer cancel()
	d, err := f.Client.DescribeWorkflowExecution(ctx, run.id, run.runID)
	if err != nil {
		return enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING
	}
	return d.GetWorkflowExecutionInfo().GetStatus()
}

// collect counts the runs that have ended.
func (f *faultLab) collect() {
	for {
		select {
		case run := <-f.ended:
			f.noteEnd(run)
		default:
			return
		}
	}
}

func (f *faultLab) noteEnd(run *faultRun) {
	run.over = true
	f.open--
}

// awaitCalm waits for the open runs without further faults. A run that does not end within a minute
// is cancelled, and has to end then.
func (f *faultLab) awaitCalm() {
	f.t.Helper()
	f.ledger.calm()
	for cancelled, late := false, time.After(calmAfter); f.open > 0; {
		select {
		case run := <-f.ended:
			f.noteEnd(run)
		case <-late:
			if cancelled {
				f.t.Fatalf("%d runs do not end after their cancellation: %v", f.open, f.stuck())
			}
			cancelled, late = true, time.After(calmAfter)
			for _, run := range f.stuck() {
				f.t.Errorf("%s does not end without faults; it is cancelled. It waits for:\n%s",
					run.id, f.waitsFor(run))
				if err := f.Client.CancelWorkflow(f.ctx, run.id, run.runID); err != nil {
					f.t.Error(err)
				}
			}
		}
	}
}

// waitsFor describes what an open run waits for: its activities, or else its last events.
func (f *faultLab) waitsFor(run *faultRun) string {
	var b strings.Builder
	d, err := f.Client.DescribeWorkflowExecution(f.ctx, run.id, run.runID)
	if err != nil {
		return err.Error()
	}
	for _, a := range d.GetPendingActivities() {
		fmt.Fprintf(&b, "    %s of %s, %s, attempt %d, started %s, last heartbeat %s\n",
			a.GetActivityId(), a.GetActivityType().GetName(), a.GetState(), a.GetAttempt(),
			a.GetLastStartedTime().AsTime(), a.GetLastHeartbeatTime().AsTime())
	}
	fmt.Fprintf(&b, "    workflow task: %v\n", d.GetPendingWorkflowTask())
	for _, c := range d.GetPendingChildren() {
		child := &faultRun{id: c.GetWorkflowId(), runID: c.GetRunId()}
		fmt.Fprintf(&b, "    %s waits for:\n%s", child.id, f.waitsFor(child))
	}
	return b.String()
}

// stuck returns the runs that have not ended.
func (f *faultLab) stuck() []*faultRun {
	return slices.DeleteFunc(slices.Clone(f.runs), func(r *faultRun) bool { return r.over })
}

// print prints how often each fault occurred.
func (f *faultLab) print() {
	counts := f.allCounts()
	var b strings.Builder
	fmt.Fprintf(&b, "\n%d faults, seed %d, %d runs with %d calls\n\n| fault | number |\n| --- | --- |\n",
		f.total(), *faultSeed, len(f.runs), f.calls)
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		fmt.Fprintf(&b, "| %s | %d |\n", name, counts[name])
	}
	fmt.Println(b.String())
}
