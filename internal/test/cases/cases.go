// Package cases reads public corpora as test input. They are not part of this repository: tests
// whose corpus is missing are skipped.
package cases

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// variable names the folder of the corpora; default shared/cases beside the repository.
const variable = "SWITCHYARD_CASES"

// Read decodes the corpus with a file name. An unreadable corpus fails the test.
func Read(t testing.TB, name string, into any) {
	t.Helper()
	if err := json.Unmarshal(Bytes(t, name), into); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}

// Bytes returns the content of a file; name is a path with slashes.
func Bytes(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(Path(t, name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// Path returns the absolute path of a file. It skips the test if the file is not there.
func Path(t testing.TB, name string) string {
	t.Helper()
	dir := os.Getenv(variable)
	if dir == "" {
		_, here, _, _ := runtime.Caller(0)
		dir = filepath.Join(filepath.Dir(here), "..", "..", "..", "shared", "cases")
	}
	path, err := filepath.Abs(filepath.Join(dir, filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Skipf("the public test cases are not here: %v; set %s to their folder", err, variable)
	}
	return path
}

// NaughtyStrings returns strings that often break programs. They must come back byte for byte or be
// rejected with a clear error.
func NaughtyStrings(t testing.TB) []string {
	t.Helper()
	var corpus struct{ Strings []string }
	Read(t, "blns.json", &corpus)
	if len(corpus.Strings) == 0 {
		t.Fatal("blns.json has no strings")
	}
	return corpus.Strings
}

// GoRoot returns the folder of the Go installation. Its sources serve as real text.
func GoRoot(t testing.TB) string {
	t.Helper()
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Skipf("go env GOROOT: %v", err)
	}
	return strings.TrimSpace(string(root))
}
