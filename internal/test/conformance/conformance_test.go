// Package conformance runs the official conformance suite of the Model Context Protocol against the
// orchestrator. The suite starts an MCP server for each scenario. Its clients are starter, which
// imports the server's tools, and a worker that calls them for real runs.
package conformance

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/switchyard/switchyard/internal/test/testserver"
	"gopkg.in/yaml.v3"
)

const (
	// scenarioVariable names the scenario; the suite sets it for the client that it starts.
	scenarioVariable = "MCP_CONFORMANCE_SCENARIO"
	// contextVariable has further data of a scenario, as JSON.
	contextVariable = "MCP_CONFORMANCE_CONTEXT"
	// driverVariable is the address of the driver, for the client that the suite starts.
	driverVariable = "CONFORMANCE_DRIVER"
	// patience bounds a scenario, and runPatience the suite's wait for one, most of which is the
	// wait for its turn. They only end scenarios that hang.
	patience    = 3 * time.Minute
	runPatience = 20 * time.Minute
	// atOnce bounds the scenarios that run at once: each has a worker and a starter, and the suite
	// starts all of them together.
	atOnce = 4
)

// TestMain runs the tests, or the client that the suite starts with a server's URL: the client asks
// the driver to connect the orchestrator to it, and exits with the result.
func TestMain(m *testing.M) {
	name := os.Getenv(scenarioVariable)
	if name == "" {
		os.Exit(m.Run())
	}
	if err := ask(os.Getenv(driverVariable), name, os.Args[len(os.Args)-1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// ask returns why the orchestrator did not do what a scenario requires.
func ask(driver, name, server string) error {
	answer, err := http.PostForm(driver, url.Values{"scenario": {name}, "server": {server},
		"context": {os.Getenv(contextVariable)}})
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	if answer.StatusCode != http.StatusOK {
		return cmp.Or(err, errors.New(string(text)))
	}
	return err
}

// The orchestrator passes the core suite and the requirements of two revisions, except for the
// expected failures, which have to fail.
func TestConformance_PassesTheOfficialSuite(t *testing.T) {
	suite := testserver.NPM(t, "conformance")
	server := testserver.NewServer(t)
	known := checkedIn(t)
	required := func(revision string) func([]outcome) []string {
		return func([]outcome) []string { return requiredBy(t, suite, revision).Client }
	}
	for _, run := range []struct {
		name     string
		flags    []string
		required func(outcomes []outcome) []string
	}{
		{"core", []string{"--suite", "core"}, everyScenario},
		{"2025-11-25", []string{"--requirements", "2025-11-25"}, required("2025-11-25")},
		{"2026-07-28", []string{"--requirements", "2026-07-28"}, required("2026-07-28")},
	} {
		t.Run(run.name, func(t *testing.T) {
			d := &driver{t: t, server: server, queue: run.name}
			table, outcomes := d.play(suite, run.flags)
			fmt.Printf("\nMCP conformance, %s:\n%s\n", run.name, table)
			required := run.required(outcomes)
			if len(required) < 18 {
				t.Errorf("%d scenarios are required; every set had 18", len(required))
			}
			for _, o := range outcomes {
				if _, known := scenarios[o.scenario]; known && !slices.Contains(required,
					o.scenario) {
					required = append(required, o.scenario)
				}
			}
			known.print(outcomes)
			for _, fault := range evaluate(required, outcomes, known) {
				t.Error(fault)
			}
		})
	}
}

func everyScenario(outcomes []outcome) []string {
	var names []string
	for _, o := range outcomes {
		names = append(names, o.scenario)
	}
	return names
}

// requirements are the scenarios that count for a revision of the protocol.
type requirements struct{ Client, Server []string }

// requiredBy returns the scenarios that count for a revision; the suite runs others too.
func requiredBy(t *testing.T, suite, revision string) (set requirements) {
	t.Helper()
	file := filepath.Join(filepath.Dir(suite),
		"../node_modules/@modelcontextprotocol/conformance/requirements", revision+".yaml")
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(data, &set); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return set
}

// driver connects the orchestrator to the servers of one run of the suite.
type driver struct {
	t      *testing.T
	server *testserver.Server
	// queue is the prefix of the task queues; each scenario has one.
	queue string
	// turns has a place for each scenario that runs.
	turns chan struct{}

	mu sync.Mutex
	// troubles has the failure of each scenario, if it failed.
	troubles map[string]error
}

// play runs the suite and returns its table and the outcome of each scenario.
func (d *driver) play(suite string, flags []string) (table string, outcomes []outcome) {
	d.t.Helper()
	d.troubles, d.turns = map[string]error{}, make(chan struct{}, atOnce)
	desk := httptest.NewServer(d)
	program, err := os.Executable()
	if err != nil {
		d.t.Fatal(err)
	}
	results := d.t.TempDir()
	flags = append([]string{"client", "--command", program, "--output-dir", results, "--timeout",
		fmt.Sprint(runPatience.Milliseconds())}, flags...)
	cmd := exec.CommandContext(d.t.Context(), suite, flags...)
	cmd.Env = append(os.Environ(), driverVariable+"="+desk.URL)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err = cmd.Run()
	desk.Close()
	// The suite exits with 1 if a check failed, expected or not.
	if _, ended := errors.AsType[*exec.ExitError](err); err != nil && !ended {
		d.t.Fatal(err)
	}
	_, table, found := strings.Cut(stdout.String(), "=== SUITE SUMMARY ===\n")
	outcomes, err = readOutcomes(results)
	if !found || err != nil {
		d.t.Fatalf("the suite printed no table, or its results cannot be read (%v):\n%s\n%s", err,
			&stdout, &stderr)
	}
	for i, o := range outcomes {
		if err, visited := d.troubles[o.scenario]; err != nil {
			outcomes[i].trouble = err.Error()
		} else if !visited {
			outcomes[i].trouble = "the suite sent no client to the server"
		}
	}
	slices.SortFunc(outcomes, func(a, b outcome) int {
		return strings.Compare(a.scenario,
			b.scenario)
	})
	return table, outcomes
}

// ServeHTTP does what a scenario requires at its server and then answers.
func (d *driver) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name, server := r.FormValue("scenario"), r.FormValue("server")
	d.turns <- struct{}{}
	defer func() { <-d.turns }()
	var trouble error
	d.t.Run(name, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(r.Context(), patience)
		defer cancel()
		trouble = newVisit(t, ctx, d, name, server, r.FormValue("context")).make()
	})
	d.mu.Lock()
	d.troubles[name] = trouble
	d.mu.Unlock()
	if trouble != nil {
		http.Error(w, trouble.Error(), http.StatusBadGateway)
	}
}
