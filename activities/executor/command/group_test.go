//go:build unix

package command

import (
	"context"
	"errors"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/switchyard/switchyard/internal/test/expect"
	"github.com/switchyard/switchyard/internal/value/jsonvalue"
	"github.com/switchyard/switchyard/toolspecs"
)

// When a call is cancelled or times out, the program and every process that it started end, with
// SIGTERM or SIGKILL, and the error has the reason.
func TestCommandCancel_EndsTheProcessGroup(t *testing.T) {
	reason := errors.New("the run was cancelled")
	for name, script := range map[string]string{
		"ends when asked":       `echo $$ >>"$1"; sleep 1000 & echo $! >>"$1"; wait`,
		"ignores being asked":   `trap '' TERM; echo $$ >>"$1"; sleep 1000 & echo $! >>"$1"; while :; do wait; done`,
		"a child of a child":    `echo $$ >>"$1"; sh -c 'sleep 1000 & echo $! >>"$1"; wait' sh "$1"`,
		"ends well when asked":  `trap 'exit 0' TERM; echo $$ >>"$1"; sleep 1000 & echo $! >>"$1"; wait`,
		"closed all its output": `exec >&- 2>&-; echo $$ >>"$1"; sleep 1000 & echo $! >>"$1"; wait`,
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "pids")
			ctx, cancel := context.WithCancelCause(t.Context())
			failed := make(chan error, 1)
			go func() {
				_, err := Executor{}.Execute(ctx,
					commandSpec(toolspecs.CommandEntry{Argv: shell(script, file)}), nil)
				failed <- err
			}()
			expect.Eventually(t, "two processes", func() bool { return len(readPIDs(file)) == 2 })
			cancel(reason)
			if err := <-failed; !errors.Is(err, reason) {
				t.Errorf("got %v; want %v", err, reason)
			}
			for _, pid := range readPIDs(file) {
				expect.Eventually(t, "the end of every process", func() bool { return gone(pid) })
			}
		})
	}
}

// The program ignores signals, and the error is that of the deadline.
func TestCommandDeadline_EndsTheProgram(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err := Executor{}.Execute(ctx, commandSpec(toolspecs.CommandEntry{Argv: []string{"sleep", "1000"}}),
		nil)
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("got %v", err)
	}
}

// Processes of the group that outlive the program are killed and do not delay the answer.
func TestCommand_KillsProcessesThatStay(t *testing.T) {
	file := filepath.Join(t.TempDir(), "pids")
	got, err := runCommand(t, toolspecs.CommandEntry{Argv: shell(`sleep 1000 & echo $! >>"$1"; echo done`,
		file)}, "{}")
	if err != nil || got != "done\n" {
		t.Fatalf("got %q, %v", got, err)
	}
	for _, pid := range readPIDs(file) {
		expect.Eventually(t, "the end of the child", func() bool { return gone(pid) })
	}
}

// A process that left the group and keeps the output open is not awaited. The answer has a note.
func TestCommand_DoesNotWaitForEscapedProcesses(t *testing.T) {
	if _, err := exec.LookPath("setsid"); err != nil {
		t.Skip("there is no setsid here")
	}
	file := filepath.Join(t.TempDir(), "pids")
	entry := toolspecs.CommandEntry{Argv: shell(
		`setsid sh -c 'echo $$ >>"$1"; exec sleep 1000' sh "$1" & while ! [ -s "$1" ]; do :; done; echo done`,
		file)}
	answer, err := Executor{}.Execute(t.Context(), commandSpec(entry), nil)
	t.Cleanup(func() {
		for _, pid := range readPIDs(file) {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	})
	if err != nil || jsonvalue.Plain(answer.Output) != "done\n" || len(answer.Notes) != 1 {
		t.Fatalf("got %s, %q, %v", answer.Output, answer.Notes, err)
	}
}

func TestCommandMemoryLimit_IsEnforced(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("memory is limited on Linux only")
	}
	allocate := shell(`sleep 0.1; exec dd if=/dev/zero of=/dev/null bs=512M count=1`)
	if _, err := runCommand(t, toolspecs.CommandEntry{Argv: allocate}, "{}"); err != nil {
		t.Skipf("the program does not run without a limit either: %v", err)
	}
	_, err := runCommand(t, toolspecs.CommandEntry{Argv: allocate, MaxMemory: 100 << 20}, "{}")
	if err == nil || err.Error() != "the program ended with exit code 1: dd: memory exhausted by input buffer of size 536870912 bytes (512 MiB)" {
		t.Fatalf("got %v; want the program's own failure", err)
	}
}
