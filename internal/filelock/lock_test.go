package filelock

import (
	"path/filepath"
	"testing"
	"time"
)

// A process that hangs while it has the lock delays others for a bounded time.
func TestLock_GivesUpOnAProcessThatHangs(t *testing.T) {
	path := filepath.Join(t.TempDir(), "logins", "a.json.lock")
	unlock, err := Lock(t.Context(), path, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Lock(t.Context(), path, 10*time.Millisecond); err == nil {
		t.Error("the lock was given twice")
	}
	unlock()
	again, err := Lock(t.Context(), path, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	again()
}
