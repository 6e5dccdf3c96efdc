package cli

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/spf13/pflag"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/connection"
)

// connected returns the connection of a command line of starter in another folder.
func connected(t *testing.T, args ...string) Connection {
	t.Helper()
	c := Connection{program: "nowhere/starter"}
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	c.add(flags)
	if err := flags.Parse(args); err != nil {
		t.Fatal(err)
	}
	return c
}

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
		{Connection{program: dir + "/starter", Flags: connection.Flags{Address: "a:1",
			Namespace: "n"}}, "q", "", dir + "/worker --task-queue q --address a:1 --namespace n"},
		{connected(t, "--profile", "p", "--config-file", "f.toml", "--tls-ca-path", "ca.pem",
			"--api-key", "secret"), "q", "",
			"worker --task-queue q --profile p --config-file f.toml --tls-ca-path ca.pem"},
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
