package main

import (
	"database/sql"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"
	"go.temporal.io/server/common/dynamicconfig"
	"go.temporal.io/server/common/log"
)

// Proves that flags which make no sense end the program with 2 and one message that names flag,
// value and remedy.
func TestWrongFlags(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		flags string // separated by blanks
		want  []string
	}{
		{"--prot 7233", []string{"--prot", "devserver --help"}},
		{"serve", []string{`unexpected argument "serve"`}},
		{"--port seven", []string{"--port", "seven"}},
		{"--port 70000", []string{"--port 70000 is out of range"}},
		{"--port -1", []string{"--port -1 is out of range"}},
		{"--port 65000", []string{"--ui-port 66000 is out of range", "defaults to --port + 1000"}},
		{"--port 8000 --ui-port 8000", []string{"--port and --ui-port are both 8000"}},
		{"--port 8000 --headless --metrics-port 8000",
			[]string{"--port and --metrics-port are both 8000"}},
		{"--ip here", []string{`--ip "here" is not an IP address`}},
		{"--ip fe80::1%eth0", []string{"is not an IP address"}},
		{"--log-level loud", []string{`--log-level "loud"`, "debug, info, warn, error, never"}},
		{"--namespace a/b", []string{`--namespace "a/b"`}},
		{"--namespace temporal-system", []string{"belongs to the server"}},
		{"--namespace=", []string{"--namespace is empty"}},
		{"--parent-pid -4", []string{"--parent-pid -4"}},
		{"--dynamic-config-value frontend.rps", []string{"key=value"}},
		{"--dynamic-config-value =5", []string{"key=value"}},
		{"--dynamic-config-value frontend.rps=", []string{"not JSON"}},
		{"--dynamic-config-value history.timerProcessorMaxTimeShift=10ms",
			[]string{`not JSON`, `'history.timerProcessorMaxTimeShift="10ms"'`}},
		{"--dynamic-config-value frontend.rsp=5", []string{"frontend.rsp", "unregistered key"}},
		{`--dynamic-config-value frontend.rps="many"`, []string{"the server rejects",
			"frontend.rps"}},
		{"--dynamic-config-value frontend.rps=5}]", []string{"not JSON"}},
	} {
		t.Run(test.flags, func(t *testing.T) {
			t.Parallel()
			code, stdout, stderr := runToEnd(t, strings.Fields(test.flags)...)
			if code != exitUsage || stdout != "" {
				t.Errorf("exit code %d, standard output %q", code, stdout)
			}
			for _, part := range test.want {
				if !strings.Contains(stderr, part) {
					t.Errorf("no %q in %q", part, stderr)
				}
			}
		})
	}
}

// Proves that --help explains every flag, has examples, goes to standard output and ends with 0.
func TestHelp(t *testing.T) {
	t.Parallel()
	code, stdout, stderr := runToEnd(t, "--help")
	if code != exitDone || stderr != "" || !strings.Contains(stdout, "Examples:") {
		t.Errorf("exit code %d, standard error %q, standard output:\n%s", code, stderr, stdout)
	}
	newFlags(&flagValues{}).VisitAll(func(f *pflag.Flag) {
		if f.Usage == "" || !strings.Contains(stdout, "--"+f.Name+" ") {
			t.Errorf("--%s is not explained", f.Name)
		}
	})
}

