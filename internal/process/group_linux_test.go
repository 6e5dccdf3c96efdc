package process

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"testing"
	"time"
)

// parentVariable has the test binary start a program and hang, as a worker in mid-call.
const parentVariable = "SWITCHYARD_TEST_PARENT"

// patience bounds what a test waits for.
const patience = 20 * time.Second

// TestProgramEndsWithItsParent proves that a program is gone when the process that started it is
// killed: nobody holds its output open any more.
func TestProgramEndsWithItsParent(t *testing.T) {
	if os.Getenv(parentVariable) != "" {
		hang(t)
	}
	output, theirs, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer output.Close()
	parent := exec.Command(os.Args[0], "-test.run=^TestProgramEndsWithItsParent$")
	parent.Env, parent.Stdout, parent.Stderr = append(os.Environ(), parentVariable+"=1"), theirs,
		os.Stderr
	err = errors.Join(parent.Start(), theirs.Close(),
		output.SetReadDeadline(time.Now().Add(patience)))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(output, make([]byte, len("ready\n"))); err != nil {
		t.Error(err)
	}
	if err := parent.Process.Kill(); err != nil {
		t.Error(err)
	}
	_ = parent.Wait() // it was killed
	if rest, err := io.ReadAll(output); err != nil {
		t.Errorf("the program lives on: %v, %q", err, rest)
	}
}

// hang starts a program that says when it runs, and waits for its end.
func hang(t *testing.T) {
	cmd, err := Command([]string{"sh", "-c", "echo ready; exec sleep 60"}, "", Env(nil))
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout = os.Stdout
	OwnGroup(cmd)
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
}
