package folder

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// turn makes a link, or has the one that is there lead somewhere else, in one step.
func turn(t *testing.T, to, at string) {
	t.Helper()
	link(t, to, at+".new")
	if err := os.Rename(at+".new", at); err != nil {
		t.Fatal(err)
	}
}

// A folder that is mounted from a Kubernetes ConfigMap holds links to files in a hidden folder,
// which is swapped by one rename of a link: that is an edit of all files at once.
func TestWatchFollowsAConfigMap(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "tools")
	write(t, filepath.Join(dir, "..1", "a.yaml"), specOf("a"))
	write(t, filepath.Join(dir, "..1", "b.yaml"), specOf("b"))
	turn(t, "..1", filepath.Join(dir, "..data"))
	for _, name := range []string{"a.yaml", "b.yaml"} {
		turn(t, filepath.Join("..data", name), filepath.Join(dir, name))
	}
	events := following(t, WatchConfig{Dir: dir, Interval: 50 * time.Millisecond})
	await(t, events, "tool_loaded b 1.0.0")
	write(t, filepath.Join(dir, "..2", "a.yaml"), specOf("a@2.0.0"))
	write(t, filepath.Join(dir, "..2", "b.yaml"), specOf("b@2.0.0"))
	turn(t, "..2", filepath.Join(dir, "..data"))
	await(t, events, "tool_updated a 2.0.0")
	await(t, events, "tool_updated b 2.0.0")
}

// A folder that is a link comes to be another when the link is turned, as deployments do it.
func TestWatchFollowsALinkedFolder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "v1", "a.yaml"), specOf("a"))
	write(t, filepath.Join(dir, "v2", "a.yaml"), specOf("a@2.0.0"))
	turn(t, "v1", filepath.Join(dir, "current"))
	events := following(t, WatchConfig{Dir: filepath.Join(dir, "current"),
		Interval: 50 * time.Millisecond})
	await(t, events, "tool_loaded a 1.0.0")
	turn(t, "v2", filepath.Join(dir, "current"))
	await(t, events, "tool_updated a 2.0.0")
	write(t, filepath.Join(dir, "v2", "a.yaml"), specOf("a@3.0.0"))
	await(t, events, "tool_updated a 3.0.0")
}
