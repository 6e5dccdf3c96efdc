package payloads

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"

	"github.com/switchyard/switchyard/internal/filewatch"
)

// folder is a store in a folder, which workers on several machines may share. A blob is the file
// ab/abcd….
type folder struct{ dir string }

// openFolder opens the store of a URL file:///folder. The folder must exist: creating it would hide
// a disk that is not mounted.
func openFolder(u *url.URL) (store, error) {
	if u.Host != "" || u.RawQuery != "" || !filepath.IsAbs(u.Path) {
		return nil, fmt.Errorf("%q: write file:/// and an absolute path", u.Redacted())
	}
	info, err := os.Stat(u.Path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("folder %s does not exist; create it with mkdir -p %s", u.Path,
			u.Path)
	case err != nil:
		return nil, err
	case !info.IsDir():
		return nil, fmt.Errorf("%s is not a folder", u.Path)
	}
	return folder{filepath.Clean(u.Path)}, nil
}

func (f folder) Kind() string { return "switchyard.folder" }

func (f folder) String() string { return "file://" + f.dir }

func (f folder) path(key string) string { return filepath.Join(f.dir, key[:2], key) }

// Put writes a temporary file, flushes it and renames it, so that readers never see a partial file.
func (f folder) Put(_ context.Context, key string, data []byte) error {
	path := f.path(key)
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		return fmt.Errorf("payload store %s: %w", f, err)
	}
	temporary := path + "." + rand.Text()[:8] + ".tmp"
	err := writeSynced(temporary, data)
	if err == nil {
		err = os.Rename(temporary, path)
	}
	if err == nil {
		err = syncDir(filepath.Dir(path))
	}
	if err != nil {
		return errors.Join(fmt.Errorf("payload store %s: %w", f, err), removeIfThere(temporary))
	}
	return nil
}

func writeSynced(path string, data []byte) (err error) {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o640)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	if _, err := file.Write(data); err != nil {
		return err
	}
	return file.Sync()
}

// syncDir flushes a folder, so that a new name survives a power failure.
func syncDir(path string) (err error) {
	dir, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, dir.Close()) }()
	return dir.Sync()
}

func removeIfThere(path string) error {
	if err := os.Remove(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

func (f folder) Get(_ context.Context, key string) ([]byte, error) {
	path := f.path(key)
	data, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("payload store %s has no file %s: it was removed or is in another "+
			"store; restore it or name that store", f, path)
	case err != nil:
		return nil, fmt.Errorf("payload store %s: %s: %s", f, path, filewatch.Reason(err))
	}
	return data, nil
}
