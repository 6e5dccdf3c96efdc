package toolspecs

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// readLimited reads a regular file of fsys, but no more than limit and one byte: enough to tell that it is too large.
func readLimited(fsys fs.FS, name string, limit int) ([]byte, error) {
	info, err := fs.Stat(fsys, name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		// Opening a pipe would wait for somebody to write.
		return nil, errors.New("it is not a regular file")
	}
	f, err := fsys.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, int64(limit)+1))
}

// readFile is readLimited for a path that a user gave. The error is Faults.
func readFile(path string, limit int) ([]byte, error) {
	data, err := readLimited(os.DirFS(filepath.Dir(path)), filepath.Base(path), limit)
	if err != nil {
		return nil, Faults{{File: path, Message: "cannot be read: " + reason(err)}}
	}
	return data, nil
}

// reason returns an error without the path, which the fault names already.
func reason(err error) string {
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		return p.Err.Error()
	}
	return err.Error()
}
