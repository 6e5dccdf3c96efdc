package switchyard_test

import (
	"bytes"
	"fmt"
	"go/ast"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"
)

// requirement is a row of requirements.yaml: what is delivered, the files that implement it, and
// the tests that check it, by their files.
type requirement struct {
	ID    string              `yaml:"id"`
	What  string              `yaml:"what"`
	Files []string            `yaml:"files"`
	Tests map[string][]string `yaml:"tests"`
}

var requirementID = regexp.MustCompile(`^[A-Z][0-9]{1,2}[a-z]?$`)

// requirementFaults returns what is wrong with a list of requirements. exists says whether a file
// is there, tests gives the names of the test functions of a file.
func requirementFaults(document string, exists func(string) bool,
	tests func(string) map[string]bool) []string {
	var list []requirement
	decoder := yaml.NewDecoder(bytes.NewReader([]byte(document)))
	decoder.KnownFields(true)
	if err := decoder.Decode(&list); err != nil {
		return []string{err.Error()}
	}
	var faults []string
	for i, r := range list {
		for _, f := range r.faults(exists, tests) {
			faults = append(faults, fmt.Sprintf("row %d: %s %s", i+1, r.ID, f))
		}
	}
	return faults
}

func (r requirement) faults(exists func(string) bool, tests func(string) map[string]bool) (
	faults []string) {
	for fault, is := range map[string]bool{
		"is no id of a requirement":      !requirementID.MatchString(r.ID),
		"does not say what is delivered": r.What == "",
		"names no file":                  len(r.Files) == 0,
		"names no test":                  len(r.Tests) == 0,
	} {
		if is {
			faults = append(faults, fault)
		}
	}
	for _, f := range r.Files {
		if !exists(f) {
			faults = append(faults, f+" does not exist")
		}
	}
	for _, file := range slices.Sorted(maps.Keys(r.Tests)) {
		for _, name := range r.Tests[file] {
			if !tests(file)[name] {
				faults = append(faults, file+" has no "+name)
			}
		}
	}
	return faults
}

// testsOf returns the names of the test functions of a file; none where there is no such file.
func testsOf(t *testing.T, name string) map[string]bool {
	t.Helper()
	text, err := os.ReadFile(filepath.FromSlash(name))
	if err != nil {
		return nil
	}
	found := map[string]bool{}
	for _, d := range (source{name: name, text: text}).parse(t).Decls {
		if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil && strings.HasPrefix(f.Name.Name,
			"Test") && f.Name.Name != "TestMain" {
			found[f.Name.Name] = true
		}
	}
	return found
}

func TestRequirements_NameFilesAndTests(t *testing.T) {
	exists := func(name string) bool {
		_, err := os.Stat(filepath.FromSlash(name))
		return err == nil
	}
	tests := func(name string) map[string]bool { return testsOf(t, name) }
	for _, fault := range requirementFaults(readText(t, "requirements.yaml"), exists, tests) {
		t.Error("requirements.yaml: " + fault)
	}
}

// A row with a wrong name, a missing one or a wrong form does not pass.
func TestRequirementFaults_FindsWrongRows(t *testing.T) {
	exists := func(name string) bool { return name == "a.go" }
	tests := func(name string) map[string]bool { return map[string]bool{"TestA": name == "a_test.go"} }
	const good = "- {id: T1, what: Tools, files: [a.go], tests: {a_test.go: [TestA]}}\n"
	for says, wrong := range map[string]string{
		"":                                good,
		"T1 b.go does not exist":          strings.Replace(good, "a.go", "a.go, b.go", 1),
		"T1 a_test.go has no TestB":       strings.Replace(good, "TestA", "TestA, TestB", 1),
		"T1 b_test.go has no TestA":       strings.Replace(good, "a_test.go", "b_test.go", 1),
		"T1 names no test":                strings.Replace(good, "a_test.go: [TestA]", "", 1),
		"T1 names no file":                strings.Replace(good, "a.go", "", 1),
		"Tools is no id of a requirement": strings.Replace(good, "T1", "Tools", 1),
		"T1 does not say what":            strings.Replace(good, "Tools", "", 1),
		"field proof not found":           strings.Replace(good, "tests", "proof", 1),
	} {
		faults := strings.Join(requirementFaults(good+wrong, exists, tests), "\n")
		if (says == "") != (faults == "") || !strings.Contains(faults, says) {
			t.Errorf("%s\ngives %q, want …%s…", wrong, faults, says)
		}
	}
}
