package operate

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/test/testserver"
	"github.com/switchyard/switchyard/starter/internal/cli"
)

// TestDoctor_ReportsSettingsThatDoNotFit states which leases, heartbeat timeouts and polls of
// workers doctor reports, and that remedies are in the format of the file they belong to.
func TestDoctor_ReportsSettingsThatDoNotFit(t *testing.T) {
	now := time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)
	second := api.Duration(time.Second)
	lease := func(lease api.Duration, groups int) api.WorkerSettings {
		return api.WorkerSettings{Leases: []api.LaneLease{{Lane: "printer", Lease: lease,
			Groups: groups}}}
	}
	for _, c := range []struct {
		name      string
		heartbeat time.Duration
		settings  api.WorkerSettings
		want      []string
	}{
		{"everything fits", 5 * time.Millisecond, lease(15*second, 4),
			[]string{"ok: leases, heartbeats and polls of the workers fit the server " +
				"(slowest of 11 heartbeats: 5ms)"}},
		{"a lease that is tight", 200 * time.Millisecond, lease(2*second, 1),
			[]string{"warning: the lease of the lane printer is 2s, so that a heartbeat has to be " +
				"answered within 267ms, but the slowest of 11 took 200ms → set in the lanes file:\n" +
				"    lanes:\n      printer:\n        lease: 15s"}},
		{"a lease shorter than heartbeats allow", 4 * time.Second, lease(15*second, 1),
			[]string{"problem: the lease of the lane printer is 15s", "lease: 35s"}},
		{"a short lease on a near server", 5 * time.Millisecond, lease(2*second, 1),
			[]string{"ok: "}},
		{"too many heartbeats of leases", 0, lease(5*second, 1000),
			[]string{"warning: the leases of 1 lane need 2000 requests per second",
				"frontend.namespaceRPS:\n      - value: 6400"}},
		{"heartbeats of once", 0, api.WorkerSettings{ShortHeartbeats: []api.ToolHeartbeat{
			{Tool: "pay", Heartbeat: 5 * second}, {Tool: "send", Heartbeat: 3 * second}}},
			[]string{"warning: tools with effect once have a heartbeat below 30s: pay (5s), " +
				"send (3s)", "    execution:\n      heartbeat: 1m"}},
		{"heartbeats shorter than their round trip", 2 * time.Second,
			api.WorkerSettings{Shortest: &api.ToolHeartbeat{Tool: "read", Heartbeat: 3 * second}},
			[]string{"problem: heartbeats take up to 2.00s, which is too long for the heartbeat of " +
				"read (3s)", "    execution:\n      heartbeat: 12s"}},
		{"many polls", 0, api.WorkerSettings{Polls: 900, PeakPolls: 1500},
			[]string{"warning: the workers have 900 open polls and had up to 1500",
				"    frontend.namespaceCount:\n      - value: 3000"}},
		{"rejected polls", 0, api.WorkerSettings{PeakPolls: 1500,
			Rejected: []api.RejectedRequests{{Cause: "ConcurrentLimit", Count: 7, Last: now}}},
			[]string{"problem: the server rejected 7 requests of the workers because of its limit " +
				"ConcurrentLimit: concurrent polls of the namespace (the workers open up to 1500)",
				"    frontend.namespaceCount:\n      - value: 3000"}},
		{"rejected requests", 0, api.WorkerSettings{Rejected: []api.RejectedRequests{
			{Cause: "RpsLimit", Count: 1, Last: now}, {Cause: "Odd", Count: 2, Last: now}}},
			[]string{"problem: the server rejected 2 requests of the workers because of its limit " +
				"Odd → check", "problem: the server rejected 1 request",
				"    frontend.namespaceRPS:\n      - value: 4800"}},
		{"rejected long ago", 0, api.WorkerSettings{Rejected: []api.RejectedRequests{
			{Cause: "RpsLimit", Count: 1, Last: now.Add(-time.Hour)}}}, []string{"ok: "}},
	} {
		d := &doctor{app: &cli.App{}, heartbeat: c.heartbeat}
		var got strings.Builder
		for _, f := range d.evaluateSettings([]api.WorkerCatalog{{Worker: "a",
			Settings: &c.settings}, {Worker: "b", Failure: "gone"}}, now) {
			fmt.Fprintf(&got, "%s: %s → %s\n", f.Mark, f.Text, f.Remedy)
		}
		for _, want := range c.want {
			if !strings.Contains(got.String(), want) {
				t.Errorf("%s:\n%s\nlacks %q", c.name, got.String(), want)
			}
		}
	}
	if got := (&doctor{}).evaluateSettings([]api.WorkerCatalog{{Failure: "gone"}}, now); got != nil {
		t.Errorf("findings without an answer of a worker: %v", got)
	}
}

// doctorOnWorker starts a server, with these values of its dynamic configuration, and a worker with
// lanes and a tool, and returns what doctor prints.
func doctorOnWorker(t *testing.T, lanes string, values ...string) string {
	t.Helper()
	server := testserver.NewServer(t, dynamic(values...)...)
	dir := t.TempDir()
	tool := "name: pay\ndescription: Pays a bill.\nversion: 1.0.0\nentry:\n" +
		"  type: command\n  argv: [\"true\"]\n  stdin: none\n" +
		"execution:\n  effect: once\n  heartbeat: 5s\n"
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	lanesFile, toolFile := write("lanes.yaml", lanes), write("tools/pay.yaml", tool)
	var ready map[string]any
	testserver.Start(t, &ready, nil, testserver.Bin(t, "worker"), "--address", server.Address,
		"--tools", filepath.Dir(toolFile), "--lanes-file", lanesFile,
		"--parent-pid", strconv.Itoa(os.Getpid()))
	var out bytes.Buffer
	operateProgram.Run(t.Context(), []string{"doctor", "--address", server.Address,
		"--namespace", "default", "--lanes-file", lanesFile}, cli.Stdio{Out: &out, Err: &out})
	return out.String()
}

// TestDoctor_AsksWorkersForTheirSettings runs doctor on a worker with a tool whose heartbeat
// timeout is short.
func TestDoctor_AsksWorkersForTheirSettings(t *testing.T) {
	got := doctorOnWorker(t, "lanes:\n  printer:\n    limit: 1\n")
	if !strings.Contains(got, "tools with effect once have a heartbeat below 30s: pay (5s);") {
		t.Errorf("doctor does not report the heartbeat:\n%s", got)
	}
}

// TestDoctor_ReportsTheServersPollLimit runs doctor on a server with a low limit of polls, and on a
// worker with more lanes.
func TestDoctor_ReportsTheServersPollLimit(t *testing.T) {
	lanes := "lanes:\n"
	for i := range 60 {
		lanes += fmt.Sprintf("  lane%d: {}\n", i)
	}
	got := doctorOnWorker(t, lanes, "frontend.namespaceCount=30")
	for _, want := range []string{
		"because of its limit ConcurrentLimit: concurrent polls of the namespace",
		"    frontend.namespaceCount:\n      - value: 2400",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("doctor does not report %q:\n%s", want, got)
		}
	}
}
