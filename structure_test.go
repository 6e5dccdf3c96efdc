package switchyard_test

import (
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// maxBackward bounds the share of the references between the files of a package that run back up,
// in percent. A reader of such a package cannot begin at one file and go on to those below it.
var maxBackward = map[string]int{"api": 10, "workflows": 15, "toolspecs": 20}

// references are the files of a package that each file refers to: it uses a name, a method or a
// field that they declare.
type references map[string]map[string]bool

// referencesOf returns the references between the files of a package. imported returns the types of
// the packages that it imports.
func referencesOf(set *token.FileSet, files []*ast.File, imported types.Importer) (references,
	error) {
	info := &types.Info{Uses: map[*ast.Ident]types.Object{}}
	checker := types.Config{Importer: imported}
	pkg, err := checker.Check("checked", set, files, info)
	if err != nil {
		return nil, err
	}
	all := references{}
	for _, f := range files {
		all[set.File(f.Pos()).Name()] = map[string]bool{}
	}
	for used, object := range info.Uses {
		if object.Pkg() != pkg || isLocal(object) {
			continue
		}
		from, to := set.File(used.Pos()).Name(), set.File(object.Pos()).Name()
		if from != to {
			all[from][to] = true
		}
	}
	return all, nil
}

// isLocal reports whether an object is declared within a function.
func isLocal(object types.Object) bool {
	parent := object.Parent()
	return parent != nil && parent != object.Pkg().Scope()
}

// backward orders the files so that few references run against the order, and returns how many do,
// and how many there are. The order is that of the greedy heuristic of Eades, Lin and Smyth for the
// feedback arc set (Information Processing Letters 47, 1993).
func (r references) backward() (back, all int) {
	left := maps.Clone(r)
	var first, last []string
	for len(left) > 0 {
		name, out := r.next(left)
		if out == 0 {
			last = append(last, name)
		} else {
			first = append(first, name)
		}
		delete(left, name)
	}
	slices.Reverse(last)
	place := map[string]int{}
	for i, name := range append(first, last...) {
		place[name] = i
	}
	for name, others := range r {
		for other := range others {
			if all++; place[other] < place[name] {
				back++
			}
		}
	}
	return back, all
}

// next returns a file that refers to no other one that is left, else one to which none refers, else
// the one with the most references more than others have to it. out is how many it has.
func (r references) next(left references) (name string, out int) {
	type degree struct{ out, in int }
	degrees, names := map[string]degree{}, slices.Sorted(maps.Keys(left))
	for _, from := range names {
		for to := range r[from] {
			if left[to] != nil {
				degrees[from] = degree{degrees[from].out + 1, degrees[from].in}
				degrees[to] = degree{degrees[to].out, degrees[to].in + 1}
			}
		}
	}
	rank := func(name string) int {
		switch d := degrees[name]; {
		case d.out == 0:
			return 2 * len(r)
		case d.in == 0:
			return len(r)
		default:
			return d.out - d.in
		}
	}
	name = slices.MaxFunc(names, func(a, b string) int { return rank(a) - rank(b) })
	return name, degrees[name].out
}

// exported returns an importer that reads what the compiler has exported of packages and all that
// they import.
func exported(t *testing.T, set *token.FileSet, folders ...string) types.Importer {
	t.Helper()
	places := map[string]string{}
	for _, line := range goList(t, append([]string{"-export", "-deps", "-f",
		"{{.ImportPath}}={{.Export}}"}, folders...)...) {
		path, file, _ := strings.Cut(line, "=")
		places[path] = file
	}
	return importer.ForCompiler(set, "gc", func(path string) (io.ReadCloser, error) {
		return os.Open(places[path])
	})
}

// parseFile parses a file; text is what it has, nil to read it.
func parseFile(t *testing.T, set *token.FileSet, name string, text any) *ast.File {
	t.Helper()
	f, err := parser.ParseFile(set, name, text, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestFiles_ReferToThoseBelowThem(t *testing.T) {
	set := token.NewFileSet()
	var folders []string
	for folder := range maxBackward {
		folders = append(folders, "./"+folder)
	}
	imported := exported(t, set, folders...)
	for folder, most := range maxBackward {
		names, err := filepath.Glob(filepath.Join(folder, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		var files []*ast.File
		for _, name := range names {
			if !strings.HasSuffix(name, "_test.go") {
				files = append(files, parseFile(t, set, name, nil))
			}
		}
		r, err := referencesOf(set, files, imported)
		if err != nil {
			t.Fatal(err)
		}
		if back, all := r.backward(); 100*back > most*all {
			t.Errorf("%s: %d of %d references between files run back up, more than %d %%", folder,
				back, all, most)
		} else {
			t.Logf("%s: %d of %d", folder, back, all)
		}
	}
}

func TestReferences_CountThoseThatRunBackUp(t *testing.T) {
	set := token.NewFileSet()
	var files []*ast.File
	for name, text := range map[string]string{
		"top.go":    "package p\nfunc top() { middle(t{}) }\n",
		"middle.go": "package p\ntype t struct{}\nfunc middle(v t) { v.bottom(); bottom := 1; _ = bottom }\n",
		"bottom.go": "package p\nfunc (t) bottom() {}\n",
	} {
		files = append(files, parseFile(t, set, name, text))
	}
	r, err := referencesOf(set, files, nil)
	if err != nil {
		t.Fatal(err)
	}
	if back, all := r.backward(); back != 1 || all != 3 {
		t.Errorf("%d of %d references run back up in %v", back, all, r)
	}
}
