package folder

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// turn creates a link, or points the existing one elsewhere, in one step.
func turn(t *testing.T, to, at string) {
	t.Helper()
	link(t, to, at+".new")
	if err := os.Rename(at+".new", at); err != nil {
		t.Fatal(err)
	}
}

// A folder that is mounted from a Kubernetes ConfigMap contains links to files in a hidden folder,
// which one rename of a link replaces. That is an edit of all files at once.
func TestWatch_FollowsAConfigMap(t *testing.T) {
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

// Deployments replace a linked folder by changing the link.
func TestWatch_FollowsALinkedFolder(t *testing.T) {
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
