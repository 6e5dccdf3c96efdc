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

// never is an interval longer than any test.
const never = time.Hour

// await reads events until one equals want, "type tool version". The timeout of the test bounds it.
func await(t *testing.T, events <-chan CatalogEvent, want string) CatalogEvent {
	t.Helper()
	var others []string
	for {
		select {
		case e := <-events:
			line := strings.TrimSpace(fmt.Sprintf("%s %s %s", e.Type, e.Tool, e.Version))
			if line == want {
				return e
			}
			others = append(others, line)
		case <-time.After(30 * time.Second):
			t.Fatalf("no event %q, only %q", want, others)
		}
	}
}

// watching starts a watcher of a folder with the tool a and returns its events.
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

// The file system reports every change: in the folder, in folders that are created later, and in a
// folder that replaces another. The polling interval does not matter.
func TestWatch_FollowsNotifications(t *testing.T) {
	t.Parallel()
	dir, events := watching(t, WatchConfig{Interval: never,
		OnPolling: func(err error) { t.Error("the watcher polls: ", err) }})
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

// withoutNotices marks the process that this test starts: one without file notifications.
const withoutNotices = "TOOLSPECS_WITHOUT_NOTICES"

// If the file system cannot report changes, polling finds them, and the reason is reported once.
func TestWatch_PollsWithoutNotifications(t *testing.T) {
	if os.Getenv(withoutNotices) == "" {
		program, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		// In its own user namespace, a process can have its own limit.
		cmd := exec.Command("unshare", "--user", "--map-root-user", "sh", "-c",
			`echo 0 > /proc/sys/user/max_inotify_instances && exec "$0" "$@"`,
			program, "-test.run=^TestWatch_PollsWithoutNotifications$", "-test.v")
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
	reasons := make(chan error, 10)
	dir, events := watching(t, WatchConfig{Interval: 20 * time.Millisecond,
		OnPolling: func(err error) { reasons <- err }})
	if err := <-reasons; err == nil {
		t.Error("the reason is nil")
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
	if len(reasons) != 0 {
		t.Errorf("the reason is reported again: %v", <-reasons)
	}
}
