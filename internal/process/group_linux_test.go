package process

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"testing"
	"time"
)

// parentVariable makes the test binary start a program and hang, as a worker during a call.
const parentVariable = "SWITCHYARD_TEST_PARENT"

// patience bounds the waits of a test.
const patience = time.Minute

// A program ends when the process that started it is killed: no process has its output open.
func TestProgram_EndsWithItsParent(t *testing.T) {
	if os.Getenv(parentVariable) != "" {
		hang(t)
	}
	output, theirs, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer output.Close()
	parent := exec.Command(os.Args[0], "-test.run=^TestProgram_EndsWithItsParent$")
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

// hang starts a program that prints when it runs, and waits for its end.
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
