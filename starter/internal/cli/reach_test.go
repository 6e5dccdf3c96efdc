package cli

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/switchyard/switchyard/api"
)

// The command uses the worker beside starter if there is one.
func TestWorkerCommand_ReachesTheSameServer(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, workerName), nil, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		flags       Connection
		queue, lane string
		want        string
	}{
		{Connection{}, api.DefaultTaskQueue, "", "worker"},
		{Connection{}, "two words", "gpu", "worker --lanes gpu --task-queue 'two words'"},
		{Connection{program: dir + "/starter", address: "a:1", namespace: "n"}, "q", "", dir +
			"/worker --task-queue q --address a:1 --namespace n"},
		{Connection{program: "nowhere/starter", profile: "p", configFile: "f.toml"}, "q", "",
			"TEMPORAL_CONFIG_FILE=f.toml worker --task-queue q --profile p"},
	} {
		if got := c.flags.Invocation().WorkerCommand(c.queue, c.lane); got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
	t.Chdir(dir)
	if got := (&Connection{program: "./starter"}).Invocation().WorkerCommand("",
		""); got != "./worker" {
		t.Errorf("got %q", got)
	}
}
