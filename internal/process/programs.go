// Package programs starts the programs of toolspecs with a restricted environment and in a process
// group that can be killed as a whole.
package process

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/outbound"
	"github.com/switchyard/switchyard/internal/secretname"
)

// grace is how long a program has between being asked to end and being killed.
const grace = 500 * time.Millisecond

// inheritedEnv are the environment variables of the worker that every program sees.
var inheritedEnv = []string{"PATH", "HOME", "LANG", "TMPDIR"}

// Env returns the environment of a program: PATH, HOME, LANG, TMPDIR and the variables that more
// names, as far as this process has them.
func Env(more []string) []string {
	var env []string
	for _, name := range slices.Concat(inheritedEnv, more) {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	return env
}

// Environment returns the environment of a program as Env does, with the variables that set and
// secrets name besides, and the values in it that must not show. It fails with precondition_failed
// where a secret is not to be had on this worker.
func Environment(more []string, set, secrets map[string]string) (env, hidden []string,
	err error) {
	env = Env(more)
	for _, name := range slices.Sorted(maps.Keys(set)) {
		env = append(env, name+"="+set[name])
	}
	for _, name := range more {
		if value := os.Getenv(name); value != "" && secretname.Matches(name) {
			hidden = append(hidden, value)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(secrets)) {
		value, err := outbound.SecretText(secrets[name])
		if err != nil {
			return nil, nil, err
		}
		env, hidden = append(env, name+"="+value), append(hidden, value)
	}
	return env, slices.Concat(hidden, outbound.SplitLines(hidden)), nil
}

// Folder returns the working folder of a program: dir if it is absolute, else dir under base. It
// fails with precondition_failed if the folder does not exist.
func Folder(base, dir string) (string, error) {
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(base, dir)
	}
	if dir == "" {
		return "", nil
	}
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return "", api.Errorf(api.ErrPreconditionFailed,
			"the program's working folder %s does not exist on this worker; create it or correct entry.dir",
			dir)
	}
	return dir, nil
}

// Command returns a program that is ready to start. It is looked up in this process's PATH; a name
// with a slash is relative to dir. StartError classifies the errors.
func Command(argv []string, dir string, env []string) (*exec.Cmd, error) {
	name := argv[0]
	if strings.ContainsRune(name, filepath.Separator) && !filepath.IsAbs(name) {
		var err error
		if name, err = filepath.Abs(filepath.Join(dir, name)); err != nil {
			return nil, err
		}
	}
	path, err := exec.LookPath(name)
	if err != nil {
		return nil, err
	}
	return &exec.Cmd{Path: path, Args: argv, Dir: dir, Env: env}, nil
}

// shortages are failures to start a program that another attempt may not meet.
var shortages = []error{syscall.EAGAIN, syscall.ENOMEM, syscall.EMFILE, syscall.ENFILE,
	syscall.ETXTBSY}

// StartError explains why a program could not be started: executor_not_found if it is missing or
// not executable, else an execution_error, transient if the system lacked resources.
func StartError(program string, err error) error {
	is := func(targets ...error) bool {
		return slices.ContainsFunc(targets, func(target error) bool {
			return errors.Is(err,
				target)
		})
	}
	switch {
	case is(exec.ErrNotFound, exec.ErrDot, fs.ErrNotExist):
		return api.Errorf(api.ErrExecutorNotFound,
			"the program %s is not on this worker; install it, or correct entry.argv or the worker's PATH (%v)",
			program, err)
	case is(fs.ErrPermission, syscall.ENOEXEC):
		return api.Errorf(api.ErrExecutorNotFound,
			"the program %s cannot be executed on this worker: %v", program, err)
	case is(syscall.E2BIG):
		return fmt.Errorf("the arguments are too long for the argv of a program; let it read them from standard input: %w",
			err)
	case is(shortages...):
		return api.Transient(fmt.Errorf("the program could not be started: %w", err), 0)
	default:
		return fmt.Errorf("the program could not be started: %w", err)
	}
}

// End asks the program's group to end, and kills it when it still runs after grace. ended is closed
// when the program has ended, as Reap does.
func End(cmd *exec.Cmd, ended <-chan struct{}) {
	endGroup(cmd)
	left := time.NewTimer(grace)
	defer left.Stop()
	select {
	case <-ended:
	case <-left.C:
		KillGroup(cmd)
	}
}

// DescribeEnd describes how a program ended: "ended with exit code 3".
func DescribeEnd(cmd *exec.Cmd) string {
	if code := cmd.ProcessState.ExitCode(); code >= 0 {
		return fmt.Sprintf("ended with exit code %d", code)
	}
	return "was killed by " + cmd.ProcessState.String()
}

// quotedTail is how much of a program's output Quoted keeps, in bytes.
const quotedTail = 2 << 10

// QuoteTail returns, after a separator, the end of a program's output as readable text, or nothing.
func QuoteTail(separator string, output []byte) string {
	text := strings.TrimSpace(strings.ToValidUTF8(string(output), "\uFFFD"))
	if text == "" {
		return ""
	}
	if len(text) > quotedTail {
		text = "…" + strings.ToValidUTF8(text[len(text)-quotedTail:], "")
	}
	return separator + text
}
