// Package golden compares results of tests with golden files. go test -update rewrites the files.
package golden

import (
	"flag"
	"os"
	"path/filepath"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// IsUpdating reports whether golden files are rewritten, for tests with further files.
func IsUpdating() bool { return *update }

// Compare fails the test if got differs from the content of the file. An empty result has no file.
func Compare(t testing.TB, file, got string) {
	t.Helper()
	if *update && got != "" {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil && (got != "" || !os.IsNotExist(err)) {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs (go test -update rewrites it): got\n%s\nwant\n%s", file, got, want)
	}
}

// Seed adds the files that match the patterns to the corpus of a fuzz test. Each pattern must
// match.
func Seed(f *testing.F, patterns ...string) {
	f.Helper()
	for _, pattern := range patterns {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			f.Fatalf("%s: %d files, %v", pattern, len(files), err)
		}
		for _, file := range files {
			data, err := os.ReadFile(file)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(data)
		}
	}
}
