package host

import (
	"flag"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/switchyard/switchyard/internal/buildinfo"
)

var updateMetrics = flag.Bool("update-metrics", false, "write the tables of docs/metrics.md")

// metricDoc is what a metric is described with when it is registered.
type metricDoc struct{ help, kind, labels string }

// recorder records every registered metric by its name.
type recorder struct {
	prometheus.Registerer
	metrics map[string]metricDoc
}

var described = regexp.MustCompile(
	`fqName: "([^"]*)", help: "((?:[^"\\]|\\.)*)".*variableLabels: \{([^}]*)\}`)

func (r *recorder) Register(c prometheus.Collector) error {
	descriptions := make(chan *prometheus.Desc, 50)
	c.Describe(descriptions)
	close(descriptions)
	for d := range descriptions {
		found := described.FindStringSubmatch(d.String())
		if found == nil {
			continue
		}
		m := metricDoc{help: found[2], kind: "gauge", labels: found[3]}
		if _, histogram := c.(*prometheus.HistogramVec); histogram {
			m.kind = "histogram"
		} else if strings.HasSuffix(found[1], "_total") {
			m.kind = "counter"
		}
		r.metrics[found[1]] = m
	}
	return nil
}

func (r *recorder) MustRegister(all ...prometheus.Collector) {
	for _, c := range all {
		_ = r.Register(c) // it gives none
	}
}

// ownMetrics returns all metrics of a worker by name.
func ownMetrics(t *testing.T) map[string]metricDoc {
	t.Helper()
	r := &recorder{metrics: map[string]metricDoc{}}
	newObserver(r, slog.New(slog.DiscardHandler))
	observeLanes(func() map[string]laneSample { return nil }, r)
	observeInstances(nil, r)
	r.MustRegister(newOpenRuns(nil, "", nil))
	observeBuild(buildinfo.Info{}, r)
	observeReadiness(func() bool { return true }, func() []string { return nil }, r)
	c := Config{Tools: t.TempDir(), Logger: slog.New(slog.DiscardHandler)}.withDefaults()
	_, tools, err := c.prepare()
	if err != nil {
		t.Fatal(err)
	}
	defer tools.Close()
	c.observeCatalog(tools, r)
	if len(r.metrics) < 40 {
		t.Fatalf("%d metrics", len(r.metrics))
	}
	return r.metrics
}

var (
	metricName = regexp.MustCompile(`\bswitchyard_[a-z0-9_]+`)
	ofSeries   = regexp.MustCompile(`_(bucket|sum|count)$`)
)

// metricGroups are the sections of docs/metrics.md. The last one has all other metrics.
var metricGroups = []struct {
	title string
	names *regexp.Regexp
}{
	{"Runs", regexp.MustCompile(`^switchyard_(runs?|limits)_`)},
	{"Calls", regexp.MustCompile(`^switchyard_(slow_)?calls?_`)},
	{"Lanes", regexp.MustCompile(`^switchyard_lane_`)},
	{"Models", regexp.MustCompile(`^switchyard_(cost|model|tokens)_`)},
	{"People, rules, hooks", regexp.MustCompile(
		`^switchyard_(approvals?|hooks|policy|questions)_`)},
	{"Workers", regexp.MustCompile(``)},
}

// metricTables returns the sections of docs/metrics.md about metrics.
func metricTables(metrics map[string]metricDoc) string {
	var b strings.Builder
	left := slices.Sorted(maps.Keys(metrics))
	for _, group := range metricGroups {
		fmt.Fprintf(&b, "## %s\n\n| metric | type | labels | description |\n"+
			"| --- | --- | --- | --- |\n", group.title)
		left = slices.DeleteFunc(left, func(name string) bool {
			if !group.names.MatchString(name) {
				return false
			}
			m, labels := metrics[name], ""
			if m.labels != "" {
				labels = "`" + strings.ReplaceAll(m.labels, ",", "`, `") + "` "
			}
			fmt.Fprintf(&b, "| `%s` | %s | %s| %s |\n", name, m.kind, labels, m.help)
			return true
		})
		b.WriteString("\n")
	}
	return b.String()
}

// The tables of docs/metrics.md are generated from the metrics that a worker registers.
//
//	go test ./worker/host -run TestMetricsPage -update-metrics
func TestMetricsPage_IsFresh(t *testing.T) {
	const page, begin, end = "../../docs/metrics.md", "<!-- generated -->\n\n", "<!-- end -->\n"
	data, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, begins := strings.Cut(string(data), begin)
	_, after, ends := strings.Cut(rest, end)
	if !begins || !ends {
		t.Fatalf("%s has no place for the tables", page)
	}
	want := before + begin + metricTables(ownMetrics(t)) + end + after
	if *updateMetrics {
		if err := os.WriteFile(page, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if string(data) != want {
		t.Errorf("%s is stale: run go test ./worker/host -run TestMetricsPage -update-metrics", page)
	}
}

func TestMetrics_HaveHelp(t *testing.T) {
	for name, m := range ownMetrics(t) {
		if !strings.HasSuffix(m.help, ".") || len(m.help) < 20 {
			t.Errorf("%s: the help is %q", name, m.help)
		}
	}
}

func TestDeployments_UseExistingMetrics(t *testing.T) {
	own := ownMetrics(t)
	files, err := filepath.Glob("../../deploy/*/*.*")
	if err != nil || len(files) < 4 {
		t.Fatalf("%v, %v", files, err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, at := range metricName.FindAllStringIndex(string(data), -1) {
			name := string(data[at[0]:at[1]])
			if rest := string(data[at[1]:]); strings.HasPrefix(rest, ":") || at[0] > 0 &&
				data[at[0]-1] == ':' {
				continue // a recorded series; promtool knows those
			}
			if _, known := own[ofSeries.ReplaceAllString(name, "")]; !known {
				if _, known := own[name]; !known {
					t.Errorf("%s names %s", file, name)
				}
			}
		}
	}
}

func TestPrometheusRules_PassPromtool(t *testing.T) {
	promtool, err := exec.LookPath("promtool")
	if err != nil {
		t.Skip("promtool is missing: install Prometheus")
	}
	for _, arguments := range [][]string{{"check", "config", "prometheus.yaml"},
		{"test", "rules", "switchyard.rules.test.yaml"}} {
		cmd := exec.CommandContext(t.Context(), promtool, arguments...)
		cmd.Dir = "../../deploy/prometheus"
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("promtool %v: %v\n%s", arguments, err, out)
		}
	}
}
