//go:build unix

package command

import (
	"context"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/toolspecs"
	"golang.org/x/sys/unix"
)

func specNeeding(d ...toolspecs.Dependency) *toolspecs.Spec {
	return &toolspecs.Spec{Name: "probe", Requires: toolspecs.Requires{Dependencies: d}}
}

func startsServer(file string) toolspecs.Dependency {
	return toolspecs.Dependency{Name: "server", Check: []string{"test", "-s", file},
		Start: shell(`echo $$ >>"$1"; exec sleep 1000`, file)}
}

// A dependency that is down is started once for any number of calls, and outlives them.
func TestDependency_IsStartedOnceAndStays(t *testing.T) {
	file := filepath.Join(t.TempDir(), "pids")
	t.Cleanup(func() {
		for _, pid := range readPIDs(file) {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	})
	ctx, cancel := context.WithCancel(t.Context())
	var calls sync.WaitGroup
	for range 5 {
		calls.Go(func() {
			if e := EnsureDependencies(ctx, specNeeding(startsServer(file))); e != nil {
				t.Error(e)
			}
		})
	}
	calls.Wait()
	cancel()
	pids := readPIDs(file)
	if len(pids) != 1 {
		t.Fatalf("it was started %d times", len(pids))
	}
	if session, err := unix.Getsid(pids[0]); gone(pids[0]) || err != nil || session != pids[0] {
		t.Fatalf("process %d: session %d, %v; want one of its own, alive", pids[0], session, err)
	}
}

// The error says which dependency is down, why, and what to do.
func TestDependencyDown_RefusesTheCall(t *testing.T) {
	const (
		startIt = "; start it and call again, or give the dependency a start command"
		byHand  = `, but its check "false" ended with exit code 1; start it by hand and look at what it says`
		missing = `executor_not_found: the program no-such-program is not on this worker; install it, or correct entry.argv or the worker's PATH (exec: "no-such-program": executable file not found in $PATH)`
	)
	up := toolspecs.Dependency{Name: "up", Check: []string{"true"}}
	cases := []struct {
		name       string
		dependency toolspecs.Dependency
		want       string
	}{
		{"nothing starts it", toolspecs.Dependency{Name: "db",
			Check: shell(`echo refused >&2; exit 2`)}, `its check "sh -c echo refused >&2; exit 2 sh" ended with exit code 2: refused` + startIt},
		{"its check is missing", toolspecs.Dependency{Name: "db",
			Check: []string{"no-such-program"}}, `its check "no-such-program" failed: ` + missing + startIt},
		{"no check", toolspecs.Dependency{Name: "db"}, "its check names no program" + startIt},
		{"its start is missing", toolspecs.Dependency{Name: "db", Check: []string{"false"},
			Start: []string{"no-such-program"}}, missing},
		{"its start fails", toolspecs.Dependency{Name: "db", Check: []string{"false"},
			Start: shell("exit 7"), Within: api.Duration(300 * time.Millisecond)},
			`"sh -c exit 7 sh" was started, ended with exit code 7` + byHand},
		{"it is slow", toolspecs.Dependency{Name: "db", Check: []string{"false"},
			Start: []string{"sleep", "1"}, Within: api.Duration(300 * time.Millisecond)},
			`"sleep 1" was started, still runs` + byHand},
		{"its check hangs", toolspecs.Dependency{Name: "db", Check: []string{"sleep", "1000"},
			Within: api.Duration(100 * time.Millisecond)}, `its check "sleep 1000" failed: the program was ended: its time of 100ms is over` + startIt},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			e := EnsureDependencies(t.Context(), specNeeding(up, c.dependency))
			if e == nil || e.Type != api.ErrPreconditionFailed {
				t.Fatalf("got %v; want precondition_failed", e)
			}
			if want := "probe needs db, which is not up: " + c.want; e.Message != want {
				t.Errorf("got %q, want %q", e.Message, want)
			}
		})
	}
}

func TestDependency_WaitEndsWithTheCall(t *testing.T) {
	d := toolspecs.Dependency{Name: "server", Check: []string{"false"}, Start: []string{"sleep",
		t.Name()}}
	release, err := acquire(t.Context(), strings.Join(d.Start, "\x00"))
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if e := EnsureDependencies(ctx, specNeeding(d)); e == nil {
		t.Fatal("the call went on without the token")
	}
}
