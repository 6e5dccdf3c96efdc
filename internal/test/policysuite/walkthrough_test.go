package policysuite

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/switchyard/switchyard/internal/test/testserver"
)

// commandsOf returns the commands of a page, in order, joined where they are continued.
func commandsOf(t *testing.T, page string) (commands []string) {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range strings.Split(strings.ReplaceAll(string(text), "\\\n  ", ""), "\n") {
		if strings.HasPrefix(line, "bin/starter ") {
			commands = append(commands, line)
		}
	}
	return commands
}

// walk is a reader of the page, with a folder in which its commands find programs and examples.
type walk struct {
	t       *testing.T
	ctx     context.Context
	dir     string
	address string
}

// The commands of the walk-through work as typed and print what it says. Its dev commands are
// replaced by a server and a worker with the same flags.
func TestWalkThrough_WorksAsTyped(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	w := &walk{t: t, ctx: ctx, dir: t.TempDir()}
	for link, target := range map[string]string{"bin": filepath.Dir(testserver.Bin(t, "starter")),
		"examples": root + "/examples"} {
		target, err := filepath.Abs(target)
		if err == nil {
			err = os.Symlink(target, filepath.Join(w.dir, link))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	var outputs strings.Builder
	for _, command := range commandsOf(t, root+"/docs/policies.md") {
		if flags, dev := strings.CutPrefix(command, "bin/starter dev "); dev {
			w.serve(strings.Fields(flags))
			continue
		}
		outputs.WriteString("$ " + command + "\n" + w.run(command) + "\n")
	}
	got := outputs.String()
	for _, want := range []string{"forwarded: done", "no rule matched the call",
		"tool send_mail has effects outside", "2 decided as before, 0 otherwise",
		"no faults", "31 cases, all passed", "1 decided as before, 0 otherwise, 1 undecided",
		"2.1 · forward_mail", "is denied by",
		"ask sends: check the recipient and the text"} {
		if !strings.Contains(got, want) {
			t.Errorf("no command prints %q:\n%s", want, got)
		}
	}
}

// serve starts a server and a worker with the flags of a dev command.
func (w *walk) serve(flags []string) {
	server := testserver.NewServer(w.t)
	w.address = server.Address
	for i, flag := range flags {
		if strings.HasPrefix(flag, "examples/") {
			flags[i] = filepath.Join(w.dir, flag)
		}
	}
	var ready struct{}
	testserver.Start(w.t, &ready, nil, testserver.Bin(w.t, "worker"),
		append([]string{"--address", w.address, "--dir", w.dir}, flags...)...)
}

// run runs a command until it succeeds: a detached run needs a moment to reach its approval.
func (w *walk) run(command string) string {
	for {
		cmd := exec.CommandContext(w.ctx, "sh", "-c", command)
		cmd.Dir, cmd.Env = w.dir, append(os.Environ(), "TEMPORAL_ADDRESS="+w.address)
		out, err := cmd.CombinedOutput()
		listed := !strings.HasSuffix(command, " approvals") || strings.Contains(string(out), "2.1")
		if err == nil && listed {
			return string(out)
		}
		select {
		case <-w.ctx.Done():
			w.t.Fatalf("%s: %v\n%s", command, err, out)
		case <-time.After(time.Second):
		}
	}
}
