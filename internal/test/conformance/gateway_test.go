package conformance

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/switchyard/switchyard/internal/test/testserver"
	"github.com/switchyard/switchyard/toolspecs"
	"gopkg.in/yaml.v3"
)

// gatewayRun is one run of the suite's server side: its scenarios are clients of a gateway, whose
// workers call the tools of the official Go SDK's conformance server.
type gatewayRun struct {
	revision string
	// stateless has the conformance server speak the newest revision. Tools that ask their client
	// in one revision do not in the other.
	stateless bool
	// checks is how many of the required checks pass at least.
	checks int
	// more are scenarios that pass and are not required.
	more []string
}

// The gateway passes the requirements of two revisions, except for the expected failures, which
// have to fail.
func TestConformance_GatewayPassesTheOfficialSuite(t *testing.T) {
	suite := testserver.NPM(t, "conformance")
	server := testserver.NewServer(t)
	for _, run := range []gatewayRun{
		{"2025-11-25", false, 69, []string{"server-session-lifecycle", "json-schema-2020-12"}},
		{"2026-07-28", true, 112, []string{"json-schema-2020-12", "http-header-validation",
			"http-custom-header-server-validation",
			"tasks-lifecycle", "tasks-capability-negotiation", "tasks-wire-fields",
			"tasks-request-state-removal", "tasks-request-headers"}},
	} {
		t.Run(run.revision, func(t *testing.T) {
			table, outcomes := playServer(t, suite, run.revision, run.gateway(t, server.Address))
			known := gatewayFailures(t, run.revision)
			required := requiredBy(t, suite, run.revision).Server
			var all outcome
			for _, o := range outcomes {
				if slices.Contains(required, o.scenario) {
					all.passed, all.failed = all.passed+o.passed, all.failed+o.failed
				}
			}
			fmt.Printf("\nMCP conformance of the gateway, %s: of the checks that are required, %d "+
				"passed and %d failed\n%s\n", run.revision, all.passed, all.failed, table)
			known.print(outcomes)
			if all.passed < run.checks {
				t.Errorf("%d checks passed, want %d or more", all.passed, run.checks)
			}
			for _, fault := range evaluateChecks(append(required, run.more...), outcomes, known) {
				t.Error(fault)
			}
		})
	}
}

// gateway starts a gateway with its worker and returns its URL.
func (g gatewayRun) gateway(t *testing.T, address string) string {
	t.Helper()
	tools, queue := filepath.Join(t.TempDir(), "tools"), "gateway/"+g.revision
	config := filepath.Join(t.TempDir(), "gateway.yaml")
	if err := os.CopyFS(filepath.Dir(config), os.DirFS("testdata")); err != nil {
		t.Fatal(err)
	}
	// Where both have a tool, the one that was imported first stays.
	importTools(t, tools, "triggers", triggers(t, tools, config), "{execution: {effect: read}}")
	importTools(t, tools, "upstream", g.upstream(t), "{}")
	var ready struct{ Endpoint string }
	flags := []string{"--address", address, "--task-queue", queue, "--tools", tools}
	testserver.Start(t, &struct{}{}, nil, testserver.Bin(t, "worker"), flags...)
	testserver.Start(t, &ready, nil, testserver.Bin(t, "starter"), append([]string{"gateway",
		"--listen", "127.0.0.1:0", "--config",
		config, "--direct", "500ms", "--wait", "4s", "--output", "json"}, flags...)...)
	return ready.Endpoint
}

// upstream starts the SDK's conformance server and returns its URL.
func (g gatewayRun) upstream(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), testserver.Bin(t, "everything-server"), "-http",
		address, fmt.Sprintf("-stateless=%t", g.stateless))
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Wait() })
	for began := time.Now(); ; {
		if c, err := net.Dial("tcp", address); err == nil {
			_ = c.Close()
			return "http://" + address
		} else if time.Since(began) > patience {
			t.Fatal(err)
		}
	}
}

// importTools declares an MCP server, which may ask people, and imports its tools. defaults are
// those of its tools.
func importTools(t *testing.T, tools, name, url, defaults string) {
	t.Helper()
	file := filepath.Join(tools, toolspecs.ServersFile)
	declared, err := os.ReadFile(file)
	if err != nil {
		declared, err = []byte("servers:\n"), os.MkdirAll(tools, 0o700)
	}
	declared = fmt.Appendf(declared, "  %s:\n    url: %s\n    allow: [localhost, 127.0.0.1]\n"+
		"    session: shared\n    answer_within: 1m\n    tools: %s\n", name, url, defaults)
	if err := errors.Join(err, os.WriteFile(file, declared, 0o600)); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), testserver.Bin(t, "starter"), "tools", "import", file,
		"--only", name, "--prefix", "")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", cmd, err, out)
	}
}

// playServer runs the suite against a server and returns its table and the outcome of each
// scenario.
func playServer(t *testing.T, suite, revision, url string) (string, []outcome) {
	t.Helper()
	results := t.TempDir()
	cmd := exec.CommandContext(t.Context(), suite, "server", "--url", url, "--requirements",
		revision, "--output-dir", results, "--timeout", fmt.Sprint(patience.Milliseconds()))
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	// The suite exits with 1 if a check failed, expected or not.
	err := cmd.Run()
	if _, ended := errors.AsType[*exec.ExitError](err); err != nil && !ended {
		t.Fatal(err)
	}
	_, table, found := bytes.Cut(stdout.Bytes(), []byte("=== SUMMARY ===\n"))
	outcomes, err := readOutcomes(results)
	if !found || err != nil {
		t.Fatalf("the suite printed no table, or its results cannot be read (%v):\n%s\n%s", err,
			&stdout, &stderr)
	}
	for i := range outcomes {
		outcomes[i].scenario = strings.TrimPrefix(outcomes[i].scenario, "server-")
	}
	return string(table), outcomes
}

// gatewayFailures returns the checked-in list for a revision.
func gatewayFailures(t *testing.T, revision string) knownFailures {
	t.Helper()
	data, err := os.ReadFile("expected-gateway-failures.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var byRevision map[string]yaml.Node
	if err := yaml.Unmarshal(data, &byRevision); err != nil {
		t.Fatal(err)
	}
	node := byRevision[revision]
	list, err := yaml.Marshal(&node)
	if err != nil {
		t.Fatal(err)
	}
	known, err := readKnownFailures(list)
	if err != nil {
		t.Fatalf("expected-gateway-failures.yaml: %s: %v", revision, err)
	}
	return known
}

// evaluateChecks is evaluate for a list of expected failures with single checks, as SCENARIO:CHECK.
func evaluateChecks(required []string, outcomes []outcome, known knownFailures) []string {
	whole := knownFailures{}
	for name, reason := range known {
		whole[name] = reason
	}
	reduced := slices.Clone(outcomes)
	for i, o := range reduced {
		var unexpected []string
		for j, check := range o.checks {
			name := o.scenario + ":" + check
			if whole[name] == "" {
				unexpected = append(unexpected, o.messages[j])
			}
		}
		for _, check := range o.checks {
			delete(whole, o.scenario+":"+check)
		}
		reduced[i].failed, reduced[i].messages = len(unexpected), unexpected
	}
	return evaluate(required, reduced, whole)
}
