package cli

import (
	"bufio"
	"crypto/rand"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// StreamWhole writes a file that is there when it is whole: until then it has another name, and
// what was there before stays. path stands after flag on the command line. A new file gets the
// mode, one that is replaced keeps its own; a link stays, and what it leads to is replaced. What is
// no file, such as /dev/null or a pipe, is written to.
func StreamWhole(flag, path string, mode os.FileMode, write func(io.Writer) error) error {
	place := path
	if target, err := filepath.EvalSymlinks(path); err == nil {
		place = target
	}
	before, err := os.Stat(place)
	if err == nil && !before.Mode().IsRegular() {
		return streamInto(flag, path, write)
	}
	temporary, err := os.OpenFile(filepath.Join(filepath.Dir(place), "."+filepath.Base(place)+"."+
		rand.Text()), os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if errors.Is(err, fs.ErrNotExist) {
		return Errorf(ExitUsage, "%s %s: the folder %s does not exist", flag, path,
			filepath.Dir(place))
	}
	if err != nil {
		return Errorf(ExitUsage, "%s %s: %w", flag, path, PathError(path, err))
	}
	// of a file that failed; a whole one has another name by then
	defer func() { _ = os.Remove(temporary.Name()) }()
	defer temporary.Close()
	if err := stream(flag, path, temporary, write); err != nil {
		return err
	}
	if err := rename(temporary, place, before); err != nil {
		return Errorf(ExitFailed, "%s %s: %w", flag, path, PathError(path, err))
	}
	return nil
}

// rename gives a file its place when all of it is on the disk, with the mode of the one that it
// replaces; nil for none.
func rename(file *os.File, place string, before os.FileInfo) error {
	if before != nil {
		if err := file.Chmod(before.Mode().Perm()); err != nil {
			return err
		}
	}
	if err := errors.Join(file.Sync(), file.Close()); err != nil {
		return err
	}
	return os.Rename(file.Name(), place)
}

// streamInto writes to what is there and is no file.
func streamInto(flag, path string, write func(io.Writer) error) error {
	out, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return Errorf(ExitUsage, "%s %s: %w", flag, path, PathError(path, err))
	}
	failed := stream(flag, path, out, write)
	if err := out.Close(); failed == nil && err != nil {
		return Errorf(ExitFailed, "%s %s: %w", flag, path, PathError(path, err))
	}
	return failed
}

// stream has an open file written. What keeps it from taking more is told before what that led to.
func stream(flag, path string, file *os.File, write func(io.Writer) error) error {
	w := bufio.NewWriter(file)
	failed := write(w)
	if err := w.Flush(); err != nil {
		return Errorf(ExitFailed, "%s %s: %w", flag, path, PathError(file.Name(), err))
	}
	return failed
}
