package recordfile

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit"
)

// batch returns a batch of one call, and a position that counts the batches.
func batch(n int) audit.StreamBatch {
	return audit.StreamBatch{
		Entries: []audit.StreamEntry{{Key: fmt.Sprint("run/", n),
			Record: &api.Record{CallID: fmt.Sprint(n), Tool: "<echo>"}}},
		Position: audit.StreamPosition{Closed: time.Unix(int64(n), 0).UTC()},
	}
}

// line is what the file has of a batch.
func line(n int) string {
	return fmt.Sprintf(`{"key":"run/%[1]d","call":{"call_id":"%[1]d","tool":"<echo>","status":"",`+
		`"phase":"","run_id":"","workflow_id":""}}`+"\n", n)
}

// open opens a file, writes batches, and returns the number of the last batch before them.
func open(t *testing.T, path string, batches ...int) (last int64, resumed bool) {
	t.Helper()
	f, after, resumed, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, n := range batches {
		if err := f.Write(batch(n)); err != nil {
			t.Fatal(err)
		}
	}
	if after.Closed.IsZero() {
		return 0, resumed
	}
	return after.Closed.Unix(), resumed
}

func check(t *testing.T, path, want string) {
	t.Helper()
	if got, err := os.ReadFile(path); err != nil || string(got) != want {
		t.Errorf("the file has\n%s, %v, want\n%s", got, err, want)
	}
}

// What follows the stored position is cut off: a torn line, and whole lines of a batch whose
// position was not stored.
func TestOpen_CutsOffWhatThePositionDoesNotHave(t *testing.T) {
	for name, rest := range map[string]string{"nothing": "", "a torn line": `{"key":"run/3","ca`,
		"a batch without its position": line(3) + line(4)} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "stream.jsonl")
			if last, resumed := open(t, path, 1, 2); last != 0 || resumed {
				t.Errorf("a new file begins after %d, resumed %v", last, resumed)
			}
			text := line(1) + line(2)
			if err := os.WriteFile(path, []byte(text+rest), 0o600); err != nil {
				t.Fatal(err)
			}
			if last, resumed := open(t, path, 3); last != 2 || !resumed {
				t.Errorf("the file goes on after %d, resumed %v", last, resumed)
			}
			check(t, path, text+line(3))
		})
	}
}

// A process that ends while it writes the first batch leaves lines without a position.
func TestOpen_BeginsAgainAfterHalfOfTheFirstBatch(t *testing.T) {
	path := filepath.Join(t.TempDir(), "stream.jsonl")
	f, _, _, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.append([]byte(line(1))); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if last, resumed := open(t, path, 1, 2); last != 0 || resumed {
		t.Errorf("the file goes on after %d, resumed %v", last, resumed)
	}
	check(t, path, line(1)+line(2))
}

// A file that is moved away is continued in a new one.
func TestOpen_BeginsANewFileAtThePosition(t *testing.T) {
	path := filepath.Join(t.TempDir(), "stream.jsonl")
	open(t, path, 1)
	if err := os.Rename(path, path+".1"); err != nil {
		t.Fatal(err)
	}
	if last, resumed := open(t, path, 2); last != 1 || !resumed {
		t.Errorf("the file goes on after %d, resumed %v", last, resumed)
	}
	check(t, path+".1", line(1))
	check(t, path, line(2))
}

