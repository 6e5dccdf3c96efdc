package catalog

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/workerreport"
	"github.com/switchyard/switchyard/starter/cli"
)

// newReport returns a report of workers with tools, given as name@version. A worker without tools
// did not answer.
func newReport(workers map[string]string, order ...string) workerreport.Report {
	r := workerreport.Report{Catalogs: map[string][]workerreport.ToolVersion{}}
	for _, worker := range order {
		w := workerreport.Catalog{Worker: worker, Digest: workers[worker]}
		if w.Digest == "" {
			w.Failure = "it did not answer"
			r.Workers = append(r.Workers, w)
			continue
		}
		var tools []workerreport.ToolVersion
		for tool := range strings.FieldsSeq(workers[worker]) {
			name, version, _ := strings.Cut(tool, "@")
			tools = append(tools, workerreport.ToolVersion{Name: name, Version: version,
				Digest: "digest of " + tool})
		}
		w.Tools, r.Catalogs[w.Digest] = len(tools), tools
		r.Workers = append(r.Workers, w)
	}
	return r
}

// Tools that differ between workers are listed with the version of each worker.
func TestToolsOfWorkers_DifferencesAreFound(t *testing.T) {
	report := newReport(map[string]string{"1@a": "echo@1.0.0 greet@1.0.0",
		"2@b": "echo@1.0.0 greet@2.0.0 own@1.0.0", "3@c": "", "4@d": "echo@1.0.0 greet@1.0.0"},
		"1@a", "2@b", "3@c", "4@d")
	report.Workers[1].Error = "wrong.yaml:1:1: it is wrong"
	report.Workers[1].Mode = api.ModeLenient
	report.Workers = append(report.Workers, workerreport.Catalog{Worker: "5@e", Digest: "left out",
		Tools: 9})
	found := compareTools(report)
	got, err := json.Marshal(found.Differences)
	want := `[{"tool":"greet","versions":[{"version":"1.0.0","digest":"digest of greet@1.0.0","workers":["1@a","4@d"]},{"version":"2.0.0","digest":"digest of greet@2.0.0","workers":["2@b"]}]},` +
		`{"tool":"own","versions":[{"missing":true,"workers":["1@a","4@d"]},{"version":"1.0.0","digest":"digest of own@1.0.0","workers":["2@b"]}]}]`
	if err != nil || string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	var out bytes.Buffer
	a := &cli.App{Stdio: cli.Stdio{Out: &out, Err: &out}, Format: cli.Format{Color: cli.ColorNever}}
	if err := printWorkerTools(a, found, "switchyard"); err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"3@c     no answer", "! 3@c: it did not answer",
		"! 2@b: its folder has faults; the earlier tools stay in effect:\n    wrong.yaml:1:1: it is wrong",
		"! 5@e: it has too many tools to list", "! some workers validate arguments strictly",
		"greet    1.0.0    digest of greet@1.0.0  1@a, 4@d",
		"         2.0.0    digest of greet@2.0.0  2@b",
		"own      missing                         1@a, 4@d"} {
		if !strings.Contains(out.String(), line) {
			t.Errorf("lacks %q:\n%s", line, out.String())
		}
	}
	out.Reset()
	if err := printWorkerTools(a, workerTools{}, "deserted"); err != nil ||
		!strings.Contains(out.String(), "start one: worker --lanes general --task-queue deserted") {
		t.Errorf("got %q, %v", out.String(), err)
	}
}
