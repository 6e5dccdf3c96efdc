package lanetest

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/test/testserver"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"
)

// Flags of TestFaults. The same seed gives the same calls and the same faults; when they meet
// depends on the machine.
var (
	faultCount = flag.Int("faults", 100, "number of faults that TestFaults causes")
	faultSeed  = flag.Uint64("seed", 1, "seed of TestFaults")
)

const (
	// faultWorkers serve the runs; each reaches the server through a wire of its own.
	faultWorkers = 3
	// openRuns are in progress at a time.
	openRuns = 6
	// calmAfter is how long runs have after the last fault, and after their cancellation.
	calmAfter = 60 * time.Second
	// faultPatience bounds the test. It only ends a test that hangs.
	faultPatience = 30 * time.Minute
)

// faultLanes have a limit, except for the predefined lane general.
const faultLanes = `lanes:
  one: {limit: 1}
  two: {limit: 2}
  phone: {limit: 1, key: "{{args.key}}"}
`

var faultLimits = map[string]int{"one": 1, "two": 2, "phone": 1}

// faultLab is a lab whose parts fail: workers, their connections, the server, and the services and
// programs that tools use.
type faultLab struct {
	*lab
	random  *rand.Rand
	ledger  *ledger
	workers []*faultyWorker
	// database is the server's file, port its port.
	database, port string
	// counts are the faults so far, by name.
	counts map[string]int
	runs   []client.WorkflowRun
	ended  chan error
	open   int
	calls  int
}

type faultyWorker struct {
	*testserver.Process
	wire *wire
}

func newFaultLab(t *testing.T) *faultLab {
	t.Helper()
	dir := t.TempDir()
	l := &lab{t: t, Witness: newWitness(t), dir: dir, quiet: true}
	f := &faultLab{lab: l, random: rand.New(rand.NewPCG(*faultSeed, 0)),
		ledger: newLedger(t, filepath.Join(dir, "notes"), *faultSeed),
		counts: map[string]int{}, ended: make(chan error, 1),
		database: filepath.Join(dir, "temporal.db")}
	ctx, cancel := context.WithTimeout(context.Background(), faultPatience)
	t.Cleanup(cancel)
	l.ctx = ctx
	l.configure(faultLanes)
	l.write("tools/tools.yaml", f.ledger.tools())
	l.Server = testserver.NewServer(t, "--db-filename", f.database)
	_, f.port, _ = net.SplitHostPort(l.Server.Address)
	for range faultWorkers {
		w := &faultyWorker{wire: newWire(l)}
		w.Process = f.startWorker(w)
		f.workers = append(f.workers, w)
	}
	return f
}

func (f *faultLab) startWorker(w *faultyWorker) *testserver.Process {
	f.t.Helper()
	f.t.Setenv(noteFile, f.ledger.notes)
	return f.workerAt(w.wire.Address, "--stop-timeout", "2s")
}

