//go:build unix

package cli

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// writes writes text and then fails if an error is given.
func writes(text string, err error) func(io.Writer) error {
	return func(w io.Writer) error {
		if _, err := io.WriteString(w, text); err != nil {
			return err
		}
		return err
	}
}

// A failure leaves the previous file. A new file has the given mode, a replaced one keeps its mode,
// and a link keeps its target.
func TestWholeFile_ReplacesFilesAtomically(t *testing.T) {
	dir := t.TempDir()
	path, link := filepath.Join(dir, "day.csv"), filepath.Join(dir, "link.csv")
	if err := os.Symlink("day.csv", link); err != nil {
		t.Fatal(err)
	}
	if err := StreamWhole("--file", path, 0o600, writes("one", nil)); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the new file: %v, %v", info.Mode(), err)
	}
	if err := os.Chmod(path, 0o640); err != nil {
		t.Fatal(err)
	}
	if err := StreamWhole("--file", link, 0o600, writes("two", nil)); err != nil {
		t.Fatal(err)
	}
	gone := errors.New("the server is gone")
	if err := StreamWhole("--file", path, 0o600, writes("three", gone)); !errors.Is(err, gone) {
		t.Errorf("got %v", err)
	}
	unwritable, err := os.Open(path) // as a full disk would not take it either
	if err != nil {
		t.Fatal(err)
	}
	defer unwritable.Close()
	if err := stream("--file", path, unwritable, writes("four", nil)); err == nil ||
		!strings.HasPrefix(err.Error(), "--file "+path+": ") {
		t.Errorf("to a file that takes nothing: %v", err)
	}
	info, err := os.Stat(path)
	if text, _ := os.ReadFile(path); err != nil || string(text) != "two" ||
		info.Mode().Perm() != 0o640 {
		t.Errorf("the file has %q, %v, %v", text, info.Mode(), err)
	}
	if err := StreamWhole("--file", filepath.Join(dir, "no", "day.csv"), 0o600,
		writes("five", nil)); err == nil || !strings.HasSuffix(err.Error(),
		filepath.Join(dir, "no")+" does not exist") {
		t.Errorf("in a missing folder: %v", err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 2 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	if to, err := os.Readlink(link); err != nil || to != "day.csv" {
		t.Errorf("the link leads to %s, %v", to, err)
	}
}

// They stay what they are: a pipe, or /dev/null.
func TestWholeFile_WritesToPipesAndDevices(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe.jsonl")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	got := make(chan string)
	go func() {
		text, _ := os.ReadFile(pipe)
		got <- string(text)
	}()
	if err := StreamWhole("--file", pipe, 0o600, writes("one", nil)); err != nil {
		t.Fatal(err)
	}
	if text := <-got; text != "one" {
		t.Errorf("through the pipe came %q", text)
	}
	if info, err := os.Lstat(pipe); err != nil || info.Mode().Type() != os.ModeNamedPipe {
		t.Errorf("the pipe became %v, %v", info.Mode(), err)
	}
	if err := StreamWhole("--file", filepath.Join(pipe, "no.csv"), 0o600,
		writes("one", nil)); err == nil {
		t.Error("a file below a pipe was written")
	}
}
