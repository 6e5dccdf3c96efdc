package host

import (
	"github.com/switchyard/switchyard/internal/buildinfo"

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
)

// recorder records the help text of every registered metric by its name.
type recorder struct {
	prometheus.Registerer
	help map[string]string
}

var described = regexp.MustCompile(`fqName: "([^"]*)", help: "((?:[^"\\]|\\.)*)"`)

func (r *recorder) Register(c prometheus.Collector) error {
	descriptions := make(chan *prometheus.Desc, 50)
	c.Describe(descriptions)
	close(descriptions)
	for d := range descriptions {
		if found := described.FindStringSubmatch(d.String()); found != nil {
			r.help[found[1]] = found[2]
		}
	}
	return nil
}

func (r *recorder) MustRegister(all ...prometheus.Collector) {
	for _, c := range all {
		_ = r.Register(c) // it gives none
	}
}

// ownMetrics returns all metrics of a worker by name, with their help.
func ownMetrics(t *testing.T) map[string]string {
	t.Helper()
	r := &recorder{help: map[string]string{}}
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
	if len(r.help) < 40 {
		t.Fatalf("%d metrics", len(r.help))
	}
	return r.help
}

var (
	metricRow  = regexp.MustCompile("(?m)^\\| `(switchyard_[a-z_]+)` \\|")
	metricName = regexp.MustCompile(`\bswitchyard_[a-z0-9_]+`)
	ofSeries   = regexp.MustCompile(`_(bucket|sum|count)$`)
)

func TestMetricsPage_ListsEveryMetricOnce(t *testing.T) {
	data, err := os.ReadFile("../../docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	var listed []string
	for _, row := range metricRow.FindAllStringSubmatch(string(data), -1) {
		listed = append(listed, row[1])
	}
	slices.Sort(listed)
	if own := slices.Sorted(maps.Keys(ownMetrics(t))); !slices.Equal(listed, own) {
		t.Errorf("docs/metrics.md lists\n%s\nand workers have\n%s", strings.Join(listed, "\n"),
			strings.Join(own, "\n"))
	}
}

func TestMetrics_HaveHelp(t *testing.T) {
	for name, help := range ownMetrics(t) {
		if !strings.HasSuffix(help, ".") || len(help) < 20 {
			t.Errorf("%s: the help is %q", name, help)
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
