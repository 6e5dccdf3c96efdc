package operate

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/switchyard/switchyard/internal/test/testserver"
	"github.com/switchyard/switchyard/starter/internal/cli"
	"go.temporal.io/api/workflowservice/v1"
)

// Calls that were scheduled late and started early on average show that priorities or fairness have
// an effect.
func TestOrder_IsDerivedFromTheMeanPosition(t *testing.T) {
	many := strings.Repeat("many ", 12)
	for _, c := range []struct {
		name, order string
		want        servedOrder
	}{
		{"exact", strings.Repeat("urgent ", 4) + strings.Repeat("many other ", 4) +
			strings.Repeat("many ", 8), servedOrder{true, true}},
		{"fairness off", strings.Repeat("urgent ", 4) + many + strings.Repeat("other ", 4),
			servedOrder{true, false}},
		{"as it came", many + strings.Repeat("other urgent ", 4), servedOrder{false, false}},
		{"nothing came", "", servedOrder{}},
	} {
		if got := evaluateOrder(strings.Fields(c.order)); got != c.want {
			t.Errorf("%s: got %+v, want %+v", c.name, got, c.want)
		}
	}
}

// dynamic returns the devserver's flags for its dynamic configuration.
func dynamic(values ...string) []string {
	var flags []string
	for _, v := range values {
		flags = append(flags, "--dynamic-config-value", v)
	}
	return flags
}

// On real servers, doctor reports whether priorities and fairness have an effect and whether task
// queues are divided, and removes its workflows. On a divided queue without fairness the order may
// be fair by chance; doctor then reports the division.
func TestDoctor_MeasuresPrioritiesAndFairness(t *testing.T) {
	unfair, old := "matching.enableFairness=false", "matching.useNewMatcher=false"
	divided := []string{"matching.numTaskqueueReadPartitions=4",
		"matching.numTaskqueueWritePartitions=4"}
	const (
		fair        = "✓ waiting calls are dispatched by priority and fairly between conversations"
		noFairness  = "! fairness is off"
		noPriority  = "! priorities and fairness have no effect"
		partitioned = "! task queues of lanes have several partitions: general (4), serial (4);"
	)
	for _, c := range []struct {
		name    string
		dynamic []string
		want    []string
	}{
		{"devserver", nil, []string{fair}},
		{"no fairness", []string{unfair},
			[]string{noFairness,
				"→ set in the server's dynamic configuration:\n" +
					"    matching.enableFairness:\n      - value: true\n"}},
		{"old matcher", []string{unfair, old},
			[]string{noPriority, "    matching.useNewMatcher:\n      - value: true"}},
		{"partitions", divided, []string{fair, partitioned,
			"for these task queues or for all:\n" +
				"    matching.numTaskqueueReadPartitions:\n      - value: 1\n" +
				"    matching.numTaskqueueWritePartitions:\n      - value: 1"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			server := testserver.NewServer(t, dynamic(c.dynamic...)...)
			var out bytes.Buffer
			code := operateProgram.Run(t.Context(), []string{"doctor", "--address", server.Address,
				"--namespace", "default"}, cli.Stdio{Out: &out, Err: &out})
			if code != cli.ExitFailed { // no worker serves the lanes of this server
				t.Errorf("exit code %d", code)
			}
			for _, mark := range []string{fair, noFairness, noPriority, partitioned} {
				if wanted := slices.Contains(c.want, mark); strings.Contains(out.String(),
					mark) != wanted {
					t.Errorf("%q is printed: %t, want %t", mark, !wanted, wanted)
				}
			}
			for _, want := range c.want {
				if !strings.Contains(out.String(), want) {
					t.Errorf("%q is not printed", want)
				}
			}
			if t.Failed() {
				t.Log(out.String())
			}
			gone(t, server, "")
		})
	}
}

// gone waits until the server finds no workflow for a query.
func gone(t *testing.T, server *testserver.Server, query string) {
	t.Helper()
	deadline, tick := time.After(30*time.Second), time.NewTicker(20*time.Millisecond)
	defer tick.Stop()
	for {
		answer, err := server.Client.CountWorkflow(context.Background(),
			&workflowservice.CountWorkflowExecutionsRequest{Query: query})
		if err != nil {
			t.Fatal(err)
		}
		if answer.GetCount() == 0 {
			return
		}
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("%d workflows are left", answer.GetCount())
		}
	}
}

// Workflows that were started for it are ended.
func TestDoctor_ReportsThatOrderCannotBeMeasured(t *testing.T) {
	server := testserver.NewServer(t)
	d := &doctor{app: &cli.App{}, client: server.Client, namespace: "nowhere"}
	findings, err := d.order(t.Context())
	if err != nil || len(findings) != 1 || findings[0].Mark != markWarn ||
		!strings.Contains(findings[0].Text, "could not be measured") {
		t.Errorf("got %+v, %v", findings, err)
	}
	gone(t, server, "ExecutionStatus = 'Running'")
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := d.order(ended); err == nil {
		t.Error("an ended context is no error")
	}
}
