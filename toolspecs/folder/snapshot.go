package folder

import (
	"errors"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/switchyard/switchyard/internal/filewatch"
	"github.com/switchyard/switchyard/toolspecs"
)

// snapshot is the state of a folder at one moment, without the content of its files.
type snapshot struct {
	// lost is why the folder could not be read; the other fields are then empty.
	lost error
	// files are its toolspec files by name; others are files that these depend on, by path.
	files, others map[string]filewatch.Stamp
	// dirs are the folder, as ".", and the folders in it; closed are those that could not be read.
	dirs   map[string]fs.FileInfo
	closed map[string]error
}

// within reports whether a file lies below one of the folders that could not be read.
func (s snapshot) within(name string) bool {
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		if _, closed := s.closed[dir]; closed {
			return true
		}
	}
	return false
}

// without reports whether a file was certainly not there.
func (s snapshot) without(name string) bool {
	_, there := s.files[name]
	return s.lost == nil && !there && !s.within(name)
}

// takeSnapshot looks at the toolspec files below fsys, other than hidden ones.
// Links to folders are not followed.
func takeSnapshot(fsys fs.FS) snapshot {
	s := snapshot{files: map[string]filewatch.Stamp{}, others: map[string]filewatch.Stamp{},
		dirs: map[string]fs.FileInfo{}, closed: map[string]error{}}
	// What goes wrong is kept beside what went well.
	_ = fs.WalkDir(fsys, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			if name == "." || !errors.Is(err, fs.ErrNotExist) { // else it went away while we looked
				s.closed[name] = err
			}
			return nil
		}
		return s.add(fsys, name, entry)
	})
	return s
}

func (s *snapshot) add(fsys fs.FS, name string, entry fs.DirEntry) error {
	hidden := strings.HasPrefix(entry.Name(), ".") && name != "."
	switch {
	case hidden && entry.IsDir():
		return fs.SkipDir
	case hidden:
	case entry.IsDir():
		if info, err := entry.Info(); err == nil {
			s.dirs[name] = info
		}
	case toolspecs.IsSpecFile(name):
		info, err := fs.Stat(fsys, name)
		s.files[name] = filewatch.NewStamp(info, err)
	}
	return nil
}

// names returns the names of the toolspec files, sorted.
func (s snapshot) names() []string { return slices.Sorted(maps.Keys(s.files)) }
