//go:build unix

package outbound

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// A pipe without a writer and an endless device do not block.
func TestSecret_RefusesPipesAndDevices(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{pipe, "/dev/zero"} {
		if _, err := Secret("file:" + path); err == nil || !strings.Contains(err.Error(),
			"not a regular file") {
			t.Errorf("%s: got %v", path, err)
		}
	}
}
