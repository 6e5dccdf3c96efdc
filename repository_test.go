package switchyard_test

import (
	"bytes"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// source is one text file of the repository; name is its path from the root, with slashes.
type source struct {
	name string
	text []byte
}

// parse returns the syntax tree of a Go file, with comments.
func (s source) parse(t *testing.T) *ast.File {
	t.Helper()
	_, file := s.parseWithPositions(t)
	return file
}

func (s source) parseWithPositions(t *testing.T) (*token.FileSet, *ast.File) {
	t.Helper()
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, s.name, s.text,
		parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	return set, file
}

func (s source) isTest() bool { return strings.HasSuffix(s.name, "_test.go") }

func readText(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.FromSlash(name))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// generated are folders at the root that are built, not written.
var generated = []string{".git", ".switchyard", "bin", "coverage", "dist"}

// files returns the files of the repository whose base name keep accepts. A file deleted in the
// meantime is skipped.
func files(t *testing.T, keep func(base string) bool) []source {
	t.Helper()
	var list []source
	err := filepath.WalkDir(".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			if slices.Contains(generated, name) {
				return fs.SkipDir
			}
			return nil
		}
		if !entry.Type().IsRegular() || !keep(entry.Name()) {
			return nil
		}
		text, err := os.ReadFile(name)
		if os.IsNotExist(err) {
			return nil
		}
		list = append(list, source{name: filepath.ToSlash(name), text: text})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// goFiles returns the Go files of all modules in the repository, except those that tests read as
// data.
func goFiles(t *testing.T) []source {
	t.Helper()
	list := files(t, func(base string) bool { return strings.HasSuffix(base, ".go") })
	list = slices.DeleteFunc(list, func(s source) bool {
		return strings.Contains("/"+s.name,
			"/testdata/")
	})
	if len(list) < 20 {
		t.Fatalf("found only %d Go files", len(list))
	}
	return list
}

func TestGoFiles_AreFormatted(t *testing.T) {
	for _, s := range goFiles(t) {
		formatted, err := format.Source(s.text)
		if err != nil {
			t.Errorf("%s: %v", s.name, err)
		} else if !bytes.Equal(formatted, s.text) {
			t.Errorf("%s is not formatted: run make fmt", s.name)
		}
	}
}

// The words are concatenated so that this file does not contain them.
func TestFiles_HaveNoMarksOfUnfinishedWorkOrRegistryHosts(t *testing.T) {
	marks := []string{"TO" + "DO", "FIX" + "ME", "X" + "XX:", "HA" + "CK:"}
	hosts := []string{"proxy.golang" + ".org", "sum.golang" + ".org", "goproxy" + ".", "npmjs" +
		".org", "npmjs" + ".com", "pypi" + ".org",
		"crates" + ".io", "rubygems" + ".org", "deb.debian" + ".org", "archive.ubuntu" + ".com"}
	written := []string{".go", ".md", ".yaml", ".yml", ".json", ".sh", ".mod", ".sum", ".txt",
		".txtar", ".conf", "Makefile", "run"}
	for _, s := range files(t, func(base string) bool {
		return slices.ContainsFunc(written, func(end string) bool {
			return strings.HasSuffix(base,
				end)
		})
	}) {
		for _, word := range slices.Concat(marks, hosts) {
			if at := bytes.Index(s.text, []byte(word)); at >= 0 {
				t.Errorf("%s:%d: %s", s.name, 1+bytes.Count(s.text[:at], []byte("\n")), word)
			}
		}
	}
}

// calledFrom returns the name of the function pkg.name where the expression is one, such as Sleep
// for time.Sleep.
func calledFrom(pkg string, e ast.Expr) string {
	if index, ok := e.(*ast.IndexExpr); ok {
		e = index.X
	}
	if sel, ok := e.(*ast.SelectorExpr); ok {
		if x, ok := sel.X.(*ast.Ident); ok && x.Name == pkg {
			return sel.Sel.Name
		}
	}
	return ""
}

// sleeps returns the lines on which a file mentions time.Sleep.
func sleeps(set *token.FileSet, file *ast.File) []int {
	var lines []int
	ast.Inspect(file, func(n ast.Node) bool {
		if e, ok := n.(*ast.SelectorExpr); ok && calledFrom("time", e) == "Sleep" {
			lines = append(lines, set.Position(e.Pos()).Line)
		}
		return true
	})
	return lines
}

// A sleep is too long on one machine and too short on another.
func TestTests_DoNotSleep(t *testing.T) {
	for _, s := range goFiles(t) {
		if s.isTest() || strings.HasPrefix(s.name, "internal/") {
			for _, line := range sleeps(s.parseWithPositions(t)) {
				t.Errorf("%s:%d: wait for a signal or a condition, not for time", s.name, line)
			}
		}
	}
	bad := source{name: "bad_test.go", text: []byte("package p\n\nfunc f() { g(time.Sleep) }\n")}
	if got := sleeps(bad.parseWithPositions(t)); !slices.Equal(got, []int{3}) {
		t.Errorf("sleeps are on lines %v", got)
	}
}

// unsorted returns the lines on which a file takes a map's keys or values without sorting them in
// the same expression.
func unsorted(set *token.FileSet, file *ast.File) []int {
	sorted := map[ast.Expr]bool{}
	var lines []int
	ast.Inspect(file, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		if strings.HasPrefix(calledFrom("slices", call.Fun), "Sorted") && len(call.Args) > 0 {
			sorted[call.Args[0]] = true
		}
		if name := calledFrom("maps", call.Fun); (name == "Keys" || name == "Values" ||
			name == "All") && !sorted[call] {
			lines = append(lines, set.Position(call.Pos()).Line)
		}
		return true
	})
	return lines
}

