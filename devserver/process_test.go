package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

// The tests run the real program: this test binary, which plays the role that the environment
// names.
const (
	roleVariable = "DEVSERVER_TEST_ROLE"
	roleServer   = "server" // the program itself
	// roleParent is a program that starts the server with pipes and --parent-pid, and then hangs
	roleParent = "parent"
)

// patience bounds every wait for something that must happen.
const patience = 3 * time.Minute

func TestMain(m *testing.M) {
	switch os.Getenv(roleVariable) {
	case roleServer:
		main()
	case roleParent:
		os.Exit(playParent())
	default:
		os.Exit(m.Run())
	}
}

func playParent() int {
	args := append(os.Args[1:], "--parent-pid", strconv.Itoa(os.Getpid()))
	cmd := command(context.Background(), roleServer, args...)
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return 1
	}
	if _, err := cmd.StderrPipe(); err != nil || cmd.Start() != nil {
		return 1
	}
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		return 1
	}
	os.Stdout.WriteString(line)
	select {}
}

func command(ctx context.Context, role string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, os.Args[0], args...)
	cmd.Env = append(os.Environ(), roleVariable+"="+role)
	return cmd
}

// runToEnd runs the program with flags that must make it end by itself.
func runToEnd(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var out, errs bytes.Buffer
	cmd := command(ctx, roleServer, args...)
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		if _, ok := errors.AsType[*exec.ExitError](err); !ok {
			t.Fatal(err)
		}
	}
	return cmd.ProcessState.ExitCode(), out.String(), errs.String()
}

// process is a running devserver.
type process struct {
	*clients
	ready  readyLine
	cmd    *exec.Cmd
	stderr *lockedBuffer
	rest   chan string // what it wrote to standard output after the ready line, sent when it ended
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// start runs the program and waits for its ready line.
func start(t *testing.T, args ...string) *process {
	t.Helper()
	p := &process{cmd: command(context.Background(), roleServer, args...), stderr: &lockedBuffer{},
		rest: make(chan string, 1)}
	p.cmd.Stderr = p.stderr
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("standard error of %v:\n%s", p.cmd.Args[1:], p.stderr)
		}
	})
	stdout, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.cmd.Process.Kill() })
	timer := time.AfterFunc(patience, func() { _ = p.cmd.Process.Kill() })
	defer timer.Stop()
	reader := bufio.NewReader(stdout)
	p.ready = readReady(t, reader)
	go func() {
		rest, _ := io.ReadAll(reader)
		p.rest <- string(rest)
	}()
	p.clients = dial(t, p.ready.Address)
	return p
}

func readReady(t *testing.T, from *bufio.Reader) (ready readyLine) {
	t.Helper()
	line, err := from.ReadString('\n')
	if err != nil {
		t.Fatalf("no ready line: %v", err)
	}
	decoder := json.NewDecoder(strings.NewReader(line))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&ready); err != nil {
		t.Fatalf("ready line %q: %v", line, err)
	}
	return ready
}

// clients call the server from a test.
type clients struct {
	workflow workflowservice.WorkflowServiceClient
	operator operatorservice.OperatorServiceClient
}

func dial(t *testing.T, address string) *clients {
	t.Helper()
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithNoProxy())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return &clients{workflowservice.NewWorkflowServiceClient(conn),
		operatorservice.NewOperatorServiceClient(conn)}
}

// end sends a signal, waits for the end and returns the exit code, -1 for a death by signal. It
// fails the test when anything but the ready line was written to standard output.
func (p *process) end(t *testing.T, signal os.Signal) int {
	t.Helper()
	if err := p.cmd.Process.Signal(signal); err != nil {
		t.Fatal(err)
	}
	select {
	case rest := <-p.rest:
		if rest != "" {
			t.Errorf("standard output holds more than the ready line: %q", rest)
		}
	case <-time.After(patience):
		t.Fatalf("did not end after %s", signal)
	}
	_ = p.cmd.Wait()
	return p.cmd.ProcessState.ExitCode()
}

// endCleanly ends the process as a user would and fails the test when it does not leave with 0.
func (p *process) endCleanly(t *testing.T) {
	t.Helper()
	if code := p.end(t, syscall.SIGTERM); code != exitDone {
		t.Fatalf("exit code %d after SIGTERM", code)
	}
}

func withPatience(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}
