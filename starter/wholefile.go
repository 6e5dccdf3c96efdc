package main

import (
	"bufio"
	"errors"
	"io"
	"os"
	"path/filepath"
)

// streamWhole writes a file that is there when it is whole: until then it has another name. path stands after flag on the command
// line.
func streamWhole(flag, path string, write func(io.Writer) error) error {
	temporary, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return failure(exitUsage, "%s %s: %w", flag, path, pathError(path, err))
	}
	defer func() { _ = os.Remove(temporary.Name()) }() // of a file that failed; a whole one has another name by then
	defer temporary.Close()
	w := bufio.NewWriter(temporary)
	if err := write(w); err != nil {
		return err
	}
	if err := errors.Join(w.Flush(), temporary.Sync(), temporary.Close(), os.Rename(temporary.Name(), path)); err != nil {
		return failure(exitFailed, "%s %s: %w", flag, path, pathError(path, err))
	}
	return nil
}
