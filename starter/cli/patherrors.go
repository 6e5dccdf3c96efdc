package cli

import (
	"errors"
	"io/fs"
	"os"

	"github.com/switchyard/switchyard/toolspecs"
)

// PathError describes what is wrong with a path, without the system call's name.
func PathError(path string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return errNoFile
	}
	if e, ok := errors.AsType[*fs.PathError](err); ok && e.Path == path {
		return e.Err
	}
	return err
}

// FileError returns faults unchanged and turns other file errors into bad input.
func FileError(path string, err error) error {
	if _, missing := os.Stat(path); errors.Is(missing, fs.ErrNotExist) {
		err = missing
	} else if _, ok := errors.AsType[toolspecs.Faults](err); ok {
		return err
	}
	return Errorf(ExitUsage, "%s: %w", path, PathError(path, err))
}

var errNoFile = errors.New("the file does not exist")

// WithHint adds a hint on what to do about an error. The hint is printed last.
func WithHint(err error, hint string) error { return &hinted{err, hint} }

// hinted is an error with a hint.
type hinted struct {
	error
	hint string
}

func (h *hinted) Unwrap() error { return h.error }
