package expect

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/switchyard/switchyard/internal/test/cases"
)

func Contains(text string, parts ...string) bool {
	for _, p := range parts {
		if !strings.Contains(text, p) {
			return false
		}
	}
	return true
}

// Eventually waits for a condition.
func Eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(patience)
	for !condition() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("timed out waiting: %s", what)
		}
	}
}

// GoTexts returns source code and prose of the Go installation.
func GoTexts(t testing.TB) []string {
	t.Helper()
	var texts []string
	root := cases.GoRoot(t)
	for _, folder := range []string{"src/net/http", "src/strings", "src/unicode/utf8", "doc", "."} {
		entries, _ := fs.ReadDir(os.DirFS(filepath.Join(root, folder)), ".")
		for _, e := range entries {
			if data, err := os.ReadFile(filepath.Join(root, folder, e.Name())); err == nil &&
				len(data) > 100 {
				texts = append(texts, string(data))
			}
		}
	}
	if len(texts) < 20 {
		t.Skip("the Go installation has no sources to read")
	}
	return texts
}

// GoSource returns some KB of Go source.
func GoSource(t testing.TB) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(cases.GoRoot(t), "src/strings/reader.go"))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
