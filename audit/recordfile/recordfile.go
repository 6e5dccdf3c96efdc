// Package recordfile keeps the stream of all runs of a namespace in a file of JSON Lines.
package recordfile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/switchyard/switchyard/audit"
	"github.com/switchyard/switchyard/internal/wholefile"
)

// positionSuffix is appended to the name of a file for the file that keeps its position.
const positionSuffix = ".position"

// File is a file of JSON Lines, one for each entry. It has each entry once, however the process
// ends: the file with the position has the size of the file at that position, and Open cuts off
// what follows.
type File struct {
	path string
	data *os.File
	size int64
	// started is set if there is a file with the position.
	started bool
}

// state is the content of the file with the position.
type state struct {
	Size int64 `json:"size"`
	// Position is nil while the first batch is written.
	Position *audit.StreamPosition `json:"position"`
}

// Open opens or creates a file and returns the position to go on after; resumed is false for a new
// file. If the file was moved away, a new one begins at the position. Only one process may write a
// file.
//
// Errors are those of the file system, and about a file that is shorter than it was, or that has no
// position.
func Open(path string) (f *File, after audit.StreamPosition, resumed bool, err error) {
	s, started, err := readState(path + positionSuffix)
	if err != nil {
		return nil, after, false, err
	}
	data, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, after, false, err
	}
	f = &File{path: path, data: data, started: started}
	if err := f.cut(s.Size); err != nil {
		return nil, after, false, errors.Join(err, data.Close())
	}
	if s.Position == nil {
		return f, after, false, nil
	}
	return f, *s.Position, true, nil
}

// readState reads the file with the position. found is false if there is none.
func readState(path string) (s state, found bool, err error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return s, false, nil
	}
	if err != nil {
		return s, false, err
	}
	if err := json.Unmarshal(text, &s); err != nil {
		return s, false, fmt.Errorf("%s is not the position of a stream: %w", path, err)
	}
	return s, true, nil
}

// cut cuts the file to the size that it had at the position. A new file stays empty.
func (f *File) cut(size int64) error {
	info, err := f.data.Stat()
	switch {
	case err != nil:
		return err
	case info.Size() == 0: // new, or moved away
		return nil
	case !f.started:
		return fmt.Errorf("%s has data but no position: move it away, or restore %s", f.path,
			f.path+positionSuffix)
	case info.Size() < size:
		return fmt.Errorf("%s has %d bytes, but had %d at its position: move it away to begin a "+
			"new file", f.path, info.Size(), size)
	}
	f.size = size
	return f.data.Truncate(size)
}

// Write appends the entries of a batch and then stores its position. It returns when both are on
// the disk. After an error the file must be opened again.
func (f *File) Write(b audit.StreamBatch) error {
	var lines bytes.Buffer
	encoder := json.NewEncoder(&lines)
	encoder.SetEscapeHTML(false)
	for _, e := range b.Entries {
		if err := encoder.Encode(e); err != nil {
			return fmt.Errorf("entry %s: %w", e.Key, err)
		}
	}
	if err := f.append(lines.Bytes()); err != nil {
		return err
	}
	f.started = true
	return writeState(f.path+positionSuffix, state{Size: f.size, Position: &b.Position})
}

func (f *File) append(lines []byte) error {
	if len(lines) == 0 {
		return nil
	}
	if info, err := f.data.Stat(); err != nil {
		return err
	} else if info.Size() != f.size {
		return fmt.Errorf("%s has %d bytes instead of %d: another process writes it", f.path,
			info.Size(), f.size)
	}
	if !f.started { // else Open refuses the file if this process ends after the first lines
		if err := writeState(f.path+positionSuffix, state{}); err != nil {
			return err
		}
	}
	if _, err := f.data.WriteAt(lines, f.size); err != nil {
		return err
	}
	f.size += int64(len(lines))
	return f.data.Sync()
}

// ReadPosition returns the position that a file keeps for another target; found is false if there
// is no file.
func ReadPosition(path string) (at audit.StreamPosition, found bool, err error) {
	s, _, err := readState(path)
	if err != nil || s.Position == nil {
		return at, false, err
	}
	return *s.Position, true, nil
}

// WritePosition stores a position in a file, and returns when it is on the disk.
func WritePosition(path string, at audit.StreamPosition) error {
	return writeState(path, state{Position: &at})
}

// writeState replaces the file with the position.
func writeState(path string, s state) error {
	text, err := json.Marshal(s)
	if err != nil {
		return err
	}
	return wholefile.Write(path, text, 0o600)
}

// Close closes the file.
func (f *File) Close() error { return f.data.Close() }
