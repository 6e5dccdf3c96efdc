package interactions

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/switchyard/switchyard"
	"github.com/switchyard/switchyard/internal/test/testserver"
	"github.com/switchyard/switchyard/internal/test/witness"
	"go.temporal.io/sdk/client"
)

// workers serve all scenarios.
const workers = 2

// lab is a real server with two workers that all scenarios share, and what is outside of them: the
// ledger and the witness.
type lab struct {
	t *testing.T
	// ctx ends with the test.
	ctx     context.Context
	server  *testserver.Server
	client  client.Client
	dir     string
	ledger  *ledger
	witness *witness.Witness

	workers []*testserver.Process
	// requests are faults that scenarios cause, deaths are workers that tools have killed. Only the
	// goroutine of the test starts processes.
	requests chan request
	deaths   chan *testserver.Process

	mu     sync.Mutex
	caused []causedFault
}

type request struct {
	fault
	done chan<- struct{}
}

// causedFault is a fault that has happened, to all scenarios that ran at the time.
type causedFault struct {
	name     string
	from, to time.Time
}

// faultDeath is the fault of a tool that kills its worker.
const faultDeath faultKind = "worker killed by a tool"

func newLab(t *testing.T, poor []string) *lab {
	t.Helper()
	testserver.Bin(t, "devserver") // skips the test where there are no programs
	l := &lab{t: t, dir: t.TempDir(), ledger: newLedger(t), witness: witness.Start(t),
		requests: make(chan request), deaths: make(chan *testserver.Process, 100)}
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	l.ctx = ctx
	l.write("lanes.yaml", lanes)
	l.write("policies.yaml", policies(poor))
	l.write("tools/tools.yaml", specs())
	for _, h := range helpers {
		l.write("agents/"+h.name+".yaml", h.agentYAML())
		l.write("agents/"+h.name+".script.yaml", h.scriptYAML())
	}
	l.server = testserver.NewServer(t, "--db-filename", filepath.Join(l.dir, "temporal.db"))
	l.client = l.server.Client
	for range workers {
		l.workers = append(l.workers, l.startWorker())
	}
	return l
}

func (l *lab) write(name, text string) {
	l.t.Helper()
	path := filepath.Join(l.dir, name)
	err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text),
		0o600))
	if err != nil {
		l.t.Fatal(err)
	}
}

// startWorker starts a worker. If a tool kills it, another one takes its place.
func (l *lab) startWorker() *testserver.Process {
	l.t.Helper()
	program, err := os.Executable()
	if err != nil {
		l.t.Fatal(err)
	}
	var ready struct{ Lanes []string }
	p := testserver.Start(l.t, &ready, []string{ledgerAddress + "=" + l.ledger.server.URL,
		witnessAddress + "=" + l.witness.Address()}, program, "--address", l.server.Address,
		"--tools", filepath.Join(l.dir, "tools"), "--lanes-file", filepath.Join(l.dir, "lanes.yaml"),
		"--policies-file", filepath.Join(l.dir, "policies.yaml"), "--stop-timeout", "2s",
		"--log-level", "warn")
	go func() {
		<-p.Done()
		l.deaths <- p
	}()
	return p
}

// keep starts processes again and causes the faults that scenarios ask for, until done is closed.
func (l *lab) keep(done <-chan struct{}) {
	l.t.Helper()
	for {
		select {
		case <-done:
			return
		case r := <-l.requests:
			l.cause(r.fault)
			close(r.done)
		case p := <-l.deaths:
			if i := slices.Index(l.workers, p); i >= 0 { // else a fault has replaced it
				from := time.Now()
				l.workers[i] = l.startWorker()
				l.note(faultDeath, from)
			}
		}
	}
}

// ask has a fault caused and returns when it is over.
func (l *lab) ask(f fault) {
	done := make(chan struct{})
	select {
	case l.requests <- request{f, done}:
		<-done
	case <-l.ctx.Done():
	}
}

// cause causes a fault.
func (l *lab) cause(f fault) {
	l.t.Helper()
	from, i := time.Now(), f.worker%len(l.workers)
	switch f.kind {
	case faultSuspend:
		l.signal(syscall.SIGSTOP)
		l.wait(f.length)
		l.signal(syscall.SIGCONT)
	case faultRestart:
		l.server.Kill()
		l.wait(f.length)
		l.server.Restart()
	case faultKill:
		l.workers[i].Kill()
		l.workers[i] = l.startWorker()
	case faultStop:
		p := l.workers[i]
		l.workers[i] = nil // nothing replaces it twice
		p.Stop()
		l.workers[i] = l.startWorker()
	}
	l.note(f.kind, from)
}

// wait waits for the length of an outage.
func (l *lab) wait(length time.Duration) {
	timer := time.NewTimer(length)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-l.ctx.Done():
	}
}

func (l *lab) signal(s syscall.Signal) {
	l.t.Helper()
	if err := syscall.Kill(l.server.PID(), s); err != nil {
		l.t.Fatalf("signal %s to the server: %v", s, err)
	}
}

func (l *lab) note(kind faultKind, from time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.caused = append(l.caused, causedFault{string(kind), from, time.Now()})
}

// during returns the names of the faults that happened in a time.
func (l *lab) during(from, to time.Time) (names []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, f := range l.caused {
		if f.from.Before(to) && f.to.After(from) {
			names = append(names, f.name)
		}
	}
	return names
}

// of returns a client for the runs of a principal.
func (l *lab) of(principal string) *switchyard.Client {
	return switchyard.NewClient(l.client, switchyard.Options{Caller: principal})
}

// excesses returns where a lane ran more calls than its limit.
func (l *lab) excesses() []string {
	spans, _ := l.witness.Spans()
	return witness.Excesses(spans, func(lane string) int {
		if n, ok := laneLimits[lane]; ok {
			return n
		}
		return -1
	})
}
