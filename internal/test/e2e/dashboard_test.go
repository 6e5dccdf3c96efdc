package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/switchyard/switchyard/api"
	"gopkg.in/yaml.v3"
)

// prometheusVariable names the environment variable with the path of a Prometheus; make
// test/dashboard sets it.
const prometheusVariable = "SWITCHYARD_PROMETHEUS"

// dashboardRounds bounds how often all runs are repeated until every metric has data; a round takes
// a second.
const dashboardRounds = 30

// dashboard has the parts of a Grafana dashboard that the test reads.
type dashboard struct {
	Panels []struct {
		Title   string
		Targets []struct{ Expr string }
	}
}

// expressions returns the expressions of the dashboard and of the rules, for all lanes, tools and
// agents, by their place.
func expressions(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	var d dashboard
	data, err := os.ReadFile("../../../deploy/grafana/switchyard.json")
	if err == nil {
		err = json.Unmarshal(data, &d)
	}
	if err != nil {
		t.Fatal(err)
	}
	fill := strings.NewReplacer("$__rate_interval", "20s", "$__range", "1m", "$job", ".*",
		"$instance", ".*", "$lane", ".*", "$tool", ".*", "$agent", ".*")
	for _, p := range d.Panels {
		for i, target := range p.Targets {
			all[fmt.Sprintf("panel %s, %c", p.Title, 'A'+i)] = fill.Replace(target.Expr)
		}
	}
	var rules struct {
		Groups []struct {
			Rules []struct{ Record, Expr string }
		}
	}
	if data, err = os.ReadFile("../../../deploy/prometheus/switchyard.rules.yaml"); err == nil {
		err = yaml.Unmarshal(data, &rules)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range rules.Groups {
		for _, r := range g.Rules {
			if r.Record != "" {
				all["rule "+r.Record] = strings.ReplaceAll(r.Expr, "5m", "20s")
			}
		}
	}
	return all
}

// Every expression of the dashboard and every recording rule gives data on a real Prometheus that
// reads the metrics of a real worker with runs of all kinds. It takes most of a minute, so only
// make test/dashboard runs it.
func TestDashboard_HasDataInEveryPanel(t *testing.T) {
	program := os.Getenv(prometheusVariable)
	if program == "" {
		t.Skipf("%s is not set: make test/dashboard names a Prometheus", prometheusVariable)
	}
	l := newLab(t)
	policies := filepath.Join(t.TempDir(), "policies.yaml")
	l.writeFile(policies, "policies: [{name: house, when: 'true', then: warn, message: noted, tools: [post]}]\n")
	l.worker("--metrics-address", "127.0.0.1:0", "--lanes-file", "testdata/lanes.yaml",
		"--policies-file", policies)
	address := startPrometheus(t, program, l.metrics)
	waits := guarded(step(call("publish", `{"text":"a"}`)), answer("done"))
	l.run(api.AgentWorkflow, "waits", api.RunInput{Agent: waits, Prompt: "Go.",
		Attributes: []string{api.AttributeWaiting}})
	l.runAgent("counts", counting("counter hold_read", step(call("counter", `{"by":1}`)),
		step(call("hold_read", `{}`)), answer("done")))
	missing := expressions(t)
	for round := 0; len(missing) > 0 && round < dashboardRounds; round++ {
		l.load(round)
		for where, expr := range missing {
			if hasData(l.ctx, t, address, expr) {
				delete(missing, where)
			}
		}
	}
	for where, expr := range missing {
		t.Errorf("%s gives no data: %s", where, expr)
	}
	l.openGate()
}

// load runs something of every kind.
func (l *lab) load(round int) {
	id := func(name string) string { return fmt.Sprint(name, "-", round) }
	l.decisions(id("decided"))
	batched, sealed := l.runAgent(id("batched"), batchedAgent()), l.runAgent(id("sealed"), sealed())
	failing := agent(step(call("flaky", `{}`), call("broken", `{}`), call("no_such_tool", `{}`),
		call("tick_serial", `{}`)), answer("done"))
	failing.Limits.Turns = 1
	l.result(l.runAgent(id("failing"), withTools(failing, "flaky broken tick_serial")))
	l.result(batched)
	l.result(sealed)
}

// startPrometheus starts a Prometheus with the rules that reads the metrics at an address, and
// returns its address.
func startPrometheus(t *testing.T, program, metrics string) string {
	t.Helper()
	dir := t.TempDir()
	rules, err := filepath.Abs("../../../deploy/prometheus/switchyard.rules.yaml")
	if err != nil {
		t.Fatal(err)
	}
	config := fmt.Sprintf("global: {scrape_interval: 1s, evaluation_interval: 1s}\nrule_files: [%s]\nscrape_configs: [{job_name: switchyard, static_configs: [{targets: [%q]}]}]\n",
		rules, metrics)
	if err := os.WriteFile(filepath.Join(dir, "prometheus.yaml"), []byte(config),
		0o600); err != nil {
		t.Fatal(err)
	}
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := free.Addr().String()
	free.Close()
	cmd := exec.Command(program, "--config.file", filepath.Join(dir, "prometheus.yaml"),
		"--storage.tsdb.path", filepath.Join(dir, "data"), "--web.listen-address", address,
		"--log.level", "error")
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return address
}

// hasData reports whether an expression gives data.
func hasData(ctx context.Context, t *testing.T, address, expr string) bool {
	t.Helper()
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+
		"/api/v1/query?query="+url.QueryEscape(expr), nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return false // it only starts
	}
	defer response.Body.Close()
	var answer struct {
		Error string
		Data  struct{ Result []any }
	}
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil {
		t.Fatal(err)
	}
	if answer.Error != "" {
		t.Fatalf("%s: %s", expr, answer.Error)
	}
	return len(answer.Data.Result) > 0
}
