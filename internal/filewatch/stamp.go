package filewatch

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// Stamp identifies the state of a file. Equal stamps mean that the file was not written in between,
// except for writes in quick succession.
type Stamp struct {
	info  fs.FileInfo
	error string
}

// NewStamp returns the stamp of a file from its fs.FileInfo.
func NewStamp(info fs.FileInfo, err error) Stamp {
	if err != nil {
		return Stamp{error: Reason(err)}
	}
	return Stamp{info: info}
}

// Same reports whether the file is unchanged between s and t, as far as stamps can show.
func (s Stamp) Same(t Stamp) bool {
	if s.info == nil || t.info == nil {
		return s.info == nil && t.info == nil && s.error == t.error
	}
	return s.info.Size() == t.info.Size() && s.info.Mode() == t.info.Mode() &&
		s.info.ModTime().Equal(t.info.ModTime()) && os.SameFile(s.info, t.info)
}

// quick is the time after a write within which another write may leave the stamp unchanged, on the
// coarsest file systems.
const quick = 2 * time.Second

// Doubtful reports whether the file may be another than the one that was read at that moment,
// though its stamp is the same.
func (s Stamp) Doubtful(read time.Time) bool {
	return s.info != nil && read.Sub(s.info.ModTime()) < quick
}

// ReadFile is ReadLimited for the file at path.
func ReadFile(path string, limit int) ([]byte, error) {
	return ReadLimited(os.DirFS(filepath.Dir(path)), filepath.Base(path), limit)
}

// ReadLimited reads a regular file of fsys, at most limit plus one byte, so that callers can detect
// a file that is too large.
func ReadLimited(fsys fs.FS, name string, limit int) ([]byte, error) {
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

// Reason returns an error of the file system without the path.
func Reason(err error) string {
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		return p.Err.Error()
	}
	return err.Error()
}
