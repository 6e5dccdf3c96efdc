package activities

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/switchyard/switchyard"
)

// killGrace is how long a program has between being asked to end and being killed.
const killGrace = 500 * time.Millisecond

// drainTime is how long the output of a program that has ended is waited for, if something else still holds it open.
const drainTime = 500 * time.Millisecond

// program is one execution of one program.
type program struct {
	argv []string
	dir  string
	env  []string
	// stdin is what the program reads; nil gives it nothing to read.
	stdin     []byte
	maxOutput int
	maxMemory int
}

type programResult struct {
	stdout, stderr []byte
	exitCode       int
	// ending says how the program ended: "ended with exit code 3".
	ending string
	// heldOpen says that the output was still open, in other hands, after the program ended.
	heldOpen bool
}

// run starts the program and waits for its end, or ends it with all its children when ctx ends or it writes too much.
func (p *program) run(ctx context.Context) (programResult, error) {
	if err := context.Cause(ctx); err != nil {
		return programResult{}, err
	}
	tooMuch := make(chan struct{})
	var once sync.Once
	over := func() { once.Do(func() { close(tooMuch) }) }
	stdout := &cappedBuffer{limit: p.maxOutput, over: over}
	stderr := &cappedBuffer{limit: p.maxOutput, over: over}
	cmd, err := p.command()
	if err != nil {
		return programResult{}, p.startError(err)
	}
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = stdout, stderr, drainTime
	if p.stdin != nil {
		cmd.Stdin = bytes.NewReader(p.stdin)
	}
	ownGroup(cmd)
	if err := cmd.Start(); err != nil {
		return programResult{}, p.startError(err)
	}
	if p.maxMemory > 0 {
		limitMemory(cmd.Process.Pid, p.maxMemory)
	}
	stopped, waitErr := wait(ctx, cmd, tooMuch)
	if stdout.exceeded || stderr.exceeded {
		return programResult{}, fmt.Errorf("the program wrote more than %d bytes to standard output or standard error and was ended; ask for less, or raise entry.max_output", p.maxOutput)
	}
	if stopped {
		return programResult{}, fmt.Errorf("the program was ended: %w%s", context.Cause(ctx), quoted("; standard error: ", stderr.kept.Bytes()))
	}
	return programResult{
		stdout: stdout.kept.Bytes(), stderr: stderr.kept.Bytes(),
		exitCode: cmd.ProcessState.ExitCode(), ending: endingOf(cmd),
		heldOpen: errors.Is(waitErr, exec.ErrWaitDelay),
	}, nil
}

func (p *program) command() (*exec.Cmd, error) {
	name := p.argv[0]
	if strings.ContainsRune(name, filepath.Separator) && !filepath.IsAbs(name) {
		var err error
		if name, err = filepath.Abs(filepath.Join(p.dir, name)); err != nil {
			return nil, err
		}
	}
	path, err := exec.LookPath(name)
	if err != nil {
		return nil, err
	}
	return &exec.Cmd{Path: path, Args: p.argv, Dir: p.dir, Env: p.env}, nil
}

// wait returns after the program has ended and nothing of its group is left. stopped says that it did not end by
// itself.
func wait(ctx context.Context, cmd *exec.Cmd, tooMuch <-chan struct{}) (stopped bool, err error) {
	ended := make(chan struct{})
	waited := make(chan error, 1)
	go func() { waited <- reap(cmd, ended) }()
	select {
	case <-ended:
	case <-ctx.Done():
		end(cmd, ended)
		stopped = true
	case <-tooMuch:
		end(cmd, ended)
		stopped = true
	}
	return stopped, <-waited
}

func end(cmd *exec.Cmd, ended <-chan struct{}) {
	endGroup(cmd)
	grace := time.NewTimer(killGrace)
	defer grace.Stop()
	select {
	case <-ended:
	case <-grace.C:
		killGroup(cmd)
	}
}

func endingOf(cmd *exec.Cmd) string {
	if code := cmd.ProcessState.ExitCode(); code >= 0 {
		return fmt.Sprintf("ended with exit code %d", code)
	}
	return "was ended by " + cmd.ProcessState.String()
}

// shortages are failures to start a program that another attempt may not meet.
var shortages = []error{syscall.EAGAIN, syscall.ENOMEM, syscall.EMFILE, syscall.ENFILE, syscall.ETXTBSY}

func (p *program) startError(err error) error {
	is := func(targets ...error) bool {
		return slices.ContainsFunc(targets, func(target error) bool { return errors.Is(err, target) })
	}
	switch {
	case is(exec.ErrNotFound, exec.ErrDot, fs.ErrNotExist):
		return switchyard.Errorf(switchyard.ErrExecutorNotFound,
			"the program %s is not on this worker; install it, or correct entry.argv or the worker's PATH (%v)", p.argv[0], err)
	case is(fs.ErrPermission, syscall.ENOEXEC):
		return switchyard.Errorf(switchyard.ErrExecutorNotFound, "the program %s cannot be executed on this worker: %v", p.argv[0], err)
	case is(syscall.E2BIG):
		return fmt.Errorf("the arguments are too long for the argv of a program; let it read them from standard input: %w", err)
	case is(shortages...):
		return switchyard.Transient(fmt.Errorf("the program could not be started: %w", err), 0)
	default:
		return fmt.Errorf("the program could not be started: %w", err)
	}
}

// cappedBuffer keeps the first limit bytes, and calls over when there are more. The buffer is not embedded, because its
// ReadFrom would go past the limit.
type cappedBuffer struct {
	kept     bytes.Buffer
	limit    int
	over     func()
	exceeded bool
}

func (b *cappedBuffer) Write(data []byte) (int, error) {
	room := b.limit - b.kept.Len()
	if len(data) > room {
		b.exceeded = true
		b.over()
	}
	b.kept.Write(data[:min(len(data), room)])
	return len(data), nil
}
