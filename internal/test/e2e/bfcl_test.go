package e2e

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/test/bfcl"
	"github.com/switchyard/switchyard/internal/test/cases"
	"github.com/switchyard/switchyard/internal/test/testserver"
)

// bfclLab has two workers with the tools of a stateful MCP server, as they are imported.
type bfclLab struct {
	*lab
	replay  *bfcl.Replay
	tools   string
	workers []*testserver.Process
}

const (
	// bfclAtOnce is the number of runs at the same time.
	bfclAtOnce = 4
	// bfclPatience bounds a replay. The loss of a worker is detected after its tools' heartbeat
	// timeout of a minute.
	bfclPatience = 14 * time.Minute
)

var bfclSeed = flag.Uint64("bfcl-seed", 1, "seed of the kills during the replay of BFCL's cases")

// newBFCLLab imports the server's tools. callTime is how long the server takes for a call.
func newBFCLLab(t *testing.T, callTime time.Duration) *bfclLab {
	t.Helper()
	corpus := cases.Path(t, bfcl.File)
	l := &bfclLab{lab: newLab(t), tools: filepath.Join(t.TempDir(), "tools")}
	ctx, cancel := context.WithTimeout(context.Background(), bfclPatience)
	t.Cleanup(cancel)
	l.ctx = ctx
	all, err := bfcl.Load(corpus)
	if err != nil {
		t.Fatal(err)
	}
	l.replay = &bfcl.Replay{Client: l.Client, TaskQueue: api.DefaultTaskQueue,
		Ledger: filepath.Join(t.TempDir(), "ledger"), Cases: all, AtOnce: bfclAtOnce}
	if testing.Short() {
		l.replay.Cases = nil
		for i := range 12 {
			l.replay.Cases = append(l.replay.Cases, all[i*len(all)/12])
		}
	}
	l.importTools(bfcl.Argv(corpus, l.replay.Ledger, callTime))
	return l
}

func (l *bfclLab) importTools(server []string) {
	l.t.Helper()
	out, err := exec.CommandContext(l.ctx, testserver.Bin(l.t, "starter"), append([]string{"tools",
		"import", "--out", l.tools, "--prefix", bfcl.Prefix, "--"}, server...)...).CombinedOutput()
	if err != nil {
		l.t.Fatalf("import: %v\n%s", err, out)
	}
}

// shareSessions lets all runs use one session of the server.
func (l *bfclLab) shareSessions() {
	files, err := filepath.Glob(filepath.Join(l.tools, "*.yaml"))
	if err != nil || len(files) == 0 {
		l.t.Fatalf("no tools: %v", err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			l.t.Fatal(err)
		}
		text = bytes.Replace(text, []byte("\nentry:\n"), []byte("\nentry:\n  session: shared\n"), 1)
		if err := os.WriteFile(file, text, 0o600); err != nil {
			l.t.Fatal(err)
		}
	}
}

func (l *bfclLab) startWorker() *testserver.Process {
	l.t.Helper()
	return l.program(testserver.Bin(l.t, "worker"), nil, "--tools", l.tools)
}

// run replays the cases while meanwhile runs, and returns the number of cases by outcome. It logs
// those that are not right.
func (l *bfclLab) run(meanwhile func(ended <-chan struct{})) map[bfcl.Outcome]int {
	l.t.Helper()
	for len(l.workers) < 2 {
		l.workers = append(l.workers, l.startWorker())
	}
	ended := make(chan struct{})
	var evaluations []bfcl.Evaluation
	var err error
	go func() {
		defer close(ended)
		evaluations, err = l.replay.Run(l.ctx)
	}()
	meanwhile(ended)
	<-ended
	if err != nil {
		l.t.Fatal(err)
	}
	counts := map[bfcl.Outcome]int{}
	for _, v := range evaluations {
		counts[v.Outcome]++
		if v.Outcome != bfcl.Right {
			l.t.Logf("%s is %s: %s", v.Case, v.Outcome, v.Why)
		}
		l.lab.replay(v.Case, v.RunID)
	}
	l.t.Logf("%d cases: %v", len(evaluations), counts)
	return counts
}

