package terminal

import (
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/switchyard/switchyard/audit"
	"github.com/switchyard/switchyard/starter/cli"
	"github.com/switchyard/switchyard/starter/clitest"
)

// endsWithin bounds a view that only has to print a few lines.
const endsWithin = time.Minute

// follow shows a run on a terminal. between is called before each event.
func follow(t *testing.T, terminal *os.File, between func(event int)) {
	t.Helper()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		v := NewLiveView(terminal, cli.Palette{}, cli.Invocation{})
		for i, e := range clitest.AgentRun() {
			between(i)
			if err := v.Event(e); err != nil {
				t.Error(err)
			}
			v.Pending([]audit.Running{{Kind: audit.KindStep, ID: "turn-1",
				State: audit.StateRunning, Since: clitest.Noon}})
		}
		v.Close()
	}()
	select {
	case <-ended:
	case <-time.After(endsWithin):
		t.Fatalf("the view has not ended after %s", endsWithin)
	}
}

func TestLiveView_EndsOnTerminalsOfAnySize(t *testing.T) {
	for _, size := range []struct{ width, height int }{{0, 0}, {0, 24}, {80, 0}, {1, 1}, {19, 3},
		{20, 4}, {80, 24}} {
		terminal, written := clitest.PTY(t, size.width, size.height)
		follow(t, terminal, func(int) {})
		text := strings.Join(strings.Fields(ansi.Strip(written())), " ")
		for _, want := range []string{"run demo-1", "1.1 list"} {
			if !strings.Contains(text, want) {
				t.Errorf("%dx%d: %q is missing in %q", size.width, size.height, want, text)
			}
		}
	}
}

// The library asks for the size again after SIGWINCH.
func TestLiveView_EndsOnATerminalThatLosesItsSize(t *testing.T) {
	for _, size := range []struct{ width, height int }{{0, 0}, {0, 24}, {1, 1}} {
		terminal, written := clitest.PTY(t, 80, 24)
		follow(t, terminal, func(event int) {
			if event != 4 {
				return
			}
			clitest.Resize(t, terminal, size.width, size.height)
			if err := syscall.Kill(os.Getpid(), syscall.SIGWINCH); err != nil {
				t.Error(err)
			}
		})
		written()
	}
}
