package login

import (
	"errors"
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

// maxEndedFile bounds the file of ended sessions, in bytes.
const maxEndedFile = 1 << 20

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
	file, err := access.WatchFile(path, "the ended sessions of the console", log, readEnded,
		decodeEnded)
	return &endedFile{file}, err
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
	return addEnded(path, endedEntry{Name: name, Before: now.UTC().Format(time.RFC3339Nano),
		before: now}, now)
}

// endSession adds to the file at path that one session has ended.
func endSession(path, id string, until, now time.Time) error {
	return addEnded(path, endedEntry{Session: id, Until: until.UTC().Format(time.RFC3339Nano),
		until: until}, now)
}

// addEnded adds an entry to the file, and removes those that end nothing any more.
func addEnded(path string, entry endedEntry, now time.Time) error {
	unlock, err := filelock.Beside(path)
	if err != nil {
		return err
	}
	defer unlock()
	e, err := loadEnded(path)
	if err != nil {
		return err
	}
	list := slices.DeleteFunc(append(e.Ended, entry),
		func(e endedEntry) bool { return e.over(now) })
	data, err := access.EncodeList("Sessions of the console that have ended: starter gateway "+
		"logout.", "ended", list)
	if err != nil {
		return err
	}
	return wholefile.Write(path, data, 0o600)
}

func loadEnded(path string) (*ended, error) {
	data, err := readEnded(path)
	if err != nil {
		return nil, err
	}
	return decodeEnded(path, data)
}
