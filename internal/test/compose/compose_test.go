// Package compose has the test of docker-compose.yml and Dockerfile: the real Docker Compose starts
// them unchanged, with stand-ins for the images of others.
package compose

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// patience bounds waits for runs and containers.
const patience = 5 * time.Minute

// Largest sizes of our images, uncompressed, in bytes.
const (
	maxStarter = 120 << 20
	maxWorker  = 400 << 20
)

// deployment is what the steps of the test share.
type deployment struct {
	*stack
	*ledger
	// earlier are all runs before the containers were removed.
	earlier []string
}

// Each step continues with the deployment that the one before it left.
func TestCompose_CarriesRunsThroughFaultsAndUpgrades(t *testing.T) {
	d := &deployment{stack: newStack(t, newEngine(t))}
	started := time.Now()
	var table strings.Builder
	t.Cleanup(func() { t.Logf("%s in all:\n%s", time.Since(started).Round(time.Second), &table) })
	for _, step := range []struct {
		name string
		run  func(t *testing.T) string
	}{
		{"a missing .env is named", d.missingSettings},
		{"images are built", d.build},
		{"bad settings are named", d.badSettings},
		{"the README's commands", d.firstRun},
		{"a used port is named", d.usedPort},
		{"an agent and a plan", d.agentAndPlan},
		{"three workers", d.scale},
		{"a worker is killed in mid-call", d.killWorker},
		{"PostgreSQL and Temporal restart under load", d.restart},
		{"workers are upgraded with runs in flight", d.upgrade},
		{"the librarian", d.librarian},
		{"the Web UI in a browser", d.webUI},
		{"the codec server", d.codec},
		{"a call through the gateway", d.gateway},
		{"Prometheus", d.metrics},
		{"down, and up again", d.downAndUp},
		{"backup and restore", d.backup},
		{"everything is taken down", d.takeDown},
	} {
		begin, seen := time.Now(), ""
		passed := t.Run(step.name, func(t *testing.T) { seen = step.run(t) })
		fmt.Fprintf(&table, "%6.1f s  %-45s %s\n", time.Since(begin).Seconds(), step.name, seen)
		if !passed {
			t.FailNow()
		}
	}
}

// refused checks that docker compose fails, and that a line of its output matches a pattern; it
// returns the line.
func (d *deployment) refused(t *testing.T, pattern string, args ...string) string {
	t.Helper()
	o := d.try(t, nil, args...)
	line := regexp.MustCompile("(?m)^.*" + pattern + ".*$").FindString(o.stderr)
	if o.code == 0 || line == "" {
		t.Fatalf("docker compose %q ends with %d and does not say %s:\n%s", args, o.code, pattern, o.stderr)
	}
	return strings.TrimSpace(line)
}

func (d *deployment) missingSettings(t *testing.T) string {
	return d.refused(t, `required variable (POSTGRES|GRAFANA)_PASSWORD is missing a value: `+
		`set it in \.env; start with cp \.env\.example \.env`, "config")
}

func (d *deployment) badSettings(t *testing.T) string {
	for _, c := range []struct{ name, value, pattern string }{
		{"POSTGRES_PASSWORD", "", "required variable POSTGRES_PASSWORD is missing a value: set it in"},
		{"UI_PORT", "eighty", `invalid hostPort: eighty`},
		{"SUBNET", "here", `here`},
		{"TEMPORAL_VERSION", "0.0.1", `temporalio/(server|admin-tools):0\.0\.1`},
	} {
		d.configure(t, map[string]string{c.name: c.value})
		t.Log(d.refused(t, c.pattern, "up", "--detach"))
	}
	d.configure(t, nil)
	d.compose(t, "down", "--volumes")
	return "empty password, port, subnet, version"
}

func (d *deployment) build(t *testing.T) string {
	d.configure(t, nil)
	d.compose(t, "build")
	return d.checkSizes(t)
}

// checkSizes checks the uncompressed sizes of the images in use.
func (d *deployment) checkSizes(t *testing.T) string {
	t.Helper()
	size := func(name string, limit int) int {
		bytes, err := strconv.Atoi(d.podman(t, "image", "inspect", "--format", "{{.Size}}",
			"switchyard/"+name+":latest"))
		if err != nil || bytes > limit {
			t.Errorf("the image %s has %d bytes (%v), want at most %d", name, bytes, err, limit)
		}
		return bytes >> 20
	}
	return fmt.Sprintf("starter %d MiB, worker %d MiB", size("starter", maxStarter),
		size("worker", maxWorker))
}

