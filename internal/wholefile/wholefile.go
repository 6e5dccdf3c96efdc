// Package wholefile replaces files at once. Libraries for it, such as google/renameio, do not store
// the new name on the disk, and some do not replace files at once on Windows.
package wholefile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
)

// Write replaces the file at path, with a mode. After a crash or a loss of power the path has the
// old content or the new one, and the new one after Write has returned. Watchers of the folder see
// a hidden name before. The folder has to exist; on an error before the replacement the old file
// stays.
func Write(path string, data []byte, mode fs.FileMode) error {
	file, err := os.CreateTemp(filepath.Dir(path), ".new-*")
	if err != nil {
		return err
	}
	_, err = file.Write(data)
	if err = errors.Join(err, file.Chmod(mode), file.Sync(), file.Close()); err == nil {
		err = os.Rename(file.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(file.Name()))
	}
	return SyncFolder(filepath.Dir(path))
}

// SyncFolder stores the names in a folder, so that a renamed file stays after a loss of power. It
// is no error that a file system or Windows cannot do this.
func SyncFolder(path string) error {
	folder, err := os.Open(path)
	if err != nil {
		return err
	}
	err = folder.Sync()
	if runtime.GOOS == "windows" || errors.Is(err, syscall.EINVAL) ||
		errors.Is(err, errors.ErrUnsupported) {
		err = nil
	}
	return errors.Join(err, folder.Close())
}
