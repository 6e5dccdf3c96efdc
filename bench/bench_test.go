package main

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/switchyard/switchyard/internal/test/testserver"
)

// TestMain is the bench's own MCP server or worker where the bench starts one.
func TestMain(m *testing.M) {
	if code, serves := runAsChild(); serves {
		os.Exit(code)
	}
	os.Exit(m.Run())
}

// TestFigures proves that the bench measures what it says on a real server: sizes and events are
// exact there, and both sides of a ratio of times ran.
func TestFigures(t *testing.T) {
	l, err := newLab(t.Context(), filepath.Dir(testserver.Bin(t, "devserver")))
	if err != nil {
		t.Fatal(err)
	}
	defer l.close()
	l.pairs, l.keys, l.runs = 1, 20, 10
	for _, measure := range []func() (map[string]float64, error){
		func() (map[string]float64, error) { return measureTurns(t.Context(), l) },
		func() (map[string]float64, error) { return measurePipeline(t.Context(), l) },
		func() (map[string]float64, error) { return measureGrowth(t.Context(), l) },
		func() (map[string]float64, error) { return measureStep(t.Context(), l) },
		func() (map[string]float64, error) { return gatewayCalls(t.Context(), l, 3) },
		func() (map[string]float64, error) {
			return measureCallRates(t.Context(), l, 2, time.Second)
		},
		func() (map[string]float64, error) {
			rate, err := sessionRate(t.Context(), l, 20, 5)
			return map[string]float64{"session_calls_per_s": rate}, err
		},
		func() (map[string]float64, error) { return measurePolicies(t.Context(), l) },
		func() (map[string]float64, error) { return l.ledgerCalls(t.Context(), 20) },
		func() (map[string]float64, error) { return measureLedgerRecovery(t.Context(), l) },
		func() (map[string]float64, error) { return measureFanout(t.Context(), l) },
		func() (map[string]float64, error) { return measureLimited(t.Context(), l) },
		func() (map[string]float64, error) { return measureInline(t.Context(), l) },
		func() (map[string]float64, error) { return measureThroughput(t.Context(), l) },
		func() (map[string]float64, error) { return measureKeyed(t.Context(), l) },
		func() (map[string]float64, error) { return measureResume(t.Context(), l) },
		func() (map[string]float64, error) { return l.idleLanes(t.Context(), 2, 2, time.Second) },
		func() (map[string]float64, error) {
			return l.idleInstances(t.Context(), 5, 0, time.Second)
		},
		func() (map[string]float64, error) { return l.pipelineMemory(t.Context(), 50) },
		func() (map[string]float64, error) { return loadMemory(t.Context(), l, 5) },
		func() (map[string]float64, error) { return l.records(t.Context(), 4) },
	} {
		values, err := measure()
		if errors.Is(err, errMissingInput) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range figures {
			value, measured := values[f.name]
			if measured && (value <= 0 && !isRest(f.name) || isSize(f.name) && value > f.limit) {
				t.Errorf("%s is %v, want more than 0 and at most %v", f.name, value, f.limit)
			}
		}
	}
}

// isSize says that a figure does not depend on how busy the machine is.
func isSize(name string) bool {
	return name == "history_growth_ratio" || name == "open_keys_pollers"
}

// isRest says that a figure is what is left when others are taken away: noise makes it anything.
func isRest(name string) bool {
	return name == "pipeline_memory_ratio" || name == "open_keys_mb"
}

// TestResultsAreKept proves that measuring one figure keeps the others in the file.
func TestResultsAreKept(t *testing.T) {
	path := filepath.Join(t.TempDir(), "results.json")
	for _, values := range []map[string]float64{{"a": 1, "b": 2}, {"b": 3}} {
		if err := write(path, values); err != nil {
			t.Fatal(err)
		}
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]float64
	if err := json.Unmarshal(data, &got); err != nil || got["a"] != 1 || got["b"] != 3 {
		t.Errorf("the file holds %s, %v", data, err)
	}
	if err := run(t.Context(), "no_such_figure", path, ""); err == nil {
		t.Error("an unknown figure was measured")
	}
}

func TestPerformancePage_ListsEveryFigureWithItsLimit(t *testing.T) {
	data, err := os.ReadFile("../docs/dev/performance.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := regexp.MustCompile("(?m)^\\| `([a-z_]+)` \\|[^|]*\\| ((?:at least " +
		")?)([0-9.,]+)[^|]*\\|$")
	listed := map[string]string{}
	for _, row := range rows.FindAllStringSubmatch(string(data), -1) {
		limit, err := strconv.ParseFloat(strings.ReplaceAll(row[3], ",", ""), 64)
		if err != nil {
			t.Fatal(err)
		}
		listed[row[1]] = row[2] + strconv.FormatFloat(limit, 'f', -1, 64)
	}
	for _, f := range figures {
		if listed[f.name] != f.bound() {
			t.Errorf("docs/dev/performance.md: %s has the limit %q, want %q", f.name, listed[f.name],
				f.bound())
		}
	}
	if len(listed) != len(figures) {
		t.Errorf("docs/dev/performance.md lists %d figures, want %d", len(listed), len(figures))
	}
}

func TestPrint_WritesATableAndReportsMissedLimits(t *testing.T) {
	var out, complaints strings.Builder
	print(&out, &complaints, []figure{{name: "a", limit: 1.1}, {name: "records_per_s", limit: 20_000}},
		map[string]float64{"a": 1.2345, "records_per_s": 53211.6})
	want := "| figure | measured | limit |\n| --- | --- | --- |\n| `a` | 1.23 | 1.1 |\n" +
		"| `records_per_s` | 53212 | at least 20000 |\n"
	if out.String() != want || !strings.HasPrefix(complaints.String(),
		"MISSED a: 1.23, limit 1.1") {
		t.Errorf("got %s%s", out.String(), complaints.String())
	}
}
