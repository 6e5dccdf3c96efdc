package runs

import (
	"strings"
	"testing"

	"github.com/switchyard/switchyard/starter/internal/cli"
	"github.com/switchyard/switchyard/starter/internal/clitest"
)

// On a terminal nothing is deleted without a confirmation. Elsewhere, and with --yes, the
// command does not ask: it continues and finds no server.
func TestScheduleDelete_AsksOnATerminalOnly(t *testing.T) {
	t.Setenv("TEMPORAL_ADDRESS", "127.0.0.1:1")
	for _, c := range []struct {
		name, answer string
		yes          bool
		code         int
		asked        bool
	}{
		{name: "no", answer: "n\n", code: cli.ExitCancelled, asked: true},
		{name: "nothing", answer: "\n", code: cli.ExitCancelled, asked: true},
		{name: "yes", answer: "yes\n", code: noServer, asked: true},
		{name: "--yes", yes: true, code: noServer},
	} {
		in := clitest.Typed(t, c.answer)
		args := []string{"schedule", "delete", "nightly"}
		if c.yes {
			args = append(args, "--yes")
		}
		var out, errs strings.Builder
		code := runsProgram.Run(t.Context(), args, cli.Stdio{In: in, Out: &out, Err: &errs})
		asked := strings.HasPrefix(errs.String(), `Delete the schedule "nightly"? [y/N] `)
		if code != c.code || asked != c.asked {
			t.Errorf("%s: exit code %d, want %d; asked: %t; %s", c.name, code, c.code, asked,
				errs.String())
		}
	}
	var out, errs strings.Builder
	if code := runsProgram.Run(t.Context(), []string{"schedule", "delete", "nightly"}, cli.Stdio{
		In: strings.NewReader(""), Out: &out, Err: &errs}); code != noServer {
		t.Errorf("without a terminal: exit code %d, %s", code, errs.String())
	}
}

// noServer is the exit code of a command that reaches no server.
const noServer = 4
