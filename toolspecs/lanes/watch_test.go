package lanes

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// watchLab is a watched file that the test reads explicitly.
type watchLab struct {
	t      *testing.T
	path   string
	w      *Watcher
	events []string
}

func newWatchLab(t *testing.T, text string) *watchLab {
	t.Helper()
	l := &watchLab{t: t, path: filepath.Join(t.TempDir(), "lanes.yaml")}
	l.write(text)
	w, err := newWatcher(l.path, func(s *Set) {
		l.events = append(l.events, "lanes "+
			described(s))
	},
		func(err error) {
			l.events = append(l.events, "fault "+strings.ReplaceAll(err.Error(),
				filepath.Dir(l.path)+string(filepath.Separator), ""))
		})
	if err != nil {
		t.Fatal(err)
	}
	l.w = w
	return l
}

// described returns the names and limits of the lanes that are not built in.
func described(s *Set) string {
	var list []string
	for _, l := range s.All() {
		if _, always := NewSet().Lane(l.Name); !always {
			list = append(list, fmt.Sprintf("%s:%d", l.Name, l.Limit))
		}
	}
	return strings.Join(list, " ")
}

func (l *watchLab) write(text string) {
	l.t.Helper()
	if err := os.WriteFile(l.path, []byte(text), 0o600); err != nil {
		l.t.Fatal(err)
	}
}

// reload reads the file until nothing is pending and returns the events.
func (l *watchLab) reload() string {
	l.t.Helper()
	for range 10 {
		if !l.w.file.Look(time.Now()) {
			events := strings.Join(l.events, "; ")
			l.events = nil
			return events
		}
	}
	l.t.Fatal("the file stays pending")
	return ""
}

// A valid edit takes effect. An invalid edit or a missing file keeps the lanes in effect. Each
// fault is reported once, and so is its end, however quickly the edits follow each other.
func TestWatch_KeepsTheLastValidFile(t *testing.T) {
	l := newWatchLab(t, "lanes: {a: {limit: 1}}")
	if got := l.reload(); got != "" {
		t.Fatalf("nothing had changed, and this happened: %q", got)
	}
	for _, s := range []struct{ text, want, lanes string }{
		{"lanes: {a: {limit: 2}}", "lanes a:2", "a:2"},
		// As long as before, perhaps within the same tick of the clock.
		{"lanes: {a: {limit: 3}}", "lanes a:3", "a:3"},
		{"# a comment\nlanes: {a: {limit: 3}}", "", "a:3"},
		{"lanes: {a: {limit: 0}}",
			"fault lanes.yaml:1:20: limit is 0; the minimum is 1 (omit limit for no limit)",
			"a:3"},
		{"lanes: {a: {limit: 0}} # again", "", "a:3"},
		{"lanes: {a: {limit: -1}}",
			"fault lanes.yaml:1:20: limit is -1; the minimum is 1 (omit limit for no limit)",
			"a:3"},
		{"lanes: {a: {limit: 3}}", "lanes a:3", "a:3"},
		{"lanes: {a: {limit: -1}}",
			"fault lanes.yaml:1:20: limit is -1; the minimum is 1 (omit limit for no limit)",
			"a:3"},
		{"", "fault lanes.yaml:1:1: the file is empty", "a:3"},
		{"(gone)", "fault lanes.yaml: cannot be read: no such file or directory", "a:3"},
		{"(gone)", "", "a:3"},
		{"lanes: {b: {}}", "lanes b:0", "b:0"},
		{"(folder)", "fault lanes.yaml: cannot be read: it is not a regular file", "b:0"},
		{"lanes: {b: {key: '{{args.x}}'}}",
			"fault lanes.yaml:1:9: a lane cannot get a key, or lose its key, while workers serve it: " +
				"calls waiting in the old queue would wait forever (" + movedHint + ")", "b:0"},
		{"lanes: {b: {queue: other}}",
			"fault lanes.yaml:1:9: a lane cannot change its queue while workers serve it: " +
				"calls waiting in the old one would wait forever (" + movedHint + ")", "b:0"},
		{"{}", "lanes ", ""},
	} {
		if err := os.RemoveAll(l.path); err != nil {
			t.Fatal(err)
		}
		switch s.text {
		case "(gone)":
		case "(folder)":
			if err := os.Mkdir(l.path, 0o700); err != nil {
				t.Fatal(err)
			}
		default:
			l.write(s.text)
		}
		if got := l.reload(); got != s.want {
			t.Errorf("%q: got %q, want %q", s.text, got, s.want)
		}
		if got := described(l.w.Set()); got != s.lanes {
			t.Errorf("%q: in effect is %q, want %q", s.text, got, s.lanes)
		}
	}
}

