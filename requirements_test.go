package switchyard_test

import (
	"fmt"
	"go/ast"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// row is one line of a table in Markdown: its cells, and where it stands.
type row struct {
	line  int
	cells []string
}

// tableRows returns the rows of every table in a document that has the given header, without header
// and ruler.
func tableRows(document string, header ...string) []row {
	var rows []row
	inside := false
	for i, line := range strings.Split(document, "\n") {
		text, isRow := strings.CutPrefix(strings.TrimSpace(line), "|")
		if !isRow {
			inside = false
			continue
		}
		cells := strings.Split(strings.TrimSuffix(text, "|"), "|")
		for j := range cells {
			cells[j] = strings.TrimSpace(cells[j])
		}
		switch {
		case strings.Join(cells, "|") == strings.Join(header, "|"):
			inside = true
		case inside && strings.Trim(strings.Join(cells, ""), "-: ") != "":
			rows = append(rows, row{line: i + 1, cells: cells})
		}
	}
	return rows
}

var (
	requirementID = regexp.MustCompile(`^[A-Z][0-9]{1,2}[a-z]?$`)
	quoted        = regexp.MustCompile("`([^`]+)`")
	testPlace     = regexp.MustCompile("`(Test[A-Za-z0-9_]+)` in `([^`]+_test\\.go)`")
)

// requirementFaults returns what is wrong with docs/requirements.md. exists says whether a file is
// there, tests gives the names of the test functions of a file.
func requirementFaults(document string, exists func(string) bool,
	tests func(string) map[string]bool) []string {
	rows := tableRows(document, "id", "what", "file", "test")
	if len(rows) == 0 {
		return []string{"there is no row: the table's header is | id | what | file | test |"}
	}
	var faults []string
	for _, r := range rows {
		for _, f := range rowFaults(r, exists, tests) {
			faults = append(faults, fmt.Sprintf("line %d: %s", r.line, f))
		}
	}
	return faults
}

func rowFaults(r row, exists func(string) bool, tests func(string) map[string]bool) []string {
	if len(r.cells) != 4 {
		return []string{fmt.Sprintf("%d cells, not 4", len(r.cells))}
	}
	id, files, proofs := r.cells[0], quoted.FindAllStringSubmatch(r.cells[2], -1),
		testPlace.FindAllStringSubmatch(r.cells[3], -1)
	var faults []string
	fault := func(format string, args ...any) {
		faults = append(faults, id+" "+
			fmt.Sprintf(format, args...))
	}
	if !requirementID.MatchString(id) {
		fault("is no id of a requirement")
	}
	if r.cells[1] == "" {
		fault("does not say what is delivered")
	}
	if len(files) == 0 {
		fault("names no file; write `folder/file.go`")
	}
	for _, f := range files {
		if !exists(f[1]) {
			fault("names %s, which does not exist", f[1])
		}
	}
	if len(proofs) == 0 || len(quoted.FindAllString(r.cells[3], -1)) != 2*len(proofs) {
		fault("does not name its tests as `TestName` in `folder/file_test.go`, separated by commas")
	}
	for _, p := range proofs {
		if !tests(p[2])[p[1]] {
			fault("names %s in %s, which does not exist", p[1], p[2])
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

// TestRequirementsHaveTheirPlace proves that every row of docs/requirements.md names files and
// tests that exist.
func TestRequirementsHaveTheirPlace(t *testing.T) {
	exists := func(name string) bool {
		_,
			err := os.Stat(filepath.FromSlash(name))
		return err == nil
	}
	tests := func(name string) map[string]bool { return testsOf(t, name) }
	for _, fault := range requirementFaults(readText(t, "docs/requirements.md"), exists, tests) {
		t.Error("docs/requirements.md: " + fault)
	}
}

// TestRequirementsCheckCatches proves that a row with a wrong name, a missing one or a broken form
// does not pass.
func TestRequirementsCheckCatches(t *testing.T) {
	exists := func(name string) bool { return name == "a.go" }
	tests := func(name string) map[string]bool { return map[string]bool{"TestA": name == "a_test.go"} }
	const good = "| T1 | Tools | `a.go` | `TestA` in `a_test.go` |"
	for says, line := range map[string]string{
		"":                               good,
		"b.go, which does not exist":     "| T1 | Tools | `a.go`, `b.go` | `TestA` in `a_test.go` |",
		"TestB in a_test.go, which":      "| T1 | Tools | `a.go` | `TestA` in `a_test.go`, `TestB` in `a_test.go` |",
		"TestA in b_test.go, which":      "| T1 | Tools | `a.go` | `TestA` in `b_test.go` |",
		"does not name its tests":        "| T1 | Tools | `a.go` | `TestA` in `a_test.go` and `TestB` |",
		"T1 does not name its tests":     "| T1 | Tools | `a.go` | |",
		"names no file":                  "| T1 | Tools | a.go | `TestA` in `a_test.go` |",
		"Tools is no id":                 "| Tools | Tools | `a.go` | `TestA` in `a_test.go` |",
		"does not say what is delivered": "| T1 | | `a.go` | `TestA` in `a_test.go` |",
		"3 cells, not 4":                 "| T1 | Tools | `a.go` |",
	} {
		document := "# R\n\n| id | what | file | test |\n| --- | --- | --- | --- |\n" + good +
			"\n" + line + "\n\n| other | table |\n"
		faults := strings.Join(requirementFaults(document, exists, tests), "\n")
		if (says == "") != (faults == "") || !strings.Contains(faults, says) || says != "" &&
			!strings.Contains(faults, "line 6: ") {
			t.Errorf("%s\ngives %q, want …%s…", line, faults, says)
		}
	}
	if faults := requirementFaults("# nothing", exists, tests); len(faults) != 1 {
		t.Errorf("a document without a table gives %q", faults)
	}
}
