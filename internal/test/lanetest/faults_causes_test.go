package lanetest

import (
	"math"
	"syscall"
	"time"
)

// injection is a kind of fault. cause returns when it is over and its part works again. It returns
// false if there was nothing to fail.
type injection struct {
	name  string
	cause func(f *faultLab) bool
}

// infrastructureFaults are chosen with equal probability.
var infrastructureFaults = []injection{
	{"worker killed", always(func(f *faultLab) {
		w := f.pick()
		w.Kill()
		w.Process = f.startWorker(w)
	})},
	{"worker restarted", always(func(f *faultLab) {
		w := f.pick()
		w.Stop()
		w.Process = f.startWorker(w)
	})},
	{"worker suspended for a while", always(func(f *faultLab) {
		f.suspend(f.pick().PID(), f.upTo(5*time.Second))
	})},
	{"connection black-holed", always(func(f *faultLab) {
		w := f.pick().wire
		w.cut()
		f.pause(8 * time.Second)
		w.heal()
	})},
	{"connections closed", always(func(f *faultLab) {
		w := f.pick().wire
		w.enable(false)
		f.pause(3 * time.Second)
		w.enable(true)
	})},
	{"connection slow", always(func(f *faultLab) {
		w := f.pick().wire
		w.slow(300 * time.Millisecond)
		f.pause(3 * time.Second)
		w.heal()
	})},
	{"Temporal suspended for 1 to 30 s", always(func(f *faultLab) {
		f.suspend(f.Server.PID(), f.outage())
	})},
	{"Temporal killed and restarted after 1 to 30 s", always(func(f *faultLab) {
		f.Server.Kill()
		f.wait(f.outage())
		f.Server.Restart()
	})},
	{"MCP server program killed", func(f *faultLab) bool {
		pid := f.program()
		return pid > 0 && syscall.Kill(pid, syscall.SIGKILL) == nil
	}},
	{"MCP server program suspended for a while", func(f *faultLab) bool {
		pid, length := f.program(), f.upTo(5*time.Second)
		if pid == 0 || syscall.Kill(pid, syscall.SIGSTOP) != nil {
			return false
		}
		f.wait(length)
		f.resumed = append(f.resumed, time.Now())
		_ = syscall.Kill(pid, syscall.SIGCONT) // its worker may have ended it
		return true
	}},
	{"MCP server over HTTP killed", always(func(f *faultLab) {
		f.mcp.Kill()
		f.pause(2 * time.Second)
		f.startMCP()
	})},
	{"MCP server over HTTP suspended for a while", always(func(f *faultLab) {
		f.suspend(f.mcp.PID(), f.upTo(5*time.Second))
		f.resumed = append(f.resumed, time.Now())
	})},
	{"disk full for a while", func(f *faultLab) bool {
		if !f.mounted {
			return false
		}
		free := f.fillDisk()
		f.pause(4 * time.Second)
		free()
		return true
	}},
	{"run cancelled", func(f *faultLab) bool {
		open := f.stuck()
		if len(open) == 0 {
			return false
		}
		run := open[f.random.IntN(len(open))]
		return f.Client.CancelWorkflow(f.ctx, run.id, run.runID) == nil
	}},
}

func always(cause func(*faultLab)) func(*faultLab) bool {
	return func(f *faultLab) bool {
		cause(f)
		return true
	}
}

func (f *faultLab) next() injection {
	return infrastructureFaults[f.random.IntN(len(infrastructureFaults))]
}

func (f *faultLab) pick() *faultyWorker { return f.workers[f.random.IntN(len(f.workers))] }

func (f *faultLab) cause(x injection) {
	f.t.Helper()
	if x.cause(f) {
		f.counts[x.name]++
	}
	f.pause(600 * time.Millisecond)
}

// suspend stops a process for a time.
func (f *faultLab) suspend(pid int, length time.Duration) {
	f.t.Helper()
	for _, s := range []syscall.Signal{syscall.SIGSTOP, syscall.SIGCONT} {
		if err := syscall.Kill(pid, s); err != nil {
			f.t.Fatalf("signal %s to %d: %v", s, pid, err)
		}
		if s == syscall.SIGSTOP {
			f.wait(length)
		}
	}
}

// shortForm is the number of faults up to which outages are short.
const shortForm = 100

// outage returns for how long the server is away: mostly a few seconds, at most 30, or 8 in the
// short form.
func (f *faultLab) outage() time.Duration {
	longest := 30.0
	if *faultCount <= shortForm {
		longest = 8
	}
	seconds := 1 + (longest-1)*math.Pow(f.random.Float64(), 4)
	return time.Duration(seconds * float64(time.Second))
}

// pause waits for a random time, at most most.
func (f *faultLab) pause(most time.Duration) {
	f.t.Helper()
	f.wait(f.upTo(most))
}

func (f *faultLab) upTo(most time.Duration) time.Duration {
	return time.Duration(f.random.Int64N(int64(most)))
}

// wait waits, and counts runs that end meanwhile.
func (f *faultLab) wait(length time.Duration) {
	f.t.Helper()
	over := time.After(length)
	for {
		select {
		case run := <-f.ended:
			f.noteEnd(run)
		case <-over:
			return
		case <-f.ctx.Done():
			f.t.Fatal("the test took too long")
		}
	}
}
