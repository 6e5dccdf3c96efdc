package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/switchyard/switchyard/tool"
)

// shell is a working folder with an environment. Several tools share it: what one changes, the
// others see. Programs run without a shell, with the worker's permissions.
type shell struct {
	root *os.Root
	dir  string // relative to root
	env  map[string]string
}

func shells() tool.Stateful {
	return tool.NewStateful("shell", newShell,
		tool.NewMethod("run", (*shell).run),
		tool.NewMethod("cd", (*shell).cd),
		tool.NewMethod("env", (*shell).setenv),
		tool.NewMethod("status", (*shell).status))
}

// newShell makes a shell in a temporary folder of the run.
func newShell(context.Context, tool.StartInfo) (*shell, error) {
	folder, err := os.MkdirTemp("", "shell-")
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(folder)
	return &shell{root: root, dir: ".", env: map[string]string{}}, err
}

// Close removes the folder.
func (s *shell) Close() error { return errors.Join(s.root.Close(), os.RemoveAll(s.root.Name())) }

type runInput struct {
	Program   string   `json:"program"`
	Arguments []string `json:"arguments"`
	Input     string   `json:"input"`
}

type runOutput struct {
	Output   string `json:"output"`
	ExitCode int    `json:"exit_code"`
}

// run runs a program in the current folder.
func (s *shell) run(ctx context.Context, in runInput) (runOutput, error) {
	var out boundedBuffer
	cmd := exec.CommandContext(ctx, in.Program, in.Arguments...)
	cmd.Dir = filepath.Join(s.root.Name(), s.dir)
	cmd.Env = append(s.variables(), "PATH="+os.Getenv("PATH"))
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(in.Input), &out, &out
	cmd.WaitDelay = time.Second
	err := cmd.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && ctx.Err() == nil {
		return runOutput{out.String(), exit.ExitCode()}, nil
	}
	return runOutput{Output: out.String()}, err
}

type cdInput struct {
	Folder string `json:"folder"`
}

// cd changes the current folder. It cannot leave the folder of the shell.
func (s *shell) cd(_ context.Context, in cdInput) (string, error) {
	dir := filepath.Join(s.dir, in.Folder)
	info, err := s.root.Stat(dir)
	switch {
	case err != nil:
		return "", err
	case !info.IsDir():
		return "", &fs.PathError{Op: "cd", Path: dir, Err: errors.New("not a folder")}
	}
	s.dir = dir
	return dir, nil
}

type envInput struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// setenv sets a variable of the environment.
func (s *shell) setenv(_ context.Context, in envInput) ([]string, error) {
	s.env[in.Name] = in.Value
	return s.variables(), nil
}

type status struct {
	Folder      string   `json:"folder"`
	Environment []string `json:"environment"`
}

// status returns the current folder and the environment.
func (s *shell) status(context.Context, struct{}) (status, error) {
	return status{s.dir, s.variables()}, nil
}

func (s *shell) variables() []string {
	all := []string{}
	for _, name := range slices.Sorted(maps.Keys(s.env)) {
		all = append(all, name+"="+s.env[name])
	}
	return all
}

// maxOutput bounds what a program may print, in bytes.
const maxOutput = 64 << 10

// boundedBuffer ends a program that prints more than maxOutput.
type boundedBuffer struct{ bytes.Buffer }

func (b *boundedBuffer) Write(p []byte) (int, error) {
	if b.Len()+len(p) > maxOutput {
		return 0, fmt.Errorf("the program prints more than %d bytes", maxOutput)
	}
	return b.Buffer.Write(p)
}
