package command

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"sync"
	"time"

	"github.com/switchyard/switchyard/activities/executor"
	"github.com/switchyard/switchyard/internal/process"
)

// drainTime is how long to wait for the output of a program that has ended, if another process
// still has it open.
const drainTime = 500 * time.Millisecond

// program is one execution of one program.
type program struct {
	argv []string
	dir  string
	env  []string
	// stdin is the program's standard input; nil means empty.
	stdin     []byte
	maxOutput int
	maxMemory int
}

type programResult struct {
	stdout, stderr []byte
	exitCode       int
	// ending describes how the program ended: "ended with exit code 3".
	ending string
	// outputOpen means that another process still had the output open after the program ended.
	outputOpen bool
}

// run starts the program and waits for its end. It ends the program with all its children when ctx
// ends or the program writes too much. The error says whether the program started.
func (p *program) run(ctx context.Context) (programResult, error) {
	if err := context.Cause(ctx); err != nil {
		return programResult{}, executor.NotStarted(err)
	}
	tooMuch := make(chan struct{})
	var once sync.Once
	over := func() { once.Do(func() { close(tooMuch) }) }
	stdout := &cappedBuffer{limit: p.maxOutput, over: over}
	stderr := &cappedBuffer{limit: p.maxOutput, over: over}
	cmd, err := process.Command(p.argv, p.dir, p.env)
	if err != nil {
		return programResult{}, executor.NotStarted(process.StartError(p.argv[0], err))
	}
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = stdout, stderr, drainTime
	if p.stdin != nil {
		cmd.Stdin = bytes.NewReader(p.stdin)
	}
	process.OwnGroup(cmd)
	if err := cmd.Start(); err != nil {
		return programResult{}, executor.NotStarted(process.StartError(p.argv[0], err))
	}
	if p.maxMemory > 0 {
		process.LimitMemory(cmd.Process.Pid, p.maxMemory)
	}
	stopped, waitErr := wait(ctx, cmd, tooMuch)
	if stdout.exceeded || stderr.exceeded {
		return programResult{}, executor.Unclear(fmt.Errorf(
			"the program wrote more than %d bytes to standard output or standard error and was ended; ask for less, or raise entry.max_output",
			p.maxOutput))
	}
	if stopped {
		return programResult{}, fmt.Errorf("the program was ended: %w%s", context.Cause(ctx),
			process.QuoteTail("; standard error: ", stderr.data.Bytes()))
	}
	return programResult{
		stdout: stdout.data.Bytes(), stderr: stderr.data.Bytes(),
		exitCode: cmd.ProcessState.ExitCode(), ending: process.DescribeEnd(cmd),
		outputOpen: errors.Is(waitErr, exec.ErrWaitDelay),
	}, nil
}

// wait returns after the program and all of its group have ended. stopped reports that the program
// was ended by wait.
func wait(ctx context.Context, cmd *exec.Cmd, tooMuch <-chan struct{}) (stopped bool, err error) {
	ended := make(chan struct{})
	waited := make(chan error, 1)
	go func() { waited <- process.Reap(cmd, ended) }()
	select {
	case <-ended:
	case <-ctx.Done():
		process.End(cmd, ended)
		stopped = true
	case <-tooMuch:
		process.End(cmd, ended)
		stopped = true
	}
	return stopped, <-waited
}

// cappedBuffer keeps the first limit bytes, and calls over when there are more. The buffer is not
// embedded, because its ReadFrom would exceed the limit.
type cappedBuffer struct {
	data     bytes.Buffer
	limit    int
	over     func()
	exceeded bool
}

func (b *cappedBuffer) Write(data []byte) (int, error) {
	space := b.limit - b.data.Len()
	if len(data) > space {
		b.exceeded = true
		b.over()
	}
	b.data.Write(data[:min(len(data), space)])
	return len(data), nil
}
