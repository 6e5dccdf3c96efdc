package filewatch

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A folder that has just been removed is not reported, and other folders are watched.
func TestNotifier_ReportsFoldersItCannotWatch(t *testing.T) {
	n := newNotifier()
	defer n.close()
	if n.failed != nil {
		t.Fatal(n.failed)
	}
	dir := t.TempDir()
	info, err := os.Stat(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	impossible := filepath.Join(dir, "file", "in it")
	if added := n.watch(map[string]os.FileInfo{dir: info, impossible: info}); !added ||
		n.failed == nil || !strings.Contains(n.failed.Error(), impossible) {
		t.Errorf("added: %t, failed: %v", added, n.failed)
	}
	if added := n.watch(map[string]os.FileInfo{dir: info,
		filepath.Join(dir, "none"): info}); added || n.failed != nil {
		t.Errorf("added: %t, failed: %v", added, n.failed)
	}
}
