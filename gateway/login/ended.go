package login

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/switchyard/switchyard/internal/filewatch"
	"github.com/switchyard/switchyard/internal/jsonpath"
	"github.com/switchyard/switchyard/internal/strictyaml"
)

const (
	// maxEndedFile bounds the file of ended sessions, in bytes.
	maxEndedFile = 1 << 20
	// endedInterval is how often the file is looked at if the file system reports nothing.
	endedInterval = time.Second
)

// ended is the file that says which sessions have ended.
type ended struct {
	Ended []endedEntry `yaml:"ended"`
}

// endedEntry ends the sessions of a person, or of everyone, that began before a time.
type endedEntry struct {
	Name   string `yaml:"name" json:"name,omitempty"`
	Before string `yaml:"before" json:"before" rule:"required"`

	before time.Time
}

// endedFile is the file as it is now.
type endedFile struct{ file *filewatch.File[ended] }

func openEnded(path string, log *slog.Logger) (*endedFile, error) {
	decode := func(path string, data []byte, _ *ended) (*ended, error) {
		return decodeEnded(path, data)
	}
	file, err := filewatch.NewFile(path, filewatch.Reading[ended]{Read: readEnded, Decode: decode},
		func(*ended) { log.Info("the ended sessions of the console have changed") },
		func(err error) {
			log.Error("the file of ended sessions cannot be read again; what it said before stays "+
				"in effect", "error", err)
		})
	if err != nil {
		return nil, err
	}
	file.Follow(endedInterval)
	return &endedFile{file: file}, nil
}

// readEnded returns the file's content. A file that does not exist ends no session.
func readEnded(path string) ([]byte, error) {
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return []byte("ended: []\n"), nil
	}
	return strictyaml.ReadFile(path, maxEndedFile)
}

func decodeEnded(path string, data []byte) (*ended, error) {
	doc, faults := strictyaml.ParseOne(path, data, maxEndedFile)
	if err := faults.Err(); err != nil {
		return nil, err
	}
	e := &ended{}
	doc.Decode(e)
	for i := range e.Ended {
		entry := &e.Ended[i]
		var err error
		if entry.before, err = time.Parse(time.RFC3339, entry.Before); entry.Before != "" &&
			err != nil {
			doc.Report(jsonpath.Index(jsonpath.Root+".ended", i)+".before",
				"this is not a time", "write it as 2026-12-31T00:00:00Z")
		}
	}
	if err := doc.Faults().Err(); err != nil {
		return nil, err
	}
	return e, nil
}

// covers reports whether the file ends a session.
func (f *endedFile) covers(s *session) bool {
	if f == nil {
		return false
	}
	for _, e := range f.file.Value().Ended {
		if (e.Name == "" || e.Name == s.Identity.ID) && s.Began.Before(e.before) {
			return true
		}
	}
	return false
}

// EndSessions adds to the file at path that the sessions of a person end now, or those of everyone
// if the name is empty. It creates the file if needed.
func EndSessions(path, name string, now time.Time) error {
	data, err := readEnded(path)
	if err != nil {
		return err
	}
	e, err := decodeEnded(path, data)
	if err != nil {
		return err
	}
	list := append(e.Ended, endedEntry{Name: name, Before: now.UTC().Format(time.RFC3339Nano)})
	var b bytes.Buffer
	b.WriteString("# Sessions of the console that have ended: starter gateway logout.\nended:\n")
	for _, entry := range list {
		line, err := json.Marshal(entry) // which YAML reads too
		if err != nil {
			return err
		}
		fmt.Fprintf(&b, "- %s\n", line)
	}
	file, err := os.CreateTemp(filepath.Dir(path), ".console-sessions-*")
	if err != nil {
		return err
	}
	_, err = file.Write(b.Bytes())
	if err = errors.Join(err, file.Sync(), file.Close()); err == nil {
		err = os.Rename(file.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(file.Name()))
	}
	return nil
}