func (d *deployment) firstRun(t *testing.T) string {
	begin := time.Now()
	d.compose(t, "up", "--detach", "--wait")
	up := time.Since(begin)
	d.checkCall(t, "2*(3+4)", 14)
	return fmt.Sprintf("healthy after %.1f s", up.Seconds())
}

// checkCall calls the calculator, as the README does.
func (d *deployment) checkCall(t *testing.T, expression string, want float64) {
	t.Helper()
	got := d.starter(t, "call", "calculator", "expression="+expression)
	var result struct{ Value float64 }
	if err := json.Unmarshal([]byte(got), &result); err != nil || result.Value != want {
		t.Errorf("%s is %q (%v), want %v", expression, got, err, want)
	}
}

func (d *deployment) usedPort(t *testing.T) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	d.configure(t, map[string]string{"UI_PORT": port})
	line := d.refused(t, port+".*address already in use", "up", "--detach", "--no-deps", "ui")
	d.configure(t, nil)
	d.compose(t, "up", "--detach", "--wait", "--no-deps", "ui")
	return line
}

func (d *deployment) agentAndPlan(t *testing.T) string {
	d.ledger = newLedger(t, d.stack)
	d.configure(t, nil)
	d.replaceWorkers(t, 1)
	d.write(t, "agents/cashier.yaml", agentFile, 0o644)
	d.write(t, "agents/cashier.script.yaml", agentScript, 0o644)
	answer := d.starter(t, "run", "agents/cashier.yaml", "Charge what is due.", "--id", "agent")
	if !strings.Contains(answer, "It was 14, and I entered agent") {
		t.Errorf("the agent answers %q", answer)
	}
	d.checkChains(t, d.ledger, d.startChains(t, "plan", 1, 3, 1), 3)
	if got := d.entries(t); len(got["agent"]) != 1 {
		t.Errorf("the ledger has %v", got)
	}
	return "answered, completed; 4 charges, 4 entries"
}

// replaceWorkers starts workers with changed settings in place of the others. It names the service,
// because podman 4.3 lists networks by name where Compose compares identifiers, so that Compose
// replaces the containers of all services that it is about.
func (d *deployment) replaceWorkers(t *testing.T, workers int) {
	t.Helper()
	d.compose(t, "up", "--detach", "--wait", "--no-deps", "--scale", fmt.Sprintf("worker=%d", workers),
		"worker")
}

func (d *deployment) scale(t *testing.T) string {
	d.compose(t, "up", "--detach", "--wait", "--no-recreate", "--scale", "worker=3")
	if got := d.stack.containers(t, "worker"); len(got) != 3 {
		t.Fatalf("the workers are %q", got)
	}
	return "3 healthy"
}

func (d *deployment) downAndUp(t *testing.T) string {
	d.earlier = d.runs(t)
	d.compose(t, "--profile", "*", "down")
	if got := d.podman(t, "ps", "--all", "--quiet"); got != "" {
		t.Fatalf("down leaves the containers %s", got)
	}
	begin := time.Now()
	d.compose(t, "up", "--detach", "--wait")
	up := time.Since(begin)
	if got := d.runs(t); !slices.Equal(got, d.earlier) {
		t.Errorf("the runs are %q, before they were %q", got, d.earlier)
	}
	return fmt.Sprintf("healthy after %.1f s, %d earlier runs", up.Seconds(), len(d.earlier))
}

// backup follows docs/operations.md.
func (d *deployment) backup(t *testing.T) string {
	dump := d.compose(t, "exec", "--no-TTY", "postgres", "pg_dumpall", "--username", "temporal")
	d.compose(t, "down", "--volumes")
	d.compose(t, "up", "--detach", "--wait", "postgres")
	o := d.try(t, strings.NewReader(dump), "exec", "--no-TTY", "postgres", "psql", "--quiet",
		"--username", "temporal")
	if o.code != 0 {
		t.Fatalf("psql ends with %d: %s", o.code, o.stderr)
	}
	d.compose(t, "up", "--detach", "--wait")
	if got := d.runs(t); !slices.Equal(got, d.earlier) {
		t.Errorf("the runs are %q, before the backup they were %q", got, d.earlier)
	}
	d.checkCall(t, "6*7", 42)
	return fmt.Sprintf("%d kB restored, %d runs", len(dump)>>10, len(d.earlier))
}

func (d *deployment) takeDown(t *testing.T) string {
	d.compose(t, "--profile", "*", "down", "--volumes")
	if left := d.left(t); left != "" {
		t.Errorf("down leaves %s", left)
	}
	if _, err := os.Stat(d.file); err != nil {
		t.Error(err)
	}
	return "no container, volume or network is left"
}
