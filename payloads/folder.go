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

// folder is a store in a folder, which workers on several machines may share: each blob is a file ab/abcd….
type folder struct{ dir string }

// openFolder opens the store of a URL file:///folder. The folder must be there: one that is made by itself could stand where
// a disk was not mounted.
func openFolder(u *url.URL) (store, error) {
	if u.Host != "" || u.RawQuery != "" || !filepath.IsAbs(u.Path) {
		return nil, fmt.Errorf("%q: write file:/// and a folder's whole path", u.Redacted())
	}
	info, err := os.Stat(u.Path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("there is no folder %s; make it: mkdir -p %s", u.Path, u.Path)
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

// put writes a file of another name, and gives it its own when it is whole and on the disk: nobody ever reads a half.
func (f folder) Put(_ context.Context, key string, data []byte) error {
	path := f.path(key)
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		return fmt.Errorf("the payload store %s: %w", f, err)
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
		return errors.Join(fmt.Errorf("the payload store %s: %w", f, err), removeIfThere(temporary))
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

// syncDir makes a new name in a folder outlast a loss of power.
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
		return nil, fmt.Errorf("the payload store %s has no file %s: it was removed, or another store is meant; restore it, or name the right store", f, path)
	case err != nil:
		return nil, fmt.Errorf("the payload store %s: %s: %s", f, path, filewatch.Reason(err))
	}
	return data, nil
}
