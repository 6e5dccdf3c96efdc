package folder

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/switchyard/switchyard/toolspecs"
)

// watchLab is a watched folder that the test reads explicitly.
type watchLab struct {
	t   *testing.T
	dir string
	w   *Watcher
	s   *subscriber
}

// specOf returns a toolspec file of tools, given as name or name@version.
func specOf(tools ...string) string {
	var docs []string
	for _, tool := range tools {
		name, version, given := strings.Cut(tool, "@")
		if !given {
			version = "1.0.0"
		}
		docs = append(docs, fmt.Sprintf(
			"name: %s\nversion: %s\ndescription: A tool.\nentry: {type: function}\n", name,
			version))
	}
	return strings.Join(docs, "---\n")
}

func newWatchLab(t *testing.T, c WatchConfig, files map[string]string) *watchLab {
	t.Helper()
	l := &watchLab{t: t, dir: filepath.Join(t.TempDir(), "tools"), s: &subscriber{limit: 1 << 20,
		wake: make(chan struct{}, 1)}}
	for name, text := range files {
		l.write(name, text)
	}
	c.Dir = l.dir
	w, err := newWatcher(c)
	if err != nil {
		t.Fatal(err)
	}
	w.subscribers = append(w.subscribers, l.s)
	l.w = w
	return l
}

func (l *watchLab) path(name string) string { return filepath.Join(l.dir, name) }

func (l *watchLab) write(name, text string) { write(l.t, l.path(name), text) }

func (l *watchLab) remove(name string) {
	l.t.Helper()
	if err := os.RemoveAll(l.path(name)); err != nil {
		l.t.Fatal(err)
	}
}

func (l *watchLab) rename(from, to string) {
	l.t.Helper()
	if err := os.Rename(from, to); err != nil {
		l.t.Fatal(err)
	}
}

// reload reads the folder until nothing is pending and returns one line per event.
func (l *watchLab) reload() []string {
	l.t.Helper()
	for range 10 {
		if !l.w.reload(time.Now()) {
			return l.events()
		}
	}
	l.t.Fatal("the folder stays pending")
	return nil
}

func (l *watchLab) events() []string {
	var lines []string
	for {
		e, some, _ := l.s.next()
		if !some {
			return lines
		}
		lines = append(lines, l.line(e))
	}
}

func (l *watchLab) line(e CatalogEvent) string {
	file := strings.TrimPrefix(strings.TrimPrefix(e.File, l.dir), string(filepath.Separator))
	switch e.Type {
	case ReloadStarted:
		return "started"
	case ReloadCompleted:
		return fmt.Sprintf("completed: %d tools, %d faulty", e.Tools, e.Faulty)
	case LoadError:
		return "error " + file + ": " + strings.ReplaceAll(e.Error.Error(), l.dir+
			string(filepath.Separator), "")
	case ToolUpdated:
		return fmt.Sprintf("updated %s %s to %s", e.Tool, e.OldVersion, e.Version)
	}
	return strings.TrimPrefix(string(e.Type), "tool_") + " " + e.Tool + " in " + file
}

// tools returns the tools in effect, with their versions.
func (l *watchLab) tools() string {
	var list []string
	for _, t := range l.w.Catalog().All() {
		list = append(list, t.Spec.Name+"@"+t.Spec.Version)
	}
	return strings.Join(list, " ")
}

const bomb = "a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\n" +
	"d: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c]\ne: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d]\nf: &f [*e,*e,*e,*e,*e,*e,*e,*e,*e]\nname: [*f,*f,*f,*f,*f,*f,*f,*f,*f]\n"