func undisturbed(ended <-chan struct{}) { <-ended }

// TestBFCL_IsRightAsImported replays recorded conversations with a stateful MCP server, whose tools
// are imported and not edited, with four runs at once on two workers.
func TestBFCL_IsRightAsImported(t *testing.T) {
	l := newBFCLLab(t, 2*time.Millisecond)
	if counts := l.run(undisturbed); counts[bfcl.Right] != len(l.replay.Cases) {
		t.Errorf("%v of %d cases", counts, len(l.replay.Cases))
	}
}

// TestBFCL_SharedSessionsMixTheirStates shows that the replay notices when runs share a backend
// that keeps state.
func TestBFCL_SharedSessionsMixTheirStates(t *testing.T) {
	l := newBFCLLab(t, 2*time.Millisecond)
	l.shareSessions()
	l.replay.Cases = l.replay.Cases[:8]
	if counts := l.run(undisturbed); counts[bfcl.Wrong] == 0 {
		t.Errorf("%v: sessions are shared and no case is wrong", counts)
	}
}

// TestBFCL_ReportsWhatKillsLose kills servers and workers during the replay. Each run is right, or
// the records of its calls say what was lost.
func TestBFCL_ReportsWhatKillsLose(t *testing.T) {
	kills := bfclKills{servers: 3, workers: 1, every: 6}
	if !testing.Short() {
		kills = bfclKills{servers: 20, workers: 2, every: 20}
	}
	l := newBFCLLab(t, 20*time.Millisecond)
	kills.random = rand.New(rand.NewPCG(*bfclSeed, 1))
	counts := l.run(func(ended <-chan struct{}) { kills.cause(l, ended) })
	if kills.servers > 0 || kills.workers > 0 {
		t.Errorf("the replay ended before %d servers and %d workers were killed", kills.servers,
			kills.workers)
	}
	if counts[bfcl.Wrong] > 0 || counts[bfcl.Reported] == 0 || counts[bfcl.Right] == 0 {
		t.Errorf("got %v, want some right and some reported", counts)
	}
}

// bfclKills are the kills that are left. Between two of them are up to twice every executions.
type bfclKills struct {
	servers, workers, every int
	random                  *rand.Rand
}

// cause kills servers and workers by the ledger until none is left or the replay has ended. A
// killed worker is replaced.
func (k *bfclKills) cause(l *bfclLab, ended <-chan struct{}) {
	for next := 0; k.servers+k.workers > 0; {
		entries, err := bfcl.Entries(l.replay.Ledger)
		if err != nil {
			l.t.Fatal(err)
		}
		select {
		case <-ended:
			return
		case <-time.After(10 * time.Millisecond):
		}
		if len(entries) < next {
			continue
		}
		if next > 0 {
			k.one(l, entries)
		}
		next = len(entries) + 1 + k.random.IntN(2*k.every)
	}
}

func (k *bfclKills) one(l *bfclLab, entries []bfcl.Entry) {
	l.t.Helper()
	if k.random.IntN(k.servers+k.workers) < k.workers {
		k.workers--
		i := k.random.IntN(len(l.workers))
		l.workers[i].Kill()
		l.workers[i] = l.startWorker()
		return
	}
	if pid := entries[len(entries)-1].PID; isServer(pid, l.replay.Ledger) {
		k.servers--
		_ = syscall.Kill(pid, syscall.SIGKILL) // it may have ended
	}
}

// isServer reports whether a process is a server with the ledger. Ids of ended processes are used
// again.
func isServer(pid int, ledger string) bool {
	line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	return err == nil && strings.Contains(string(bytes.ReplaceAll(line, []byte{0}, []byte(" "))),
		" "+ledger+" ")
}
