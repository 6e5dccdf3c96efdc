package switchyard_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// rootFiles are the files that the root of the repository may hold, folders aside.
var rootFiles = []string{
	".dockerignore", ".env", ".env.example", ".gitignore", "CHANGELOG.md", "CONTRIBUTING.md",
	"Dockerfile", "LICENSE", "requirements.yaml",
	"Makefile", "README.md", "SECURITY.md",
	"docker-compose.yml", "go.mod", "go.sum", "staticcheck.conf",
	// The API that applications import.
	"client.go", "control.go", "doc.go", "errors.go", "followall.go", "people.go", "run.go",
	"session.go", "sessionflow.go", "start.go", "client_example_test.go", "session_test.go",
	// The rules of this repository, held by tests.
	"architecture_test.go", "dependencies_test.go", "layout_test.go", "links_test.go",
	"operations_test.go", "repository_test.go",
	"requirements_test.go", "structure_test.go",
}

// receiver returns the name of a method's type; empty for a function.
func receiver(f *ast.FuncDecl) string {
	if f.Recv == nil || len(f.Recv.List) == 0 {
		return ""
	}
	e := f.Recv.List[0].Type
	for {
		switch x := e.(type) {
		case *ast.StarExpr:
			e = x.X
		case *ast.IndexExpr:
			e = x.X
		case *ast.IndexListExpr:
			e = x.X
		case *ast.Ident:
			return x.Name
		default:
			return ""
		}
	}
}

func TestRoot_HoldsListedFilesOnly(t *testing.T) {
	for _, s := range files(t, func(string) bool { return true }) {
		if s.name != ".git" && !strings.Contains(s.name, "/") && !slices.Contains(rootFiles,
			s.name) {
			t.Errorf("%s is at the root: move it to the folder of its subject, or list it in rootFiles",
				s.name)
		}
	}
}

// maxColumns bounds a line of Go or of a Markdown page; a tab counts as four columns.
const maxColumns = 100

// longLines returns the numbers of the lines that are longer than maxColumns. A line may be longer
// if it cannot be broken: a struct tag, a string, an address, a row of a table. Raw strings of
// tests are data.
func longLines(name, text string) []int {
	var lines []int
	fenced, raw := false, false
	for i, line := range strings.Split(text, "\n") {
		data := raw && strings.HasSuffix(name, "_test.go")
		if strings.HasSuffix(name, ".go") && strings.Count(line, "`")%2 == 1 {
			raw = !raw
		}
		if strings.HasPrefix(strings.TrimSpace(line), "```") {
			fenced = !fenced
		}
		wide := strings.ReplaceAll(line, "\t", "    ")
		if len([]rune(wide)) <= maxColumns {
			continue
		}
		trimmed := strings.TrimSpace(line)
		switch {
		case strings.HasSuffix(name, ".md") && (fenced || strings.HasPrefix(trimmed, "|") ||
			strings.Contains(line, "](")):
		case data, strings.HasSuffix(name, ".go") && strings.ContainsAny(line, "\"`"):
		case strings.HasSuffix(name, ".go") && !strings.HasPrefix(trimmed, "//") &&
			strings.Contains(line, "// "):
		case strings.Contains(line, "://"):
		default:
			lines = append(lines, i+1)
		}
	}
	return lines
}

func TestLines_HaveAtMost100Columns(t *testing.T) {
	written := func(base string) bool {
		return strings.HasSuffix(base, ".go") ||
			strings.HasSuffix(base, ".md")
	}
	for _, s := range files(t, written) {
		if strings.Contains("/"+s.name, "/testdata/") {
			continue
		}
		for _, line := range longLines(s.name, string(s.text)) {
			t.Errorf("%s:%d has more than %d columns", s.name, line, maxColumns)
		}
	}
	x := strings.Repeat("x", maxColumns+1)
	if got := longLines("a.go", "ok\n"+x+"\n// "+x+"\nx := \""+x+
		"\"\n"); !slices.Equal(got, []int{2, 3}) {
		t.Errorf("long lines are %v", got)
	}
	data := "x := `\n" + x + "\n`\n"
	if got := longLines("a_test.go", data); got != nil {
		t.Errorf("long lines of a raw string are %v", got)
	}
	if got := longLines("a.go", data); !slices.Equal(got, []int{2}) {
		t.Errorf("long lines of a raw string that is no test are %v", got)
	}
	if got := longLines("a.md", x+"\n| "+x+" |\n"); !slices.Equal(got, []int{1}) {
		t.Errorf("long lines of Markdown are %v", got)
	}
}

// ownImports returns the names under which a file knows packages of the repository, by name.
func ownImports(file *ast.File) map[string]string {
	names := map[string]string{}
	for _, spec := range file.Imports {
		pkg, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			continue
		}
		rest, ours := strings.CutPrefix(pkg+"/", module+"/")
		if !ours {
			continue
		}
		folder := path.Clean(rest)
		name := path.Base(pkg)
		if spec.Name != nil {
			name = spec.Name.Name
		}
		names[name] = folder
	}
	return names
}