// TestFaults_BreakNoPromise causes random faults while agents, plans and direct calls make calls of
// every kind on lanes of every kind, and compares their records with ledgers outside the system.
func TestFaults_BreakNoPromise(t *testing.T) {
	f := newFaultLab(t)
	for f.total() < *faultCount {
		for f.open < openRuns {
			f.startRun()
		}
		f.cause(f.next())
		f.collect()
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

// allCounts returns the faults so far, with those of the ledger, by name.
func (f *faultLab) allCounts() map[string]int {
	all := f.ledger.faults()
	for name, n := range f.counts {
		all[name] += n
	}
	return all
}

// injection is a kind of fault. cause returns when it is over and its part works again.
type injection struct {
	name  string
	cause func(f *faultLab)
}

// infrastructureFaults are chosen with equal probability.
var infrastructureFaults = []injection{
	{"worker killed", func(f *faultLab) {
		w := f.pick()
		w.Kill()
		w.Process = f.startWorker(w)
	}},
	{"worker restarted", func(f *faultLab) {
		w := f.pick()
		w.Stop()
		w.Process = f.startWorker(w)
	}},
	{"worker stopped for a while", func(f *faultLab) {
		p := f.pick().Process
		f.signal(p, syscall.SIGSTOP)
		f.pause(5 * time.Second)
		f.signal(p, syscall.SIGCONT)
	}},
	{"connection black-holed", func(f *faultLab) {
		w := f.pick().wire
		w.cut()
		f.pause(8 * time.Second)
		w.heal()
	}},
	{"connections closed", func(f *faultLab) {
		w := f.pick().wire
		w.enable(false)
		f.pause(3 * time.Second)
		w.enable(true)
	}},
	{"connection slow", func(f *faultLab) {
		w := f.pick().wire
		w.slow(300 * time.Millisecond)
		f.pause(3 * time.Second)
		w.heal()
	}},
	{"server stopped for a while", func(f *faultLab) {
		f.signal(f.Server.Process, syscall.SIGSTOP)
		f.pause(5 * time.Second)
		f.signal(f.Server.Process, syscall.SIGCONT)
	}},
	{"server killed and restarted", func(f *faultLab) {
		f.Server.Kill()
		f.pause(2 * time.Second)
		var ready struct{ Address string }
		f.Server.Process = testserver.Start(f.t, &ready, nil, testserver.Bin(f.t, "devserver"),
			"--port", f.port, "--headless", "--parent-pid", fmt.Sprint(os.Getpid()),
			"--db-filename", f.database)
	}},
}

func (f *faultLab) next() injection {
	return infrastructureFaults[f.random.IntN(len(infrastructureFaults))]
}

func (f *faultLab) pick() *faultyWorker { return f.workers[f.random.IntN(len(f.workers))] }

func (f *faultLab) cause(x injection) {
	f.t.Helper()
	f.counts[x.name]++
	x.cause(f)
	f.pause(600 * time.Millisecond)
}

// pause waits for a random time, at most most, and counts runs that end meanwhile.
func (f *faultLab) pause(most time.Duration) {
	f.t.Helper()
	over := time.After(time.Duration(f.random.Int64N(int64(most))))
	for {
		select {
		case err := <-f.ended:
			f.noteEnd(err)
		case <-over:
			return
		case <-f.ctx.Done():
			f.t.Fatal("the test took too long")
		}
	}
}

func (f *faultLab) signal(p *testserver.Process, s syscall.Signal) {
	f.t.Helper()
	if err := syscall.Kill(p.PID(), s); err != nil {
		f.t.Fatalf("signal %s to %d: %v", s, p.PID(), err)
	}
}

// startRun starts the next run. The kinds take turns.
func (f *faultLab) startRun() {
	f.t.Helper()
	n := len(f.runs)
	id, kind, in := fmt.Sprint("run-", n), api.AgentWorkflow, api.RunInput{Prompt: "Go."}
	switch n % 4 {
	case 0:
		in.Agent = f.agent(3, 4)
	case 1:
		kind, in = api.PlanWorkflow, planOf(f.planCalls(10)...)
	case 2:
		name, arguments := f.nextCall()
		kind, in = api.CallWorkflow, api.RunInput{Call: &api.Call{ID: "1.1", Tool: name,
			Arguments: string(arguments)}}
	case 3:
		in.Agent, in.Conversation = f.agent(2, 2), "talk"
	}
	run, err := f.Client.ExecuteWorkflow(f.ctx, client.StartWorkflowOptions{ID: id,
		TaskQueue: base, WorkflowIDReusePolicy: enumspb.WORKFLOW_ID_REUSE_POLICY_REJECT_DUPLICATE},
		kind, in)
	if err != nil {
		f.t.Fatalf("start %s: %v", id, err)
	}
	f.runs = append(f.runs, run)
	f.open++
	go func() { f.ended <- f.end(run) }()
}

// end waits until a run has ended, however it ended, and through outages of the server.
func (f *faultLab) end(run client.WorkflowRun) error {
	for f.ctx.Err() == nil {
		d, err := f.Client.DescribeWorkflowExecution(f.ctx, run.GetID(), "")
		if err == nil && d.GetWorkflowExecutionInfo().GetStatus() !=
			enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING {
			return nil
		}
		select {
		case <-time.After(200 * time.Millisecond):
		case <-f.ctx.Done():
		}
	}
	return fmt.Errorf("the run %s does not end", run.GetID())
}

// collect counts the runs that have ended.
func (f *faultLab) collect() {
	for {
		select {
		case err := <-f.ended:
			f.noteEnd(err)
		default:
			return
		}
	}
}

func (f *faultLab) noteEnd(err error) {
	f.t.Helper()
	if err != nil {
		f.t.Fatal(err)
	}
	f.open--
}

// awaitCalm waits for the open runs without further faults. A run that does not end within a minute
// is cancelled, and has to end then.
func (f *faultLab) awaitCalm() {
	f.t.Helper()
	f.ledger.calm()
	for cancelled := false; f.open > 0; {
		select {
		case err := <-f.ended:
			f.noteEnd(err)
		case <-time.After(calmAfter):
			if cancelled {
				f.t.Fatalf("%d runs do not end after their cancellation: %v", f.open, f.stuck())
			}
			cancelled = true
			for _, id := range f.stuck() {
				f.t.Errorf("%s does not end without faults; it is cancelled", id)
				if err := f.Client.CancelWorkflow(f.ctx, id, ""); err != nil {
					f.t.Error(err)
				}
			}
		}
	}
}

// stuck returns the ids of the runs that have not ended.
func (f *faultLab) stuck() (ids []string) {
	for _, run := range f.runs {
		d, err := f.Client.DescribeWorkflowExecution(f.ctx, run.GetID(), "")
		if err != nil || d.GetWorkflowExecutionInfo().GetStatus() ==
			enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING {
			ids = append(ids, run.GetID())
		}
	}
	return ids
}

// print prints the table of docs/guarantees.md.
func (f *faultLab) print() {
	counts := f.allCounts()
	names := make([]string, 0, len(counts))
	for name := range counts {
		names = append(names, name)
	}
	slices.Sort(names)
	var b strings.Builder
	fmt.Fprintf(&b, "\n%d faults, seed %d, %d runs with %d calls\n\n| fault | number |\n| --- | --- |\n",
		f.total(), *faultSeed, len(f.runs), f.calls)
	for _, name := range names {
		fmt.Fprintf(&b, "| %s | %d |\n", name, counts[name])
	}
	fmt.Println(b.String())
}
