package operate

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/switchyard/switchyard/starter/cli"
)

const (
	// readyTimeout bounds the wait for a child's ready line.
	readyTimeout = 60 * time.Second
	// shownLines is how much of the log of a failed child is shown.
	shownLines = 15
)

// child is a subprocess that must not outlive this one.
type child struct {
	name, log string
	cmd       *exec.Cmd
	// first receives the first line of standard output. It is closed without one if there is none.
	first chan []byte
	// tell, unless nil, gets the further lines of standard output.
	tell func(line []byte)
	// ended is closed when the process has exited. err then holds its result.
	ended chan struct{}
	err   error
}

// launch starts a program with standard error in a new log file and keeps the first line of its
// standard output. tell, unless nil, gets the further ones.
func launch(name, path, logDir string, tell func([]byte), args ...string) (*child, error) {
	c := &child{name: name, log: filepath.Join(logDir, name+".log"), tell: tell,
		first: make(chan []byte, 1), ended: make(chan struct{})}
	log, err := os.Create(c.log)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	out, in, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer in.Close()
	c.cmd = exec.Command(path, args...)
	c.cmd.Stdout, c.cmd.Stderr, c.cmd.Env = in, log, withoutTemporal(os.Environ())
	c.cmd.SysProcAttr = ownGroup()
	if err := c.cmd.Start(); err != nil {
		out.Close()
		return nil, err
	}
	go c.read(out)
	go func() {
		c.err = c.cmd.Wait()
		close(c.ended)
	}()
	return c, nil
}

// withoutTemporal removes the variables that would connect a child to a different server.
func withoutTemporal(environ []string) []string {
	var kept []string
	for _, e := range environ {
		if !strings.HasPrefix(e, "TEMPORAL_") {
			kept = append(kept, e)
		}
	}
	return kept
}

func (c *child) read(out *os.File) {
	defer out.Close()
	r := bufio.NewReader(out)
	if line, err := r.ReadBytes('\n'); err == nil {
		c.first <- line
	}
	close(c.first)
	for c.tell != nil {
		line, err := r.ReadBytes('\n')
		if err != nil {
			return
		}
		c.tell(line)
	}
	_, _ = io.Copy(io.Discard, r) // so that the child never blocks on a full pipe
}

// ready waits for the child's first line and decodes it into value. Errors include the end of its
// log.
func (c *child) ready(ctx context.Context, value any) error {
	timeout := time.NewTimer(readyTimeout)
	defer timeout.Stop()
	select {
	case line, ok := <-c.first:
		if !ok {
			select {
			case <-c.ended:
			case <-timeout.C:
			}
			return c.failure("ended before it was ready")
		}
		if err := json.Unmarshal(line, value); err != nil {
			return c.failure(fmt.Sprintf("printed %q instead of a line of JSON",
				bytes.TrimSpace(line)))
		}
		return nil
	case <-timeout.C:
		return c.failure(fmt.Sprintf("was not ready within %s", readyTimeout))
	case <-ctx.Done():
		return ctx.Err()
	}
}

// failure returns an error about the child with the end of its log.
func (c *child) failure(what string) error {
	text := fmt.Sprintf("the %s %s", c.name, what)
	if exit, ok := errors.AsType[*exec.ExitError](c.exit()); ok {
		text += " (" + exit.ProcessState.String() + ")"
	}
	if lines := readTail(c.log); len(lines) > 0 {
		return cli.Errorf(cli.ExitFailed, "%s; its last lines, from %s:\n  %s", text, c.log,
			strings.Join(lines, "\n  "))
	}
	return cli.Errorf(cli.ExitFailed, "%s; it wrote nothing", text)
}

// exit returns how the process ended, or nil while it runs.
func (c *child) exit() error {
	select {
	case <-c.ended:
		return c.err
	default:
		return nil
	}
}

// readTail returns the last lines of a log.
func readTail(path string) []string {
	data, err := os.ReadFile(path)
	if err != nil || len(bytes.TrimSpace(data)) == 0 {
		return nil
	}
	lines := strings.Split(strings.TrimSpace(string(data)), "\n")
	return lines[max(len(lines)-shownLines, 0):]
}

// stop interrupts the process, kills it after grace, and returns when it has exited.
func (c *child) stop(grace time.Duration) {
	if c.cmd.Process.Signal(syscall.SIGTERM) == nil {
		select {
		case <-c.ended:
			return
		case <-time.After(grace):
		}
	}
	_ = c.cmd.Process.Kill() // an error means that it has exited
	<-c.ended
}

// findProgram returns the path of a Switchyard program: the given path, the one beside starter, or
// one in PATH.
func findProgram(name, given string) (string, error) {
	if given != "" {
		path, err := exec.LookPath(given)
		if err != nil {
			return "", cli.Errorf(cli.ExitUsage, "--%s: %w", name, err)
		}
		return path, nil
	}
	if own, err := os.Executable(); err == nil {
		if real, err := filepath.EvalSymlinks(own); err == nil {
			own = real
		}
		if path, err := exec.LookPath(filepath.Join(filepath.Dir(own), name)); err == nil {
			return path, nil
		}
	}
	path, err := exec.LookPath(name)
	if err != nil {
		return "", cli.Errorf(cli.ExitUsage,
			"the program %q is neither beside starter nor on the PATH\nBuild it: make build; or pass its path: --%s PATH",
			name, name)
	}
	return path, nil
}