// Every kind of change takes effect if it is valid. An invalid file keeps its last version. Each
// case starts with a.yaml, which has the tool a, and b.yaml, which has b and c.
func TestReload_AppliesValidChangesOnly(t *testing.T) {
	cases := []struct {
		name   string
		change func(l *watchLab)
		// events are all but the first and the last one; the last one has faulty.
		events []string
		faulty int
		tools  string
	}{
		{"edited", func(l *watchLab) { l.write("a.yaml", specOf("a@2.0.0")) },
			[]string{"updated a 1.0.0 to 2.0.0"}, 0, "a@2.0.0 b@1.0.0 c@1.0.0"},
		{"added", func(l *watchLab) { l.write("more/d.yml", specOf("d")) },
			[]string{"added d in more/d.yml"}, 0, "a@1.0.0 b@1.0.0 c@1.0.0 d@1.0.0"},
		{"removed", func(l *watchLab) { l.remove("b.yaml") }, []string{"removed b in b.yaml",
			"removed c in b.yaml"}, 0, "a@1.0.0"},
		{"one of a file removed", func(l *watchLab) { l.write("b.yaml", specOf("c")) },
			[]string{"removed b in b.yaml"}, 0, "a@1.0.0 c@1.0.0"},
		{"moved", func(l *watchLab) { l.rename(l.path("a.yaml"), l.path("z.yaml")) }, nil, 0,
			"a@1.0.0 b@1.0.0 c@1.0.0"},
		{"renamed tool", func(l *watchLab) { l.write("a.yaml", specOf("d")) },
			[]string{"removed a in a.yaml", "added d in a.yaml"}, 0, "b@1.0.0 c@1.0.0 d@1.0.0"},
		{"a comment", func(l *watchLab) { l.write("a.yaml", "# new\n"+specOf("a")) }, nil, 0,
			"a@1.0.0 b@1.0.0 c@1.0.0"},
		{"broken", func(l *watchLab) { l.write("a.yaml", "name: a\nversion: [") },
			[]string{"error a.yaml: a.yaml:2:1: this is not YAML: …"}, 1,
			"a@1.0.0 b@1.0.0 c@1.0.0"},
		{"broken, others edited", func(l *watchLab) {
			l.write("a.yaml", strings.ReplaceAll(specOf("a"), "description", "describtion"))
			l.write("b.yaml", specOf("b@2.0.0", "c"))
		}, []string{"error a.yaml: a.yaml:1:1: description is missing\na.yaml:3:1: unknown field \"describtion\" (did you mean \"description\"?)",
			"updated b 1.0.0 to 2.0.0"}, 1, "a@1.0.0 b@2.0.0 c@1.0.0"},
		{"one of a file broken",
			func(l *watchLab) { l.write("b.yaml", specOf("b@2.0.0", "c@two")) },
			[]string{`error b.yaml: b.yaml:7:10: version "two" is not a semantic version (write three numbers, such as 1.0.0)`},
			1, "a@1.0.0 b@1.0.0 c@1.0.0"},
		{"new and broken", func(l *watchLab) { l.write("d.yaml", "name: d\n") },
			[]string{"error d.yaml: d.yaml:1:1: version is missing\nd.yaml:1:1: description is missing\nd.yaml:1:1: entry is missing"},
			1, "a@1.0.0 b@1.0.0 c@1.0.0"},
		{"emptied", func(l *watchLab) { l.write("a.yaml", "") },
			[]string{"error a.yaml: a.yaml:1:1: the file is empty"}, 1, "a@1.0.0 b@1.0.0 c@1.0.0"},
		{"alias bomb", func(l *watchLab) { l.write("a.yaml", bomb) }, []string{"error a.yaml: …"},
			1, "a@1.0.0 b@1.0.0 c@1.0.0"},
		{"too large", func(l *watchLab) {
			l.write("a.yaml", "# "+
				strings.Repeat("x", toolspecs.MaxFileBytes))
		}, []string{"error a.yaml: …"}, 1, "a@1.0.0 b@1.0.0 c@1.0.0"},
		{"taken by a new file", func(l *watchLab) { l.write("0.yaml", specOf("a@2.0.0")) },
			[]string{`error 0.yaml: 0.yaml:1:7: there is another tool "a", at a.yaml:1:7 (rename or remove one of them)`},
			1, "a@1.0.0 b@1.0.0 c@1.0.0"},
		{"taken by two edits",
			func(l *watchLab) {
				l.write("0.yaml", specOf("a@2.0.0"))
				l.write("a.yaml",
					specOf("a@3.0.0"))
			},
			[]string{`error 0.yaml: 0.yaml:1:7: there is another tool "a", at a.yaml:1:7 (rename or remove one of them)`,
				"updated a 1.0.0 to 3.0.0"}, 1, "a@3.0.0 b@1.0.0 c@1.0.0"},
		{"taken by two new files",
			func(l *watchLab) { l.write("x.yaml", specOf("d")); l.write("y.yaml", specOf("d")) },
			[]string{`error y.yaml: y.yaml:1:7: there is another tool "d", at x.yaml:1:7 (rename or remove one of them)`,
				"added d in x.yaml"}, 1, "a@1.0.0 b@1.0.0 c@1.0.0 d@1.0.0"},
		{"taken from one that falls back",
			func(l *watchLab) {
				l.write("a.yaml", specOf("b"))
				l.write("b.yaml",
					specOf("d", "e@five"))
			},
			[]string{`error a.yaml: a.yaml:1:7: there is another tool "b", at b.yaml:1:7 (rename or remove one of them)`,
				"error b.yaml: …"}, 2, "a@1.0.0 b@1.0.0 c@1.0.0"},
		{"names swapped", func(l *watchLab) {
			l.write("a.yaml",
				specOf("b@2.0.0", "c"))
			l.write("b.yaml", specOf("a@2.0.0"))
		},
			[]string{"updated a 1.0.0 to 2.0.0", "updated b 1.0.0 to 2.0.0"}, 0,
			"a@2.0.0 b@2.0.0 c@1.0.0"},
		{"a tool the worker has", func(l *watchLab) { l.write("a.yaml", specOf("own@2.0.0")) },
			[]string{`error a.yaml: a.yaml:1:7: there is another tool "own", which the worker provides (rename it: starter tools import takes --prefix)`},
			1, "a@1.0.0 b@1.0.0 c@1.0.0"},
		{"refused by the check", func(l *watchLab) { l.write("a.yaml", specOf("unfit")) },
			[]string{"error a.yaml: a.yaml:1:7: it does not fit"}, 1, "a@1.0.0 b@1.0.0 c@1.0.0"},
		{"a folder in its place", func(l *watchLab) {
			l.remove("a.yaml")
			l.write("a.yaml/d.yaml",
				specOf("d"))
		},
			[]string{"removed a in a.yaml", "added d in a.yaml/d.yaml"}, 0,
			"b@1.0.0 c@1.0.0 d@1.0.0"},
		{"a link out of the folder", func(l *watchLab) {
			outside := filepath.Join(l.t.TempDir(), "a.yaml")
			write(l.t, outside, specOf("a@2.0.0"))
			l.remove("a.yaml")
			link(l.t, outside, l.path("a.yaml"))
		}, []string{"error a.yaml: a.yaml: cannot be read: path escapes from parent"}, 1,
			"a@1.0.0 b@1.0.0 c@1.0.0"},
		{"a link within the folder", func(l *watchLab) {
			l.write(".data/a.yaml", specOf("a@2.0.0"))
			l.remove("a.yaml")
			link(l.t, filepath.Join(".data", "a.yaml"), l.path("a.yaml"))
		}, []string{"updated a 1.0.0 to 2.0.0"}, 0, "a@2.0.0 b@1.0.0 c@1.0.0"},
		{"a link to nothing", func(l *watchLab) {
			l.remove("a.yaml")
			link(l.t, "nowhere",
				l.path("a.yaml"))
		},
			[]string{"error a.yaml: a.yaml: cannot be read: no such file or directory"}, 1,
			"a@1.0.0 b@1.0.0 c@1.0.0"},
		{"the folder is gone", func(l *watchLab) { l.rename(l.dir, l.dir+".old") },
			[]string{"error …"}, 1, "a@1.0.0 b@1.0.0 c@1.0.0"},
		{"another folder in its place",
			func(l *watchLab) {
				l.rename(l.dir, l.dir+".old")
				l.write("z.yaml",
					specOf("a@2.0.0"))
			},
			[]string{"removed b in b.yaml", "removed c in b.yaml", "updated a 1.0.0 to 2.0.0"}, 0,
			"a@2.0.0"},
		{"a file in its place", func(l *watchLab) { l.remove(""); write(l.t, l.dir, "text") },
			[]string{"error …"}, 1, "a@1.0.0 b@1.0.0 c@1.0.0"},
		{"emptied folder", func(l *watchLab) { l.remove("a.yaml"); l.remove("b.yaml") },
			[]string{"removed a in a.yaml", "removed b in b.yaml", "removed c in b.yaml"}, 0, ""},
		{"nothing", func(l *watchLab) {
			l.write("notes.txt", "x")
			l.write(".hidden.yaml", "x")
			l.write(".git/x.yaml", "x")
			l.write("a.yaml", specOf("a"))
		},
			nil, -1, "a@1.0.0 b@1.0.0 c@1.0.0"},
	}
	base, err := toolspecs.NewCatalog([]toolspecs.Spec{own})
	if err != nil {
		t.Fatal(err)
	}
	config := WatchConfig{Base: base, Check: func(c *toolspecs.Compiled) []string {
		if c.Spec.Name == "unfit" {
			return []string{"it does not fit"}
		}
		return nil
	}}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			l := newWatchLab(t, config, map[string]string{"a.yaml": specOf("a"),
				"b.yaml": specOf("b", "c")})
			if got := l.reload(); got != nil {
				t.Fatalf("nothing had changed, and this happened: %q", got)
			}
			c.change(l)
			got := l.reload()
			var want []string
			if tools := strings.TrimSpace(c.tools + " own@1.0.0"); c.faulty >= 0 {
				want = slices.Concat([]string{"started"}, c.events,
					[]string{fmt.Sprintf("completed: %d tools, %d faulty",
						len(strings.Fields(tools)), c.faulty)})
			}
			if !slices.EqualFunc(got, want, alike) {
				t.Errorf("events\n got %q\nwant %q", got, want)
			}
			if got, want := l.tools(), strings.TrimSpace(c.tools+" own@1.0.0"); got != want {
				t.Errorf("tools: %q, want %q", got, want)
			}
			if s := l.w.Status(); (s.Err() != nil) != (c.faulty > 0) ||
				s.Failed.IsZero() != (c.faulty <= 0) {
				t.Errorf("status: %+v", s)
			}
			if got := l.reload(); got != nil {
				t.Errorf("the fault is reported twice: %q", got)
			}
		})
	}
}

