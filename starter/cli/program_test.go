package cli

import (
	"bytes"
	"context"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/spf13/cobra"
)

// The first signal cancels a command's context. A command that hangs nevertheless ends with the
// second signal, whatever both are.
func TestProgram_EndsWithTheSecondSignal(t *testing.T) {
	for _, sent := range []os.Signal{os.Interrupt, syscall.SIGTERM} {
		interrupts, exited, hang := make(chan os.Signal, 3), make(chan int, 1), make(chan struct{})
		started := make(chan struct{})
		p := Program{Commands: []func(*App) []*cobra.Command{func(*App) []*cobra.Command {
			return []*cobra.Command{{Use: "hang", RunE: func(cmd *cobra.Command, _ []string) error {
				close(started)
				<-cmd.Context().Done()
				<-hang
				return nil
			}}}
		}}}
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			p.Run(context.Background(), []string{"hang"}, Stdio{Interrupts: interrupts,
				Exit: func(code int) { exited <- code }})
		}()
		<-started
		interrupts <- sent
		interrupts <- sent
		select {
		case code := <-exited:
			if code != ExitCancelled {
				t.Errorf("%v: exit code %d, want %d", sent, code, ExitCancelled)
			}
		case <-time.After(20 * time.Second):
			t.Errorf("%v: the second signal has no effect", sent)
		}
		close(hang)
		<-ended
	}
}

// A command that panics ends with one line and no stack.
func TestProgram_ReportsAPanicInOneLine(t *testing.T) {
	p := Program{Commands: []func(*App) []*cobra.Command{func(*App) []*cobra.Command {
		return []*cobra.Command{{Use: "fail", RunE: func(*cobra.Command, []string) error {
			panic("a foreign answer")
		}}}
	}}}
	var out, failed bytes.Buffer
	code := p.Run(context.Background(), []string{"fail"}, Stdio{Out: &out, Err: &failed})
	if want := "starter: " + errInside.Error() + "\n"; code != ExitUsage || failed.String() != want ||
		out.Len() > 0 {
		t.Errorf("exit code %d, %q, want %q", code, failed.String(), want)
	}
}