// workflowcheck is configured to ignore maps.Keys and maps.Values
// (internal/tools/workflowcheck.yaml), so this test checks what workflows and api do with them.
// workflowcheck itself finds range statements over maps.
func TestMaps_AreSortedInWorkflowCode(t *testing.T) {
	for _, s := range goFiles(t) {
		if folder := path.Dir(s.name); !s.isTest() && (within(folder, []string{"api", "workflows"}) ||
			matches("feature/*/run", folder)) {
			for _, line := range unsorted(s.parseWithPositions(t)) {
				t.Errorf("%s:%d: sort the map's keys or values, as in slices.Sorted(maps.Keys(m))",
					s.name, line)
			}
		}
	}
	bad := source{name: "bad.go",
		text: []byte("package p\n\nvar a = slices.Sorted(maps.Keys(m))\nvar b = slices.Collect(maps.Keys(m))\nvar c = f(maps.All(m))\n")}
	if got := unsorted(bad.parseWithPositions(t)); !slices.Equal(got, []int{4, 5}) {
		t.Errorf("unsorted maps are on lines %v", got)
	}
}

func TestPackages_HaveAComment(t *testing.T) {
	said := map[string]bool{}
	for _, s := range goFiles(t) {
		if s.isTest() {
			continue
		}
		folder := path.Dir(s.name)
		said[folder] = said[folder] || s.parse(t).Doc.Text() != ""
	}
	for folder, ok := range said {
		if !ok {
			t.Errorf("no file of %s has a package comment", folder)
		}
	}
}

var makeTarget = regexp.MustCompile("(?m)(?:`|^)make ([a-z][a-z0-9/]*)")

func TestDocumentation_NamesExistingMakeTargets(t *testing.T) {
	makefile := readText(t, "Makefile")
	for _, s := range files(t, func(base string) bool { return strings.HasSuffix(base, ".md") }) {
		for _, m := range makeTarget.FindAllSubmatch(s.text, -1) {
			if target := string(m[1]); !strings.Contains(makefile, "\n"+target+":") {
				t.Errorf("%s names make %s, which is no target of the Makefile", s.name, target)
			}
		}
	}
}

// serverTest matches what tests that need a real server use; without one they are skipped.
var serverTest = regexp.MustCompile(
	`testserver\.(Bin|NewServer|NewPostgres)\(|Getenv\("SWITCHYARD_E2E"\)`)

// Tests that need a server run in make test/short, or in a suite with a target of its own.
func TestMakefile_RunsEveryTestThatNeedsAServer(t *testing.T) {
	makefile := readText(t, "Makefile")
	_, list, found := strings.Cut(makefile, "\nWAITING = ")
	list, _, ends := strings.Cut(list, "\n#")
	if !found || !ends {
		t.Fatal("the Makefile does not define WAITING")
	}
	waiting := strings.Fields(list)
	for _, s := range files(t, func(base string) bool { return strings.HasSuffix(base, "_test.go") }) {
		folder := "./" + path.Dir(s.name)
		if serverTest.Match(s.text) && s.name != "repository_test.go" &&
			!slices.Contains(waiting, folder) && !strings.Contains(makefile, "cd "+folder[2:]+" &&") &&
			folder != "./bench" {
			t.Errorf("%s needs a server, and %s is not in WAITING of the Makefile", s.name, folder)
		}
	}
}

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

// quoted matches text in backticks.
var quoted = regexp.MustCompile("`([^`]+)`")
