//go:build unix

package outbound

import (
	"path/filepath"
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
		if _, err := Secret("file:" + path); err == nil || err.Error() !=
			"precondition_failed: the secret file:"+path+" is not a regular file on this worker" {
			t.Errorf("%s: got %v", path, err)
		}
	}
}
