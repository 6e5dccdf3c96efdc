package folder

import (
	"os"
	"runtime"
	"slices"
	"syscall"
	"testing"
)

// asNobody drops the file permissions of the test's user and returns a function that restores them.
func asNobody(t *testing.T) (back func()) {
	t.Helper()
	if os.Geteuid() != 0 {
		return func() {}
	}
	runtime.LockOSThread()
	const nobody = 65534
	if err := syscall.Setfsuid(nobody); err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := syscall.Setfsuid(0); err != nil {
			t.Fatal(err)
		}
		runtime.UnlockOSThread()
	}
}

// Unreadable files and folders keep their last version. When they become readable again, the change
// is noticed. A pipe in place of a file does not block.
func TestReload_KeepsUnreadableFiles(t *testing.T) {
	l := newWatchLab(t, WatchConfig{}, map[string]string{"a.yaml": specOf("a"),
		"sub/b.yaml": specOf("b"), "sub/deep/c.yaml": specOf("c")})
	chmod := func(name string, mode os.FileMode) {
		t.Helper()
		if err := os.Chmod(l.path(name), mode); err != nil {
			t.Fatal(err)
		}
	}
	for dir := l.dir; len(dir) > len(os.TempDir()); dir = dir[:len(dir)-1] {
		if os.PathSeparator == dir[len(dir)-1] || dir == l.dir {
			if err := os.Chmod(dir, 0o755); err != nil {
				t.Fatal(err)
			}
		}
	}
	steps := []struct {
		name   string
		change func()
		want   []string
		tools  string
	}{
		{"file closed", func() { l.write("a.yaml", specOf("a@2.0.0")); chmod("a.yaml", 0) },
			[]string{"started", "error a.yaml: a.yaml: cannot be read: permission denied",
				"completed: 3 tools, 1 faulty"}, "a@1.0.0 b@1.0.0 c@1.0.0"},
		{"file open", func() { chmod("a.yaml", 0o644) },
			[]string{"started", "updated a 1.0.0 to 2.0.0", "completed: 3 tools, 0 faulty"},
			"a@2.0.0 b@1.0.0 c@1.0.0"},
		{"folder closed", func() { l.write("sub/b.yaml", specOf("b@2.0.0")); chmod("sub", 0) },
			[]string{"started", "error sub: sub: cannot be read: permission denied",
				"completed: 3 tools, 1 faulty"}, "a@2.0.0 b@1.0.0 c@1.0.0"},
		{"folder open", func() { chmod("sub", 0o755) }, []string{"…"}, "a@2.0.0 b@2.0.0 c@1.0.0"},
		{"all closed", func() { chmod("", 0) }, []string{"started", "error …",
			"completed: 3 tools, 1 faulty"}, "a@2.0.0 b@2.0.0 c@1.0.0"},
		{"all open", func() { chmod("", 0o755) },
			[]string{"started", "completed: 3 tools, 0 faulty"}, "a@2.0.0 b@2.0.0 c@1.0.0"},
		{"a pipe", func() {
			l.remove("a.yaml")
			if err := syscall.Mkfifo(l.path("a.yaml"), 0o644); err != nil {
				t.Fatal(err)
			}
		}, []string{"started", "error a.yaml: a.yaml: cannot be read: it is not a regular file",
			"completed: 3 tools, 1 faulty"}, "a@2.0.0 b@2.0.0 c@1.0.0"},
	}
	for _, s := range steps {
		s.change()
		back := asNobody(t)
		got := l.reload()
		back()
		if s.want[0] != "…" && !slices.EqualFunc(got, s.want, alike) {
			t.Errorf("%s:\n got %q\nwant %q", s.name, got, s.want)
		}
		if l.tools() != s.tools {
			t.Errorf("%s: the tools are %s, want %s", s.name, l.tools(), s.tools)
		}
	}
}
