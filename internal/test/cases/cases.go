// Package cases reads the public corpora that tests use as real input. They are not part of this repository: a test that
// does not find them says so and is skipped.
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

// variable names the folder of the corpora; without it they are looked for beside the repository, in shared/cases.
const variable = "SWITCHYARD_CASES"

// Read decodes the corpus of that file name. A corpus that is there and cannot be read fails the test.
func Read(t testing.TB, name string, into any) {
	t.Helper()
	if err := json.Unmarshal(Bytes(t, name), into); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}

// Bytes returns the file of that name, a path with slashes.
func Bytes(t testing.TB, name string) []byte {
	t.Helper()
	dir := os.Getenv(variable)
	if dir == "" {
		_, here, _, _ := runtime.Caller(0)
		dir = filepath.Join(filepath.Dir(here), "..", "..", "..", "shared", "cases")
	}
	data, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
	if err != nil {
		t.Skipf("the public test cases are not here: %v; set %s to their folder", err, variable)
	}
	return data
}

// NaughtyStrings returns strings that break programs: as values they come back byte for byte, or are refused clearly.
func NaughtyStrings(t testing.TB) []string {
	t.Helper()
	var corpus struct{ Strings []string }
	Read(t, "blns.json", &corpus)
	if len(corpus.Strings) == 0 {
		t.Fatal("blns.json has no strings")
	}
	return corpus.Strings
}

// GoRoot returns the folder of the Go installation, whose sources are real text that every developer has.
func GoRoot(t testing.TB) string {
	t.Helper()
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Skipf("go env GOROOT: %v", err)
	}
	return strings.TrimSpace(string(root))
}
