package cli

import (
	"errors"
	"io/fs"
	"os"

	"github.com/switchyard/switchyard/toolspecs"
)

// PathError says of a path what is wrong with it, without the name of the system call that found
// out.
func PathError(path string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return errNoFile
	}
	if e, ok := errors.AsType[*fs.PathError](err); ok && e.Path == path {
		return e.Err
	}
	return err
}

// FileError keeps faults as they are and makes any other trouble with a file bad input.
func FileError(path string, err error) error {
	if _, missing := os.Stat(path); errors.Is(missing, fs.ErrNotExist) {
		err = missing
	} else if _, ok := errors.AsType[toolspecs.Faults](err); ok {
		return err
	}
	return Errorf(ExitUsage, "%s: %w", path, PathError(path, err))
}

var errNoFile = errors.New("the file does not exist")

// WithHint adds to an error what to do about it. The hint is printed last.
func WithHint(err error, hint string) error { return &hinted{err, hint} }

// hinted is an error with what to do about it, which is told last.
type hinted struct {
	error
	hint string
}

func (h *hinted) Unwrap() error { return h.error }