// alike compares a line with the expected one, in which … matches any text.
func alike(got, want string) bool {
	before, after, open := strings.Cut(want, "…")
	return got == want || open && strings.HasPrefix(got, before) && strings.HasSuffix(got, after)
}

func link(t *testing.T, target, path string) {
	t.Helper()
	if err := os.Symlink(target, path); err != nil {
		t.Skip("no symbolic links here: ", err)
	}
}

// A repair takes effect and is reported: a valid file, a name that is free again, a folder that
// exists again.
func TestReload_ReportsRepairs(t *testing.T) {
	l := newWatchLab(t, WatchConfig{}, map[string]string{"a.yaml": specOf("a"),
		"b.yaml": specOf("b")})
	steps := []struct {
		name   string
		change func()
		want   []string
	}{
		{"one of two edits that swap names", func() { l.write("a.yaml", specOf("b@2.0.0")) },
			[]string{"started",
				`error a.yaml: a.yaml:1:7: there is another tool "b", at b.yaml:1:7 (rename or remove one of them)`,
				"completed: 2 tools, 1 faulty"}},
		{"the other", func() { l.write("b.yaml", specOf("a@2.0.0")) },
			[]string{"started", "updated a 1.0.0 to 2.0.0", "updated b 1.0.0 to 2.0.0",
				"completed: 2 tools, 0 faulty"}},
		{"broken", func() { l.write("a.yaml", "name: b") }, []string{"started", "error a.yaml: …",
			"completed: 2 tools, 1 faulty"}},
		{"broken in another way", func() { l.write("a.yaml", "nam: b") },
			[]string{"started", "error a.yaml: …", "completed: 2 tools, 1 faulty"}},
		{"another file, while it is broken", func() { l.write("c.yaml", specOf("c")) },
			[]string{"started", "added c in c.yaml", "completed: 3 tools, 1 faulty"}},
		{"as it was", func() { l.write("a.yaml", specOf("b@2.0.0")) },
			[]string{"started", "completed: 3 tools, 0 faulty"}},
		{"broken and removed", func() { l.write("c.yaml", "x") },
			[]string{"started", "error c.yaml: …", "completed: 3 tools, 1 faulty"}},
		{"and removed", func() { l.remove("c.yaml") }, []string{"started", "removed c in c.yaml",
			"completed: 2 tools, 0 faulty"}},
		{"gone", func() { l.rename(l.dir, l.dir+".old") }, []string{"started", "error …",
			"completed: 2 tools, 1 faulty"}},
		{"back", func() { l.rename(l.dir+".old", l.dir) },
			[]string{"started", "completed: 2 tools, 0 faulty"}},
	}
	for _, s := range steps {
		s.change()
		if got := l.reload(); !slices.EqualFunc(got, s.want, alike) {
			t.Errorf("%s:\n got %q\nwant %q", s.name, got, s.want)
		}
	}
}

