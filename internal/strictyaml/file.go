package strictyaml

import (
	"path/filepath"

	"github.com/switchyard/switchyard/internal/filewatch"
)

// ReadFile reads a regular file that a user named, at most limit plus one byte, so that ParseOne
// detects a file that is too large. The error is Faults.
func ReadFile(path string, limit int) ([]byte, error) {
	data, err := filewatch.ReadFile(path, limit)
	if err != nil {
		return nil, Faults{{File: path, Message: "cannot be read: " + filewatch.Reason(err)}}
	}
	return data, nil
}

// Beside returns the path of a file that another file names: relative paths are relative to that
// file's folder.
func Beside(file, name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(filepath.Dir(file), name)
}
