package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/switchyard/switchyard/api"
)

// TestWorkerCommand proves that a command that starts a worker calls the one beside starter where there is one, and has it reach the
// same server.
func TestWorkerCommand(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, workerName), nil, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		flags       connectionFlags
		queue, lane string
		want        string
	}{
		{connectionFlags{}, api.DefaultTaskQueue, "", "worker"},
		{connectionFlags{}, "two words", "gpu", "worker --lanes gpu --task-queue 'two words'"},
		{connectionFlags{program: dir + "/starter", address: "a:1", namespace: "n"}, "q", "", dir + "/worker --task-queue q --address a:1 --namespace n"},
		{connectionFlags{program: "nowhere/starter", profile: "p", configFile: "f.toml"}, "q", "", "TEMPORAL_CONFIG_FILE=f.toml worker --task-queue q --profile p"},
	} {
		if got := c.flags.reach().workerCommand(c.queue, c.lane); got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
	t.Chdir(dir)
	if got := (&connectionFlags{program: "./starter"}).reach().workerCommand("", ""); got != "./worker" {
		t.Errorf("got %q", got)
	}
}

// TestAllResults proves that the report of a dry run's plan tells the results of all calls, in their order, and that of a conversation's
// run what it goes on from.
func TestAllResults(t *testing.T) {
	r := report{id: "d-plan", each: true, end: api.Event{Result: &api.RunResult{Outcome: api.OutcomeCompleted, Output: []byte(`{"b":2}`)},
		Continues: &api.ContinuedRun{WorkflowID: "d", RunID: "r"}},
		records: []api.Record{{CallID: "b", Result: &api.Result{Output: []byte(`"one"`)}}, {CallID: "a", Result: &api.Result{Output: []byte(`2`)}}}}
	text := r.text(palette{})
	for _, want := range []string{"{\n  \"b\": \"one\",\n  \"a\": 2\n}\n", "\nafter     starter show d --run-id r\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
	r.records = []api.Record{{CallID: "a", Error: &api.Error{}}}
	if text := r.text(palette{}); strings.Contains(text, "{}") {
		t.Errorf("where no call has a result it says\n%s", text)
	}
}