// A file that is being written is not read until it stops changing, however often the folder is
// read. The same is true of a file or a folder that is missing for a moment.
func TestReload_WaitsForPendingWrites(t *testing.T) {
	l := newWatchLab(t, WatchConfig{}, map[string]string{"a.yaml": specOf("a")})
	look := func(pending bool) {
		t.Helper()
		if got := l.w.reload(time.Now()); got != pending {
			t.Errorf("pending: %t, want %t", got, pending)
		}
		if got := l.events(); got != nil {
			t.Errorf("this happened: %q", got)
		}
	}
	whole := specOf("a@2.0.0") + "execution: {effect: read}\n"
	// Each part but the last is another broken file, or one without its end.
	for n := 10; n < len(whole); n += 20 {
		l.write("a.yaml", whole[:n])
		look(true)
	}
	l.write("a.yaml", whole)
	look(true)
	if got := l.reload(); !slices.Contains(got, "updated a 1.0.0 to 2.0.0") || len(got) != 3 {
		t.Errorf("this happened: %q", got)
	}
	l.rename(l.path("a.yaml"), l.path("a.yaml~"))
	look(true)
	l.rename(l.path("a.yaml~"), l.path("a.yaml"))
	if got := l.reload(); got != nil {
		t.Errorf("this happened: %q", got)
	}
	l.rename(l.dir, l.dir+"~")
	look(true)
	l.rename(l.dir+"~", l.dir)
	if got := l.reload(); got != nil {
		t.Errorf("this happened: %q", got)
	}
}

