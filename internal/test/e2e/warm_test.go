package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/switchyard/switchyard/internal/test/testserver"
)

// serversOf returns the processes of MCP servers that a worker has started.
func (l *lab) serversOf(w *testserver.Process) (servers []int) {
	l.t.Helper()
	all, err := filepath.Glob("/proc/[0-9]*/status")
	if err != nil {
		l.t.Fatal(err)
	}
	for _, file := range all {
		status, err := os.ReadFile(file)
		command, _ := os.ReadFile(filepath.Join(filepath.Dir(file), "cmdline"))
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		// A process that has ended and is not waited for has no command line.
		if err == nil && len(command) > 0 && strings.Contains(string(status), fmt.Sprintf(
			"PPid:\t%d\n", w.PID())) {
			servers = append(servers, pid)
		}
	}
	return servers
}

// awaitServers waits until a worker has n servers besides some, and returns those.
func (l *lab) awaitServers(w *testserver.Process, n int, besides ...int) (servers []int) {
	l.t.Helper()
	l.await(fmt.Sprintf("for %d servers", n), func() bool {
		servers = slices.DeleteFunc(l.serversOf(w),
			func(pid int) bool { return slices.Contains(besides, pid) })
		return len(servers) == n
	})
	return servers
}

// A warm server serves one run and ends with it. One that dies is replaced, and none survives its
// worker.
func TestMCPSessions_AreKeptWarm(t *testing.T) {
	l := newLab(t)
	w := l.workerIn(nil, "--tools", l.sessionTools(", warm: 1"))
	a := agent(step(remember("x")), step(call("hold_read", `{}`)), step(remember("y")),
		answer("done"))
	a.Tools = []string{"remember", "hold_read"}
	first := l.awaitServers(w, 1)
	one := l.runAgent("one", a)
	l.atGate(one)
	second := l.awaitServers(w, 1, first...)
	if err := syscall.Kill(second[0], syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	l.awaitExit(second[0])
	third := l.awaitServers(w, 1, first[0], second[0])
	two := l.runAgent("two", a)
	l.atGate(two)
	if got := []int{l.serverOf(one), l.serverOf(two)}; !slices.Equal(got,
		[]int{first[0], third[0]}) {
		t.Errorf("the runs use the servers %v, and those ready were %v, %v and %v", got, first,
			second, third)
	}
	l.openGate()
	for _, run := range []string{"one", "two"} {
		r := l.Client.GetWorkflow(l.ctx, run, "")
		if result := l.result(r); result.Usage.Failed != 0 {
			t.Errorf("run %s: %+v", run, result)
		}
		if _, texts := l.remembered(r); !slices.Equal(texts, []string{"x", "x y"}) {
			t.Errorf("run %s remembers %q", run, texts)
		}
	}
	l.awaitExit(first[0])
	l.awaitExit(third[0])
	last := l.awaitServers(w, 1, first[0], third[0])
	w.Kill()
	l.awaitExit(last[0])
}
