// Package wholefile replaces files at once.
package wholefile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// Write gives the file at path the data and the mode. Whoever reads it, and whoever starts after a
// crash, finds the old file or the new one. Watchers of the folder see a hidden name before. The
// folder has to exist; on an error the old file stays.
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
	return nil
}
