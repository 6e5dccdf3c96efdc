package host

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/switchyard/switchyard/internal/core/workerreport"
	"github.com/switchyard/switchyard/tool"
	"github.com/switchyard/switchyard/toolspecs"
	"github.com/switchyard/switchyard/toolspecs/folder"
)

// probeFile writes a toolspec for the function probe, with one parameter, in one step, so that a
// watcher never reads a part of it.
func probeFile(t *testing.T, dir, version, parameter string) {
	t.Helper()
	path := filepath.Join(dir, "probe.yaml")
	text := fmt.Sprintf("name: probe\nversion: %s\ndescription: Probes.\nparameters: [{name: %s, "+
		"type: string, required: true}]\nentry: {type: function}\n", version, parameter)
	if err := errors.Join(os.WriteFile(path+".new", []byte(text), 0o600), os.Rename(path+".new",
		path)); err != nil {
		t.Fatal(err)
	}
}

func lister() toolspecs.Spec {
	return toolspecs.Spec{Name: "lister", Version: "1.0.0", Description: "Lists.",
		Entry: toolspecs.Entry{Kind: toolspecs.CommandEntry{Argv: []string{"ls"}}}}
}

// awaitLog waits until the log contains a text.
func awaitLog(t *testing.T, log *output, text string) {
	t.Helper()
	deadline, tick := time.After(30*time.Second), time.NewTicker(5*time.Millisecond)
	defer tick.Stop()
	for !strings.Contains(log.String(), text) {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("the log never says %q: %s", text, log)
		}
	}
}

// awaitEvent returns the next catalog event of a type; those before it are dropped.
func awaitEvent(t *testing.T, events <-chan folder.CatalogEvent,
	kind folder.CatalogEventType) folder.CatalogEvent {
	t.Helper()
	for {
		select {
		case e := <-events:
			if e.Type == kind {
				return e
			}
		case <-time.After(30 * time.Second):
			t.Fatalf("no %s", kind)
		}
	}
}

func TestUnfit_ReportsAKindWithoutExecutor(t *testing.T) {
	compiled, err := lister().Compile()
	if err != nil {
		t.Fatal(err)
	}
	r, err := Config{}.register()
	if err != nil {
		t.Fatal(err)
	}
	if faults := unfit(compiled, r); len(faults) > 0 {
		t.Errorf("with the executor: %q", faults)
	}
	delete(r.executors, toolspecs.KindCommand)
	if faults := unfit(compiled, r); len(faults) != 1 {
		t.Errorf("without the executor: %q", faults)
	}
}

func TestCatalog_ReloadsValidEditsAndRejectsInvalidOnes(t *testing.T) {
	dir := t.TempDir()
	probeFile(t, dir, "1.0.0", "path")
	events := make(chan folder.CatalogEvent, 1000)
	var logs output
	c := Config{Tools: dir, Functions: []tool.Function{tool.NewFunction("probe",
		probe)}, ReloadInterval: 50 * time.Millisecond,
		OnCatalogEvent: func(e folder.CatalogEvent) {
			events <- e
		}, Specs: []toolspecs.Spec{lister()},
		Logger: slog.New(slog.NewTextHandler(&logs,
			&slog.HandlerOptions{Level: slog.LevelDebug}))}.withDefaults()
	_, tools, err := c.prepare()
	if err != nil {
		t.Fatal(err)
	}
	defer tools.Close()
	registry := prometheus.NewRegistry()
	c.observeCatalog(tools, registry)
	if e := awaitEvent(t, events, folder.ToolLoaded); e.Tool != "lister" {
		t.Errorf("got %+v", e)
	}
	probeFile(t, dir, "2.0.0", "path")
	if e := awaitEvent(t, events, folder.ToolUpdated); e.Tool != "probe" ||
		e.Version != "2.0.0" || e.OldVersion != "1.0.0" {
		t.Errorf("got %+v", e)
	}
	probeFile(t, dir, "3.0.0", "file")
	if e := awaitEvent(t, events, folder.LoadError); !contains(e.Error.Error(),
		filepath.Join(dir, "probe.yaml")+":1:7", "file") {
		t.Errorf("got %v", e.Error)
	}
	awaitEvent(t, events, folder.ReloadCompleted)
	hosted, ok := tools.Catalog().Get("probe")
	if !ok || hosted.Spec.Version != "2.0.0" {
		t.Errorf("the worker holds %+v", hosted)
	}
	a, err := c.catalogAnswer(tools.Status(), []string{"general"})
	if err != nil || a.Worker != c.Connection.Identity || a.Digest != tools.Catalog().Digest() ||
		a.Catalog.Tools != 2 || a.Loaded.IsZero() ||
		!contains(a.Error, "probe.yaml", "file") || !slices.Contains(a.ToolVersions.Value,
		workerreport.ToolVersion{Name: "probe", Version: "2.0.0", Digest: hosted.Digest}) {
		t.Errorf("it answers %+v, %v", a, err)
	}
	awaitLog(t, &logs, "faulty=1") // of the last event, which is counted by then
	serve(t, registry).has(t,
		`switchyard_catalog_events_total{type="tool_loaded"} 2`,
		`switchyard_catalog_events_total{type="tool_updated"} 1`,
		`switchyard_catalog_events_total{type="tool_added"} 0`,
		`switchyard_catalog_events_total{type="load_error"} 1`,
		`switchyard_catalog_tools 2`,
		`switchyard_catalog_faulty_files 1`,
	)
	if !contains(logs.String(), `msg="tool updated" tool=probe version=2.0.0`, "old_version=1.0.0",
		`level=ERROR msg="load error"`, "level=DEBUG msg=\"tool loaded\" tool=lister") {
		t.Errorf("the log is %s", logs.String())
	}
}

func TestRun_ReportsTheFaultsOfAllFiles(t *testing.T) {
	dir := t.TempDir()
	files := map[string]string{"lanes.yaml": "lanes:\n  gpu: {limit: 0}\n",
		"rules.yaml":   "policies: [{name: a, when: tol, then: deny, message: No.}]\n",
		"tools/a.yaml": "name: a\n", "tools/b.yaml": "name: b\nversion: 1.0.0\ndescription: " +
			"B.\nentry: {type: command, argv: [ls]}\nexecution: {lane: gpu}\n"}
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c := Config{Tools: filepath.Join(dir, "tools"), LanesFile: filepath.Join(dir, "lanes.yaml"),
		PoliciesFile: filepath.Join(dir, "rules.yaml"),
		Logger:       slog.New(slog.DiscardHandler)}.withDefaults()
	_, _, err := c.prepare()
	if err == nil || !contains(err.Error(), "lanes.yaml:2:", "rules.yaml:1:",
		"a.yaml:1:1: version is missing") || strings.Contains(err.Error(), "b.yaml") {
		t.Errorf("it says %v", err)
	}
	c.SkipInvalid, c.LanesFile, c.PoliciesFile, c.Lanes = true, "", "", []string{"gpu"}
	own, tools, err := c.prepare()
	if err != nil {
		t.Fatal(err)
	}
	defer own.close()
	defer tools.Close()
	if _, ok := tools.Catalog().Get("b"); !ok || len(tools.Status().Faults) != 1 {
		t.Errorf("it holds %v, and wrong is %v", listToolNames(tools.Catalog()), tools.Status().Faults)
	}
}