func TestOpen_RefusesFilesThatDoNotFitTheirPosition(t *testing.T) {
	path := filepath.Join(t.TempDir(), "stream.jsonl")
	if err := os.WriteFile(path, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	position := path + positionSuffix
	for _, tt := range []struct{ data, position, want string }{
		{"x", "", path + " has data but no position: move it away, or restore " + position},
		{"x", `{"size":9}`, path + " has 1 bytes, but had 9 at its position: move it away to " +
			"begin a new file"},
		{"x", "{", position + " is not the position of a stream: unexpected end of JSON input"},
	} {
		if tt.position != "" {
			if err := os.WriteFile(position, []byte(tt.position), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if _, _, _, err := Open(path); err == nil || err.Error() != tt.want {
			t.Errorf("%q: %v, want %s", tt.position, err, tt.want)
		}
	}
}

func TestWrite_NoticesAnotherWriter(t *testing.T) {
	path := filepath.Join(t.TempDir(), "stream.jsonl")
	first, _, _, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer first.Close()
	open(t, path, 1)
	want := fmt.Sprintf("%s has %d bytes instead of 0: another process writes it", path,
		len(line(1)))
	if err := first.Write(batch(1)); err == nil || err.Error() != want {
		t.Errorf("the first writer gets %v, want %s", err, want)
	}
	check(t, path, line(1))
}

// A file that cannot be opened is an error, which names the path.
func TestOpen_ReportsWhatItCannotOpen(t *testing.T) {
	for name, setUp := range map[string]func(path string) error{
		"the folder is missing": func(path string) error { return os.Remove(filepath.Dir(path)) },
		"the file is a folder":  func(path string) error { return os.Mkdir(path, 0o700) },
		"the position is a folder": func(path string) error {
			return os.Mkdir(path+positionSuffix, 0o700)
		},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "sub", "stream.jsonl")
			if err := os.Mkdir(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := setUp(path); err != nil {
				t.Fatal(err)
			}
			if _, _, _, err := Open(path); err == nil || !strings.Contains(err.Error(), path) {
				t.Errorf("the error is %v, want one about %s", err, path)
			}
		})
	}
}

// A batch whose position cannot be stored is written again after the file is opened again.
func TestWrite_StoresABatchOnceIfThePositionCannotBeReplaced(t *testing.T) {
	path := filepath.Join(t.TempDir(), "stream.jsonl")
	f, _, _, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := f.Write(audit.StreamBatch{}); err != nil { // stores a position alone
		t.Fatal(err)
	}
	stored, err := os.ReadFile(path + positionSuffix)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(path + positionSuffix); err != nil {
		t.Fatal(err)
	}
	folder := path + positionSuffix
	if err := os.MkdirAll(filepath.Join(folder, "full"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := f.Write(batch(1)); err == nil {
		t.Error("the batch is written, but its position cannot be")
	}
	if err := os.RemoveAll(folder); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path+positionSuffix, stored, 0o600); err != nil {
		t.Fatal(err)
	}
	if last, _ := open(t, path, 1); last > 0 {
		t.Errorf("the file goes on after %d", last)
	}
	check(t, path, line(1))
}

func TestWrite_RefusesWhatItCannotWrite(t *testing.T) {
	path := filepath.Join(t.TempDir(), "stream.jsonl")
	f, _, _, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	odd := batch(1)
	odd.Entries[0].Record.Result = &api.Result{Output: json.RawMessage(`{`)}
	if err := f.Write(odd); err == nil || !strings.HasPrefix(err.Error(), "entry run/1: ") {
		t.Errorf("an entry that is not JSON: %v", err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if err := f.Write(batch(1)); !errors.Is(err, os.ErrClosed) {
		t.Errorf("a closed file: %v", err)
	}
	check(t, path, "")
}

// A position for another target is read as it was written, and a file that is none is refused.
func TestPosition_IsReadAsWritten(t *testing.T) {
	path := filepath.Join(t.TempDir(), "position")
	if _, found, err := ReadPosition(path); found || err != nil {
		t.Errorf("without a file: %v, %v", found, err)
	}
	want := audit.StreamPosition{Closed: time.Date(2026, 11, 29, 1, 2, 3, 4, time.UTC)}
	if err := WritePosition(path, want); err != nil {
		t.Fatal(err)
	}
	if at, found, err := ReadPosition(path); err != nil || !found || !at.Closed.Equal(want.Closed) {
		t.Errorf("got %+v, %v, %v", at, found, err)
	}
	if err := os.WriteFile(path, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, found, err := ReadPosition(path); found || err == nil {
		t.Errorf("a broken file: %v, %v", found, err)
	}
}
