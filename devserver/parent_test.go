package main

import (
	"bufio"
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// Proves that a server whose parent was killed with -9, and which can no longer write to anybody,
// ends by itself and cleanly: the write-ahead log is in the file.
func TestParentDeath(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "runs.db")
	parent := command(context.Background(), roleParent, "--port", "0", "--headless",
		"--db-filename", file,
		"--log-level", "info") // so that it has much to write while it ends
	stdout, err := parent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = parent.Process.Kill() })
	line := readReady(t, bufio.NewReader(stdout))
	server, err := os.FindProcess(line.PID)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Kill() })

	// Not waited for yet: the parent stays a zombie, as one does whose own parent does not care.
	if err := parent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	awaitEnd(t, line.PID)
	if info, err := os.Stat(file + "-wal"); err != nil || info.Size() != 0 {
		t.Errorf("it did not end cleanly: %v, %v", info, err)
	}
	_ = parent.Wait()
}

func awaitEnd(t *testing.T, pid int) {
	t.Helper()
	ctx := withPatience(t)
	pollExit(ctx, pid)
	if ctx.Err() != nil {
		t.Fatal("the server still runs")
	}
}

// Proves that a parent that is gone from the start is noticed, said, and a clean end.
func TestParentGoneAlready(t *testing.T) {
	t.Parallel()
	child := command(t.Context(), roleServer, "--help")
	if err := child.Run(); err != nil {
		t.Fatal(err)
	}
	code, _, stderr := runToEnd(t, "--port", "0", "--headless", "--parent-pid",
		strconv.Itoa(child.Process.Pid))
	if code != exitDone || !strings.Contains(stderr, "has exited") {
		t.Errorf("exit code %d, %q", code, stderr)
	}
}

// Proves that the watch of a process returns when it ends and when the context does, and only then.
func TestWatchProcess(t *testing.T) {
	t.Parallel()
	child := command(t.Context(), roleServer, "--port", "0", "--headless")
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	returned := make(chan bool, 1)
	go func() {
		pollExit(withPatience(t), child.Process.Pid)
		returned <- true
	}()
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	pollExit(cancelled, child.Process.Pid)
	select {
	case <-returned:
		t.Fatal("returned while the process runs")
	default:
	}
	_ = child.Process.Kill()
	_ = child.Wait()
	<-returned
}