// A worker without a folder still has its own tools.
func TestWatch_RefusesAnInvalidFolderAtStart(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "a.yaml"), specOf("own@2.0.0"))
	write(t, filepath.Join(dir, "b.yaml"), "name: b\n")
	base, err := toolspecs.NewCatalog([]toolspecs.Spec{own})
	if err != nil {
		t.Fatal(err)
	}
	_, err = Watch(WatchConfig{Dir: dir, Base: base})
	b := filepath.Join(dir, "b.yaml")
	want := filepath.Join(dir, "a.yaml") + `:1:7: there is another tool "own", which the worker provides (rename it: starter tools import takes --prefix)` +
		"\n" + b + ":1:1: version is missing\n" + b + ":1:1: description is missing\n" + b +
		":1:1: entry is missing"
	if faults, ok := errors.AsType[toolspecs.Faults](err); !ok || faults.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	if _, err := Watch(WatchConfig{Dir: filepath.Join(dir, "none")}); err == nil {
		t.Error("a folder that does not exist was loaded")
	}
	w, err := Watch(WatchConfig{Base: base})
	if err != nil {
		t.Fatal(err)
	}
	first := make(chan CatalogEvent, 1)
	w.Subscribe(func(e CatalogEvent) { first <- e })
	if e := <-first; e.Type != ToolLoaded || e.Tool != "own" || e.File != "" {
		t.Errorf("got %+v", e)
	}
	w.Close()
	w.Close()
	if got := w.Catalog().Names(); !slices.Equal(got, []string{"own"}) {
		t.Errorf("after the end: %v", got)
	}
}

