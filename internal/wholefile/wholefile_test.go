package wholefile_test

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"

	"github.com/switchyard/switchyard/internal/wholefile"
)

// names returns what a folder contains.
func names(t *testing.T, folder string) (list []string) {
	t.Helper()
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		list = append(list, e.Name())
	}
	return list
}

func TestWrite_ShowsReadersAWholeFile(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "f")
	texts := [][]byte{bytes.Repeat([]byte("a"), 1<<20), bytes.Repeat([]byte("b"), 1<<19)}
	if err := wholefile.Write(path, texts[0], 0o600); err != nil {
		t.Fatal(err)
	}
	var writers sync.WaitGroup
	for _, text := range texts {
		writers.Go(func() {
			for range 10 {
				if err := wholefile.Write(path, text, 0o600); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for range 50 {
		got, err := os.ReadFile(path)
		if err != nil || !bytes.Equal(got, texts[0]) && !bytes.Equal(got, texts[1]) {
			t.Errorf("a reader found %d bytes, %v", len(got), err)
		}
	}
	writers.Wait()
	if list := names(t, folder); len(list) != 1 {
		t.Errorf("the folder has %q", list)
	}
}

func TestWrite_GivesTheMode(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there are no modes")
	}
	path := filepath.Join(t.TempDir(), "f")
	for _, mode := range []os.FileMode{0o600, 0o644} {
		if err := wholefile.Write(path, []byte("x"), mode); err != nil {
			t.Fatal(err)
		}
		if info, err := os.Stat(path); err != nil || info.Mode() != mode {
			t.Errorf("the file is %v, %v, want the mode %v", info, err, mode)
		}
	}
}

func TestWrite_LeavesNothingAfterAFailure(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "is-a-folder")
	if err := os.MkdirAll(filepath.Join(path, "within"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := wholefile.Write(path, []byte("x"), 0o600); err == nil {
		t.Error("a folder was replaced by a file")
	}
	if list := names(t, folder); len(list) != 1 || list[0] != "is-a-folder" {
		t.Errorf("the folder has %q", list)
	}
	if err := wholefile.Write(filepath.Join(folder, "missing", "f"), nil, 0o600); err == nil {
		t.Error("a file was written into a folder that does not exist")
	}
}

func TestSyncFolder_FailsOnlyIfNamesMayBeLost(t *testing.T) {
	if err := wholefile.SyncFolder(t.TempDir()); err != nil {
		t.Errorf("a folder: %v", err)
	}
	if err := wholefile.SyncFolder(filepath.Join(t.TempDir(), "none")); err == nil {
		t.Error("a folder that does not exist is synced")
	}
	if runtime.GOOS != "linux" {
		return
	}
	if err := wholefile.SyncFolder("/proc"); err != nil {
		t.Errorf("a file system that cannot sync folders: %v", err)
	}
}
