package payloads

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"

	"github.com/switchyard/switchyard/internal/filewatch"
	"github.com/switchyard/switchyard/internal/wholefile"
)

// folder is a store in a folder, which workers on several machines may share. A blob is the file
// ab/abcd….
type folder struct{ dir string }

// openFolder opens the store of a URL file:///folder. The folder must exist: creating it would hide
// a disk that is not mounted.
func openFolder(u *url.URL) (Store, error) {
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

// Put returns when the blob is on the disk, so that readers never see a part of it.
func (f folder) Put(_ context.Context, key string, data []byte) error {
	path := f.path(key)
	err := os.Mkdir(filepath.Dir(path), 0o750)
	switch {
	case err == nil:
		err = wholefile.SyncFolder(f.dir)
	case errors.Is(err, fs.ErrExist):
		err = nil
	}
	if err == nil {
		err = wholefile.Write(path, data, 0o640)
	}
	if err != nil {
		return fmt.Errorf("payload store %s: %w", f, err)
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