// A watcher that skips invalid files uses the valid files, reports the faults, and adds repaired
// files. Of two files with the same tool, the first by name has it.
func TestWatch_SkipsInvalidFiles(t *testing.T) {
	files := map[string]string{"a.yaml": specOf("one"), "b.yaml": specOf("one@2.0.0"),
		"c.yaml": "name: broken\n", "d.yaml": specOf("two")}
	dir := filepath.Join(t.TempDir(), "tools")
	for name, text := range files {
		write(t, filepath.Join(dir, name), text)
	}
	if _, err := newWatcher(WatchConfig{Dir: dir}); err == nil {
		t.Error("it begins unasked")
	}
	if _, err := newWatcher(WatchConfig{Dir: filepath.Join(dir, "none"),
		SkipInvalid: true}); err == nil {
		t.Error("it begins without a folder")
	}
	l := newWatchLab(t, WatchConfig{SkipInvalid: true}, files)
	s := l.w.Status()
	one, _ := s.Catalog.Get("one")
	if names := s.Catalog.Names(); !slices.Equal(names, []string{"one", "two"}) ||
		one.Spec.Version != "1.0.0" {
		t.Errorf("in effect are %v", names)
	}
	if s.Failed.IsZero() || len(s.Faults) != 2 || s.Faults[l.path("b.yaml")] == nil ||
		s.Faults[l.path("c.yaml")] == nil {
		t.Errorf("the faults are %v", s.Faults)
	}
	l.write("c.yaml", specOf("broken"))
	for range 3 {
		l.w.reload(time.Now())
	}
	if s := l.w.Status(); len(s.Faults) != 1 || !slices.Equal(s.Catalog.Names(),
		[]string{"broken", "one", "two"}) {
		t.Errorf("mended, in effect are %v, and wrong is %v", s.Catalog.Names(), s.Faults)
	}
}

// LoadSkippingInvalid returns the valid files together with the base, and all faults. Without a
// folder it returns the base alone.
func TestLoad_SkipsInvalidFiles(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "tools")
	for name, text := range map[string]string{"a.yaml": specOf("one"), "b.yaml": specOf("one@2.0.0",
		"three"), "c.yaml": "name: broken\n", "d.yaml": specOf("echo@9.0.0")} {
		write(t, filepath.Join(dir, name), text)
	}
	base, err := toolspecs.NewCatalog([]toolspecs.Spec{shippedSpec(t, "echo")})
	if err != nil {
		t.Fatal(err)
	}
	catalog, err := LoadSkippingInvalid(dir, toolspecs.Options{}, base)
	faults, ok := errors.AsType[toolspecs.Faults](err)
	if !slices.Equal(catalog.Names(), []string{"echo", "one"}) || !ok {
		t.Errorf("got %v, %v", catalog.Names(), err)
	}
	wrong := map[string]bool{}
	for _, f := range faults {
		wrong[filepath.Base(f.File)] = true
	}
	if len(wrong) != 3 || wrong["a.yaml"] {
		t.Errorf("the faults are %v", faults)
	}
	catalog, err = LoadSkippingInvalid(filepath.Join(dir, "none"), toolspecs.Options{}, base)
	if _, ok := errors.AsType[toolspecs.Faults](err); err == nil || ok ||
		!slices.Equal(catalog.Names(), []string{"echo"}) {
		t.Errorf("of no folder: %v, %v", catalog.Names(), err)
	}
}

func shippedSpec(t *testing.T, name string) toolspecs.Spec {
	t.Helper()
	specs := toolspecs.LoadShipped()
	i := slices.IndexFunc(specs, func(s toolspecs.Spec) bool { return s.Name == name })
	if i < 0 {
		t.Fatalf("no shipped tool %s", name)
	}
	return specs[i]
}