// Proves that every value of the tuning is one the server accepts for that key, that it reads back
// as meant, and that an override wins, whatever the case of its key.
func TestTuning(t *testing.T) {
	t.Parallel()
	cfg, err := parseConfig([]string{"--dynamic-config-value", "FRONTEND.rps=5",
		"--dynamic-config-value", "frontend.rps=6",
		"--dynamic-config-value", `history.timerProcessorMaxTimeShift = "1s"`})
	if err != nil {
		t.Fatal(err)
	}
	ours := dynamicconfig.NewCollection(tuned(), log.NewTestLogger())
	changed := dynamicconfig.NewCollection(cfg.tuning, log.NewTestLogger())
	for _, test := range []struct {
		name      string
		got, want any
	}{
		{"transfer", dynamicconfig.TransferProcessorMaxPollRPS.Get(ours)(), 2000},
		{"timer", dynamicconfig.TimerProcessorMaxPollRPS.Get(ours)(), 2000},
		{"visibility", dynamicconfig.VisibilityProcessorMaxPollRPS.Get(ours)(), 2000},
		{"outbound", dynamicconfig.OutboundProcessorMaxPollRPS.Get(ours)(), 2000},
		{"time shift", dynamicconfig.TimerProcessorMaxTimeShift.Get(ours)(), 10 * time.Millisecond},
		{"read partitions", dynamicconfig.MatchingNumTaskqueueReadPartitions.Get(ours)("ns", "q",
			1), 1},
		{"write partitions", dynamicconfig.MatchingNumTaskqueueWritePartitions.Get(ours)("ns", "q",
			2), 1},
		{"worker commands", dynamicconfig.WorkerCommandsEnabled.Get(ours)("ns"), true},
		{"pushed cancel", dynamicconfig.EnableCancelActivityWorkerCommand.Get(ours)("ns"), true},
		{"polls", dynamicconfig.FrontendMaxConcurrentLongRunningRequestsPerInstance.Get(ours)("ns"),
			50_000},
		{"version check", dynamicconfig.EnableServerVersionCheck.Get(ours)(), false},
		{"override", dynamicconfig.FrontendRPS.Get(changed)(), 6},
		{"override of a duration", dynamicconfig.TimerProcessorMaxTimeShift.Get(changed)(),
			time.Second},
		{"beside an override", dynamicconfig.TransferProcessorMaxPollRPS.Get(changed)(), 2000},
	} {
		if test.got != test.want {
			t.Errorf("%s: %v, want %v", test.name, test.got, test.want)
		}
	}
	if v := dynamicconfig.MatchingEnableFairness.Get(ours)("ns", "q", 2); !v.Value(nil,
		time.Now()) {
		t.Error("fairness is off")
	}
}

// Proves that a busy port ends the program with 1 and one line that names the port and the flag,
// before the database folder is made.
func TestBusyPort(t *testing.T) {
	t.Parallel()
	busy, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer busy.Close()
	port := strconv.Itoa(busy.Addr().(*net.TCPAddr).Port)
	below := strconv.Itoa(busy.Addr().(*net.TCPAddr).Port - uiPortOffset)
	for _, test := range []struct {
		name, want string
		flags      []string
	}{
		{"server", "--port", []string{"--port", port, "--ui-port", "0"}},
		{"ui", "--ui-port", []string{"--port", "0", "--ui-port", port}},
		{"ui by default", "--ui-port", []string{"--port", below}},
		{"metrics", "--metrics-port", []string{"--port", "0", "--metrics-port", port}},
		{"all interfaces", "--port", []string{"--port", port, "--headless", "--ip", "0.0.0.0"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			folder := filepath.Join(t.TempDir(), "db")
			code, stdout, stderr := runToEnd(t, append(test.flags, "--db-filename",
				filepath.Join(folder, "runs.db"))...)
			if code != exitFailed || stdout != "" || strings.Count(stderr, "\n") != 1 ||
				!strings.Contains(stderr, "port "+port+" on ") || !strings.Contains(stderr,
				"another port with "+test.want+" ") {
				t.Errorf("exit code %d, %q", code, stderr)
			}
			if _, err := os.Stat(folder); err == nil {
				t.Error("the database folder was made all the same")
			}
		})
	}
}

// Proves that a database file that cannot be had, or is not ours, is refused with one line and left
// as it was.
func TestUnusableFile(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	text, other := filepath.Join(folder, "notes.txt"), filepath.Join(folder, "other.db")
	writeForeignFiles(t, text, other)
	for _, test := range []struct{ name, file, want string }{
		{"folder below a file", filepath.Join(text, "runs.db"), "cannot make the folder"},
		{"a folder", folder, "it is not a file"},
		{"not SQLite", text, "cannot be opened as a SQLite database"},
		{"another program's", other, "not a complete one of this server"},
	} {
		t.Run(test.name, func(t *testing.T) {
			before, _ := os.ReadFile(test.file)
			code, stdout, stderr := runToEnd(t, "--port", "0", "--headless", "--db-filename",
				test.file)
			if code != exitFailed || stdout != "" || strings.Count(stderr, "\n") != 1 ||
				!strings.Contains(stderr, test.want) || !strings.Contains(stderr, test.file) {
				t.Errorf("exit code %d, %q", code, stderr)
			}
			if after, _ := os.ReadFile(test.file); string(after) != string(before) {
				t.Error("the file was changed")
			}
		})
	}
}

// writeForeignFiles makes a file that is no database, and a database of another program.
func writeForeignFiles(t *testing.T, text, other string) {
	t.Helper()
	if err := os.WriteFile(text, []byte(strings.Repeat("not a database\n", 100)),
		0o600); err != nil {
		t.Fatal(err)
	}
	conn, err := sql.Open(sqlDriver, other)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Exec("CREATE TABLE songs (name TEXT)"); err != nil {
		t.Fatal(err)
	}
	conn.Close()
}
