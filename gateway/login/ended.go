package login

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"slices"
	"time"

	"github.com/switchyard/switchyard/gateway/access"
	"github.com/switchyard/switchyard/internal/filelock"
	"github.com/switchyard/switchyard/internal/filewatch"
	"github.com/switchyard/switchyard/internal/jsonpath"
	"github.com/switchyard/switchyard/internal/strictyaml"
	"github.com/switchyard/switchyard/internal/wholefile"
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

	sessions map[string]bool
}

// endedEntry ends one session, or those of a person or of everyone that began before a time.
type endedEntry struct {
	Name   string `yaml:"name" json:"name,omitempty"`
	Before string `yaml:"before" json:"before,omitempty"`
	// Session is the ID of one session, which would last until Until.
	Session string `yaml:"session" json:"session,omitempty"`
	Until   string `yaml:"until" json:"until,omitempty"`

	before, until time.Time
}

// over reports whether all sessions that the entry ends would be over without it.
func (e endedEntry) over(now time.Time) bool {
	if e.Session != "" {
		return now.After(e.until)
	}
	return now.Sub(e.before) > access.MaxSession
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
	e := &ended{sessions: map[string]bool{}}
	doc.Decode(e)
	for i := range e.Ended {
		e.Ended[i].decode(doc, jsonpath.Index(jsonpath.Root+".ended", i))
		if id := e.Ended[i].Session; id != "" {
			e.sessions[id] = true
		}
	}
	if err := doc.Faults().Err(); err != nil {
		return nil, err
	}
	return e, nil
}

// decode parses the times of an entry, and reports their faults.
func (e *endedEntry) decode(doc *strictyaml.Document, at string) {
	if (e.Session == "") == (e.Before == "") {
		doc.Report(at, "this is neither one session nor those before a time",
			"set before, or session and until")
	}
	if e.Session != "" && e.Until == "" {
		doc.Report(at, "the session has no end", "set until")
	}
	for _, field := range []struct {
		name, text string
		at         *time.Time
	}{{"before", e.Before, &e.before}, {"until", e.Until, &e.until}} {
		var err error
		if *field.at, err = time.Parse(time.RFC3339, field.text); field.text != "" && err != nil {
			doc.Report(at+"."+field.name, "this is not a time", "write it as 2026-12-31T00:00:00Z")
		}
	}
}

// covers reports whether the file ends a session.
func (f *endedFile) covers(s *session) bool {
	if f == nil {
		return false
	}
	now := f.file.Value()
	if now.sessions[s.ID] {
		return true
	}
	for _, e := range now.Ended {
		if e.Session == "" && (e.Name == "" || e.Name == s.Identity.ID) &&
			s.Began.Before(e.before) {
			return true
		}
	}
	return false
}

// EndSessions adds to the file at path that the sessions of a person end now, or those of everyone
// if the name is empty. It creates the file if needed.
func EndSessions(path, name string, now time.Time) error {
	unlock, err := filelock.Beside(path)
	if err != nil {
		return err
	}
	defer unlock()
	e, _, err := loadEnded(path)
	if err != nil {
		return err
	}
	return writeEnded(path, append(e.Ended, endedEntry{Name: name,
		Before: now.UTC().Format(time.RFC3339Nano), before: now}), now)
}

// endSession adds to the file at path that one session has ended. It appends a line, so that
// replicas that do so at the same time lose none.
func endSession(path, id string, until, now time.Time) error {
	unlock, err := filelock.Beside(path)
	if err != nil {
		return err
	}
	defer unlock()
	e, data, err := loadEnded(path)
	if err != nil {
		return err
	}
	entry := endedEntry{Session: id, Until: until.UTC().Format(time.RFC3339Nano), until: until}
	line, err := entry.line()
	if err != nil {
		return err
	}
	_, fault := decodeEnded(path, append(data, line...))
	if len(e.Ended) == 0 || fault != nil || len(data) > maxEndedFile/2 {
		return writeEnded(path, append(e.Ended, entry), now)
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	_, err = file.Write(line)
	return errors.Join(err, file.Sync(), file.Close())
}

// line is the entry as a line of the file.
func (e endedEntry) line() ([]byte, error) {
	text, err := json.Marshal(e) // which YAML reads too
	return fmt.Appendf(nil, "- %s\n", text), err
}

func loadEnded(path string) (*ended, []byte, error) {
	data, err := readEnded(path)
	if err != nil {
		return nil, nil, err
	}
	e, err := decodeEnded(path, data)
	return e, data, err
}

// writeEnded replaces the file at once. Entries that end nothing any more are left out.
func writeEnded(path string, list []endedEntry, now time.Time) error {
	list = slices.DeleteFunc(list, func(e endedEntry) bool { return e.over(now) })
	var b bytes.Buffer
	b.WriteString("# Sessions of the console that have ended: starter gateway logout.\nended:\n")
	for _, entry := range list {
		line, err := entry.line()
		if err != nil {
			return err
		}
		b.Write(line)
	}
	if len(list) == 0 {
		b.WriteString("  []\n")
	}
	return wholefile.Write(path, b.Bytes(), 0o600)
}
