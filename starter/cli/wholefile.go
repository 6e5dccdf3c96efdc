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

// StreamWhole writes a file atomically: it writes to a temporary name and renames the complete
// file, so an existing file stays until then. path is the value of flag. A new file gets the mode;
// a replaced file keeps its own. A symbolic link stays and its target is replaced. Non-regular
// files, such as /dev/null or a pipe, are written directly.
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
	// Remove the temporary file of a failed write. A complete file has been renamed by then.
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

// rename syncs a file and renames it to place with the mode of the file it replaces. before is nil
// if there was none.
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

// streamInto writes directly to an existing non-regular file.
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

// stream calls write on an open file. Write errors of the file take precedence over their
// consequences.
func stream(flag, path string, file *os.File, write func(io.Writer) error) error {
	w := bufio.NewWriter(file)
	failed := write(w)
	if err := w.Flush(); err != nil {
		return Errorf(ExitFailed, "%s %s: %w", flag, path, PathError(file.Name(), err))
	}
	return failed
}