// declared returns the exported names that a file declares at package level, and for each the
// exported names that its declaration mentions: its signature, its fields, the type of a constant.
func declared(file *ast.File) map[string][]string {
	names := map[string][]string{}
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			switch of := receiver(d); {
			case of == "" && d.Name.IsExported():
				names[d.Name.Name] = append(names[d.Name.Name], mentioned(d.Type)...)
			case of != "" && d.Name.IsExported():
				names[of] = append(names[of], mentioned(d.Type)...)
			}
		case *ast.GenDecl:
			declaredBy(d, names)
		}
	}
	maps.DeleteFunc(names, func(name string, _ []string) bool { return !ast.IsExported(name) })
	return names
}

func declaredBy(d *ast.GenDecl, names map[string][]string) {
	for _, spec := range d.Specs {
		switch s := spec.(type) {
		case *ast.TypeSpec:
			names[s.Name.Name] = append(names[s.Name.Name], mentioned(s.Type)...)
		case *ast.ValueSpec:
			for _, name := range s.Names {
				names[name.Name] = append(names[name.Name], mentioned(s.Type)...)
				// The values of an enumeration belong to its type.
				if of, ok := s.Type.(*ast.Ident); ok && d.Tok == token.CONST {
					names[of.Name] = append(names[of.Name], name.Name)
				}
			}
		}
	}
}

func mentioned(n ast.Node) (names []string) {
	if n == nil {
		return nil
	}
	ast.Inspect(n, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok && id.IsExported() {
			names = append(names, id.Name)
		}
		return true
	})
	return names
}

// unused returns the exported names, as folder.Name, that no other package uses, neither by name
// nor through the declaration of a name that is used.
func unused(files map[string]*ast.File) []string {
	mentions := map[string]map[string][]string{}
	used := map[string]bool{}
	var queue []string
	use := func(name string) {
		if !used[name] {
			used[name] = true
			queue = append(queue, name)
		}
	}
	for name, file := range files {
		folder := path.Dir(name)
		if !strings.HasSuffix(name, "_test.go") {
			if mentions[folder] == nil {
				mentions[folder] = map[string][]string{}
			}
			for of, others := range declared(file) {
				mentions[folder][of] = append(mentions[folder][of], others...)
			}
		}
		packages := ownImports(file)
		ast.Inspect(file, func(n ast.Node) bool {
			if sel, ok := n.(*ast.SelectorExpr); ok {
				if x, ok := sel.X.(*ast.Ident); ok && packages[x.Name] != "" &&
					packages[x.Name] != folder {
					use(packages[x.Name] + "." + sel.Sel.Name)
				}
			}
			return true
		})
	}
	for len(queue) > 0 {
		folder, name := cutLast(queue[0])
		queue = queue[1:]
		for _, other := range mentions[folder][name] {
			use(folder + "." + other)
		}
	}
	var list []string
	for folder, names := range mentions {
		for name := range names {
			if !used[folder+"."+name] {
				list = append(list, folder+"."+name)
			}
		}
	}
	slices.Sort(list)
	return list
}

// cutLast cuts "folder.Name" at its last dot.
func cutLast(s string) (before, after string) {
	i := strings.LastIndex(s, ".")
	return s[:i], s[i+1:]
}

// exportedForFeatures are exported names for the folders in feature. They stay when the feature is
// left out that uses them.
var exportedForFeatures = []string{"starter/replay.Run", "starter/runs.Flags",
	"starter/runs.Started", "starter/runs.TellMissing", "workflows.Bystander", "workflows.Invalid"}

// publicFolders hold packages whose users are programs outside this repository.
var publicFolders = []string{".", "tool", "worker/host"}

func TestExportedNames_HaveAUserOutsideTheirPackage(t *testing.T) {
	files := map[string]*ast.File{}
	for _, s := range goFiles(t) {
		if !strings.HasPrefix(s.name, "devserver/") {
			files[s.name] = s.parse(t)
		}
	}
	list := unused(files)
	for _, name := range list {
		folder, _ := cutLast(name)
		if !slices.Contains(publicFolders, folder) && !slices.Contains(exportedForFeatures, name) {
			t.Errorf("%s is exported, and no other package uses it", name)
		}
	}
}

func TestExportedNames_CheckCanFail(t *testing.T) {
	parse := func(name, text string) *ast.File {
		file, err := parser.ParseFile(token.NewFileSet(), name, text, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		return file
	}
	files := map[string]*ast.File{
		"a/a.go": parse("a/a.go", `package a
type Used struct{ Field Reached }
type Reached int
const One Reached = 1
type Idle struct{}
func (Idle) Method(Lost) {}
type Lost int
func helper() {}
var Spare = 1`),
		"a/a_test.go": parse("a/a_test.go", "package a\nvar _ = Spare\n"),
		"b/b.go":      parse("b/b.go", "package b\nimport \""+module+"/a\"\nvar x a.Used\n"),
	}
	if got, want := unused(files), []string{"a.Idle", "a.Lost", "a.Spare"}; !slices.Equal(got,
		want) {
		t.Errorf("unused names are %q, want %q", got, want)
	}
}