// A file that is being written is not read until it stops changing. The same is true of a file that
// is missing for a moment.
func TestWatch_WaitsForPendingWrites(t *testing.T) {
	l := newWatchLab(t, "lanes: {a: {limit: 1}}")
	whole := "lanes: {a: {limit: 2}, b: {limit: 3}}"
	for n := 5; n < len(whole); n += 5 {
		l.write(whole[:n])
		if !l.w.file.Look(time.Now()) || l.events != nil {
			t.Errorf("with %q this happened: %q", whole[:n], l.events)
		}
	}
	l.write(whole)
	if got := l.reload(); got != "lanes a:2 b:3" {
		t.Errorf("this happened: %q", got)
	}
	if err := os.Rename(l.path, l.path+"~"); err != nil {
		t.Fatal(err)
	}
	if !l.w.file.Look(time.Now()) {
		t.Error("a file that is missing for a moment is not pending")
	}
	if err := os.Rename(l.path+"~", l.path); err != nil {
		t.Fatal(err)
	}
	if got := l.reload(); got != "" {
		t.Errorf("this happened: %q", got)
	}
}

// The file system reports edits and replacements by name or by link. Without notifications, polling
// finds them.
func TestWatch_FollowsEditsAndReplacements(t *testing.T) {
	for _, interval := range []time.Duration{time.Hour, 20 * time.Millisecond} {
		t.Run(interval.String(), func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			path := filepath.Join(dir, "lanes.yaml")
			put := func(name, text string) {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			put("lanes.yaml", "lanes: {a: {limit: 1}}")
			events := make(chan string, 100)
			w, err := Watch(path, interval, func(s *Set) { events <- described(s) },
				func(err error) { events <- "fault" })
			if err != nil {
				t.Fatal(err)
			}
			if got := described(w.Set()); got != "a:1" {
				t.Errorf("at first there are %q", got)
			}
			expect := func(want string) {
				t.Helper()
				timeout := time.After(30 * time.Second)
				for {
					select {
					case got := <-events:
						if got == want {
							return
						}
					case <-timeout:
						t.Fatalf("no event %q", want)
					}
				}
			}
			put("lanes.yaml", "lanes: {a: {limit: 2}}")
			expect("a:2")
			put(".swp", "lanes: {a: {limit: 3}}")
			if err := os.Rename(filepath.Join(dir, ".swp"), path); err != nil {
				t.Fatal(err)
			}
			expect("a:3")
			put("lanes.yaml", "lanes: [")
			expect("fault")
			put("data.yaml", "lanes: {b: {limit: 4}}")
			if err := os.Symlink("data.yaml", filepath.Join(dir, "link")); err != nil {
				t.Skip("no symbolic links here: ", err)
			}
			if err := os.Rename(filepath.Join(dir, "link"), path); err != nil {
				t.Fatal(err)
			}
			expect("b:4")
			w.Close()
			w.Close()
			if got := described(w.Set()); got != "b:4" {
				t.Errorf("after the end there are %q", got)
			}
		})
	}
}

// No callback is required, and a missing folder is awaited.
func TestWatch_RefusesAnInvalidFileAtStart(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "config")
	path := filepath.Join(dir, "lanes.yaml")
	if _, err := Watch(path, 0, nil, nil); err == nil {
		t.Error("a file that does not exist was loaded")
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("lanes: {a: {limit: 0}}"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Watch(path, 0, nil, nil); err == nil {
		t.Error("a wrong file was loaded")
	}
	if err := os.WriteFile(path, []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	w, err := newWatcher(path, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := w.file.Folders(); len(got) != 1 || got[dir] == nil {
		t.Errorf("watched are %v", got)
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	for w.file.Look(time.Now()) {
	}
	if got := w.file.Folders(); got != nil || w.file.Fault() == "" {
		t.Errorf("watched are %v, the fault is %q", got, w.file.Fault())
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("lanes: {b: {}}"), 0o600); err != nil {
		t.Fatal(err)
	}
	for w.file.Look(time.Now()) {
	}
	if got := described(w.Set()); got != "b:0" {
		t.Errorf("in effect is %q", got)
	}
}
