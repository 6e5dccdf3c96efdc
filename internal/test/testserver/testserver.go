// Package testserver starts the devserver and other programs as processes for tests.
package testserver

import (
	"bufio"
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"
	"google.golang.org/grpc"
)

// Variables with the folders of the programs under test and of npm programs, and with the folder
// for the coverage data of the programs that tests start. make sets them.
const (
	binVariable      = "SWITCHYARD_BIN"
	npmVariable      = "SWITCHYARD_NPM"
	coverageVariable = "SWITCHYARD_COVERAGE"
)

// init makes programs that were built with coverage write their data to our folder. go test sets
// GOCOVERDIR to a folder of which it reads only the data of the test's own binary.
func init() {
	if dir := os.Getenv(coverageVariable); dir != "" {
		_ = os.Setenv("GOCOVERDIR", dir) // fails for invalid names only
	}
}

// stopWithin is the time that a program has to exit before it is killed.
const stopWithin = 40 * time.Second

// Bin returns the path of a program under test. It skips the test if no folder of programs is set.
func Bin(t testing.TB, name string) string {
	t.Helper()
	return program(t, binVariable, name)
}

// NPM returns the path of a program of internal/npm/install. It skips the test if they are not
// installed.
func NPM(t testing.TB, name string) string {
	t.Helper()
	return program(t, npmVariable, name)
}

func program(t testing.TB, variable, name string) string {
	t.Helper()
	dir := os.Getenv(variable)
	if dir == "" {
		t.Skipf("%s is not set: this test runs real programs; make test/e2e builds or installs "+
			"them", variable)
	}
	path, err := filepath.Abs(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// Process is a started program that has printed its line of JSON.
type Process struct {
	t    testing.TB
	name string
	cmd  *exec.Cmd
	// Log is the path of the file with its standard error.
	Log  string
	done chan struct{}
	err  error
}

// Start starts a program and decodes the first line of its output, JSON, into ready. The program is
// stopped at the end of the test.
func Start(t testing.TB, ready any, env []string, name string, args ...string) *Process {
	t.Helper()
	p := &Process{t: t, name: filepath.Base(name), done: make(chan struct{})}
	logFile, err := os.CreateTemp(t.TempDir(), p.name+"-*.log")
	if err != nil {
		t.Fatal(err)
	}
	p.Log = logFile.Name()
	p.cmd = exec.Command(name, args...)
	p.cmd.Env = append(os.Environ(), env...)
	p.cmd.Stderr = logFile
	stdout, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatalf("start %s: %v", name, err)
	}
	lines := bufio.NewReader(stdout)
	line, err := lines.ReadBytes('\n')
	go func() {
		_, _ = lines.WriteTo(logFile)
		p.err = p.cmd.Wait()
		_ = logFile.Close()
		close(p.done)
	}()
	t.Cleanup(func() { p.Stop() })
	if err != nil || json.Unmarshal(line, ready) != nil {
		t.Fatalf("%s did not say that it is ready but %q:\n%s", p.name, line, p.tail())
	}
	return p
}

// PID returns the process's id.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Done returns a channel that closes when the process has ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// Kill kills the process without notice.
func (p *Process) Kill() {
	_ = p.cmd.Process.Signal(syscall.SIGKILL)
	<-p.done
}

// Stop interrupts the process, waits for it, and returns its exit code.
func (p *Process) Stop() int {
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-p.done:
	case <-time.After(stopWithin):
		p.t.Errorf("%s did not end within %s of SIGTERM:\n%s", p.name, stopWithin, p.tail())
		p.Kill()
	}
	return p.cmd.ProcessState.ExitCode()
}

func (p *Process) tail() string {
	data, err := os.ReadFile(p.Log)
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(data)), "\n")
	return strings.Join(lines[max(0, len(lines)-20):], "\n")
}

// Server is a running devserver.
type Server struct {
	*Process
	Address string `json:"address"`
	UI      string `json:"ui"`
	Client  client.Client
	// args are those of the program, without the port.
	args []string
}

// NewServer starts a devserver in memory on a free port, without UI unless args enable it.
func NewServer(t testing.TB, args ...string) *Server {
	t.Helper()
	s := &Server{args: append([]string{"--headless", "--parent-pid", fmt.Sprint(os.Getpid())},
		args...)}
	s.start(t, "0", s)
	// A server that stops gracefully drains for seconds, and no test reads its data after that.
	t.Cleanup(func() { s.Kill() })
	var err error
	if s.Client, err = client.Dial(client.Options{HostPort: s.Address, Logger: Quiet}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Client.Close)
	return s
}

func (s *Server) start(t testing.TB, port string, ready any) {
	t.Helper()
	s.Process = Start(t, ready, nil, Bin(t, "devserver"), append([]string{"--port", port},
		s.args...)...)
}

// Restart starts a server that was killed again, at its address. It needs --db-filename, without
// which the server has forgotten its runs.
func (s *Server) Restart() {
	s.t.Helper()
	_, port, err := net.SplitHostPort(s.Address)
	if err != nil {
		s.t.Fatal(err)
	}
	s.start(s.t, port, &struct{}{})
}

// Quiet is a logger for the SDK that discards everything.
var Quiet = log.NewStructuredLogger(slog.New(slog.DiscardHandler))

// ServeGRPC serves gRPC in plain text until the end of the test, and returns the address.
func ServeGRPC(t testing.TB, register func(grpc.ServiceRegistrar)) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer()
	register(server)
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	t.Cleanup(func() {
		server.Stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	return listener.Addr().String()
}
