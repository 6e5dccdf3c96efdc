package catalog

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/workerreport"
	"github.com/switchyard/switchyard/starter/cli"
	"github.com/switchyard/switchyard/starter/internal/specfiles"
	"github.com/switchyard/switchyard/toolspecs"
	"github.com/switchyard/switchyard/toolspecs/folder"
)

const greetSpec = "name: greet\nversion: 2.0.0\ndescription: Greets.\nentry: {type: command, argv: [echo]}\n"

// reportOf returns a report of workers with tools, given as name@version. A worker without tools
// did not answer.
func reportOf(t *testing.T, workers map[string]string, order ...string) workerreport.Report {
	t.Helper()
	r := workerreport.Report{Catalogs: map[string]json.RawMessage{}}
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
		data, err := json.Marshal(tools)
		if err != nil {
			t.Fatal(err)
		}
		w.Tools, r.Catalogs[w.Digest] = len(tools), data
		r.Workers = append(r.Workers, w)
	}
	return r
}

// Tools that differ between workers are listed with the version of each worker. Tools in the folder
// that a worker lacks count; tools that the folder lacks do not.
func TestToolsOfWorkers_DifferencesAreFound(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "greet.yaml"), []byte(greetSpec), 0o600); err != nil {
		t.Fatal(err)
	}
	folder, err := folder.Load(dir, toolspecs.Options{})
	if err != nil {
		t.Fatal(err)
	}
	greet := folder.All()[0].Digest
	report := reportOf(t, map[string]string{"1@a": "echo@1.0.0 greet@1.0.0",
		"2@b": "echo@1.0.0 greet@2.0.0 own@1.0.0", "3@c": "", "4@d": "echo@1.0.0 greet@1.0.0"},
		"1@a", "2@b", "3@c", "4@d")
	report.Workers[1].Error = "wrong.yaml:1:1: it is wrong"
	report.Workers[1].Mode = api.ModeLenient
	report.Workers = append(report.Workers, workerreport.Catalog{Worker: "5@e", Digest: "left out",
		Tools: 9})
	found, err := compareTools((&specfiles.Flags{}), report, nil)
	if err != nil {
		t.Fatal(err)
	}
	got, err := json.Marshal(found.Differences)
	want := `[{"tool":"greet","versions":[{"version":"1.0.0","digest":"digest of greet@1.0.0","workers":["1@a","4@d"]},{"version":"2.0.0","digest":"digest of greet@2.0.0","workers":["2@b"]}]},` +
		`{"tool":"own","versions":[{"missing":true,"workers":["1@a","4@d"]},{"version":"1.0.0","digest":"digest of own@1.0.0","workers":["2@b"]}]}]`
	if err != nil || string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	var out bytes.Buffer
	a := &cli.App{Stdio: cli.Stdio{Out: &out, Err: &out}, Format: cli.Format{Color: cli.ColorNever}}
	if err := printWorkerTools(a, found, dir, "switchyard"); err != nil {
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
	found, err = compareTools((&specfiles.Flags{Dir: dir}),
		reportOf(t, map[string]string{"1@a": "echo@1.0.0"}, "1@a"), nil)
	if err != nil || len(found.Differences) != 1 || found.Differences[0].Tool != "greet" ||
		found.Differences[0].Versions[1].Digest != greet ||
		!found.Differences[0].Versions[1].Folder {
		t.Errorf("got %+v, %v", found.Differences, err)
	}
	wrong := toolspecs.Faults{{File: filepath.Join(dir, "greet.yaml"), Line: 1, Column: 1,
		Message: "version is missing"}}
	found, err = compareTools((&specfiles.Flags{Dir: dir}),
		reportOf(t, map[string]string{"1@a": "echo@1.0.0"}, "1@a"), wrong)
	if err != nil || len(found.Workers) != 1 || len(found.Differences) != 0 {
		t.Errorf("beside a wrong folder: got %+v, %v", found, err)
	}
	out.Reset()
	if err := printWorkerTools(a, found, dir, "switchyard"); err != nil ||
		!strings.Contains(out.String(), "1@a") || !strings.Contains(out.String(),
		"greet.yaml:1:1: version is missing") {
		t.Errorf("beside a wrong folder: got %q, %v", out.String(), err)
	}
	out.Reset()
	if err := printWorkerTools(a, workerTools{}, "", "deserted"); err != nil ||
		!strings.Contains(out.String(), "start one: worker --lanes general --task-queue deserted") {
		t.Errorf("got %q, %v", out.String(), err)
	}
	if _, err := compareTools((&specfiles.Flags{}),
		workerreport.Report{Workers: []workerreport.Catalog{{Digest: "x"}},
			Catalogs: map[string]json.RawMessage{"x": []byte("{")}}, nil); err == nil {
		t.Error("a catalog that cannot be read was read")
	}
}
