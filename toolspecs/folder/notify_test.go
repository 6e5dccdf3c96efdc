package folder

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// never is an interval that no test lives to see.
const never = time.Hour

// await reads events until one is as wanted, "type tool version"; the test's own timeout bounds it.
func await(t *testing.T, events <-chan CatalogEvent, want string) CatalogEvent {
	t.Helper()
	var seen []string
	for {
		select {
		case e := <-events:
			line := strings.TrimSpace(fmt.Sprintf("%s %s %s", e.Type, e.Tool, e.Version))
			if line == want {
				return e
			}
			seen = append(seen, line)
		case <-time.After(30 * time.Second):
			t.Fatalf("%q never came; these did: %q", want, seen)
		}
	}
}

// watching starts a watcher of a folder with the tool a, and returns its events.
func watching(t *testing.T, c WatchConfig) (dir string, events <-chan CatalogEvent) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "tools")
	write(t, filepath.Join(dir, "a.yaml"), specOf("a"))
	c.Dir = dir
	events = following(t, c)
	await(t, events, "tool_loaded a 1.0.0")
	return dir, events
}

// following starts a watcher and returns its events.
func following(t *testing.T, c WatchConfig) <-chan CatalogEvent {
	t.Helper()
	w, err := Watch(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Close)
	all := make(chan CatalogEvent, 1000)
	w.Subscribe(func(e CatalogEvent) { all <- e })
	return all
}

// The file system tells of every change: in the folder, in folders that are made later, and in a
// folder that has taken the place of another. How often the folder is looked at anyway does not
// matter.
func TestWatchIsTold(t *testing.T) {
	t.Parallel()
	dir, events := watching(t, WatchConfig{Interval: never,
		OnPolling: func(err error) { t.Skip("the file system tells of nothing here: ", err) }})
	write(t, filepath.Join(dir, "a.yaml"), specOf("a@2.0.0"))
	await(t, events, "tool_updated a 2.0.0")
	write(t, filepath.Join(dir, "more", "deep", "b.yaml"), specOf("b"))
	await(t, events, "tool_added b 1.0.0")
	write(t, filepath.Join(dir, "more", "deep", "b.yaml"), specOf("b@2.0.0"))
	await(t, events, "tool_updated b 2.0.0")
	other := filepath.Join(dir, "other")
	write(t, filepath.Join(other, "b.yaml"), specOf("b@3.0.0"))
	await(t, events, "load_error") // two files have the tool b now
	deep := filepath.Join(dir, "more", "deep")
	if err := os.Rename(deep, filepath.Join(t.TempDir(), "deep")); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(other, deep); err != nil {
		t.Fatal(err)
	}
	await(t, events, "tool_updated b 3.0.0")
	write(t, filepath.Join(deep, "b.yaml"), specOf("b@4.0.0"))
	await(t, events, "tool_updated b 4.0.0")
	temporary := filepath.Join(dir, ".a.yaml.swp")
	write(t, temporary, specOf("a@3.0.0"))
	if err := os.Rename(temporary, filepath.Join(dir, "a.yaml")); err != nil {
		t.Fatal(err)
	}
	await(t, events, "tool_updated a 3.0.0")
	if err := os.RemoveAll(deep); err != nil {
		t.Fatal(err)
	}
	await(t, events, "tool_removed b 4.0.0")
}

// withoutNotices marks the process that this test starts for itself: one that may not watch
// anything.
const withoutNotices = "TOOLSPECS_WITHOUT_NOTICES"

// Where the file system cannot tell of changes, looking every so often finds them, and the reason
// is told once.
func TestWatchPolls(t *testing.T) {
	if os.Getenv(withoutNotices) == "" {
		program, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		// In a user namespace of its own a process may have a limit of its own.
		cmd := exec.Command("unshare", "--user", "--map-root-user", "sh", "-c",
			`echo 0 > /proc/sys/user/max_inotify_instances && exec "$0" "$@"`,
			program, "-test.run=^TestWatchPolls$", "-test.v")
		cmd.Env = append(os.Environ(), withoutNotices+"=1")
		out, err := cmd.CombinedOutput()
		switch {
		case strings.Contains(string(out), "--- PASS"):
		case strings.Contains(string(out), "--- FAIL"):
			t.Errorf("%s", out)
		default:
			t.Skipf("a process without notices cannot be made here: %v: %s", err, out)
		}
		return
	}
	told := make(chan error, 10)
	dir, events := watching(t, WatchConfig{Interval: 20 * time.Millisecond,
		OnPolling: func(err error) { told <- err }})
	if err := <-told; err == nil {
		t.Error("no reason was told")
	}
	write(t, filepath.Join(dir, "more", "b.yaml"), specOf("b"))
	await(t, events, "tool_added b 1.0.0")
	write(t, filepath.Join(dir, "a.yaml"), specOf("a@2.0.0"))
	await(t, events, "tool_updated a 2.0.0")
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	await(t, events, "load_error")
	write(t, filepath.Join(dir, "a.yaml"), specOf("a@3.0.0"))
	await(t, events, "tool_updated a 3.0.0")
	if len(told) != 0 {
		t.Errorf("it was told again: %v", <-told)
	}
}
