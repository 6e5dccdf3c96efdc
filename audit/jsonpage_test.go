package audit_test

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit"
	"github.com/switchyard/switchyard/audit/history"
	"github.com/switchyard/switchyard/audit/stats"
)

var updateJSON = flag.Bool("update-json", false, "write the tables of docs/cli-json.md")

// jsonTables are the generated tables of docs/cli-json.md, by the name in the comments around them.
var jsonTables = map[string]reflect.Type{
	"run": reflect.TypeFor[history.Summary](), "running": reflect.TypeFor[audit.Running](),
	"result": reflect.TypeFor[api.RunResult](), "usage": reflect.TypeFor[api.Usage](),
	"record": reflect.TypeFor[api.Record](), "event": reflect.TypeFor[api.Event](),
	"report": reflect.TypeFor[stats.Report](), "counts": reflect.TypeFor[stats.CallStats](),
}

// jsonLinks say where the fields of types are described.
var jsonLinks = map[reflect.Type]string{
	reflect.TypeFor[api.Record]():      "[record](#records)",
	reflect.TypeFor[api.Usage]():       "[usage](#usage)",
	reflect.TypeFor[api.RunResult]():   "[result](#results)",
	reflect.TypeFor[api.Timing]():      "[times](#records)",
	reflect.TypeFor[api.Error]():       "[error](failures.md#error-types)",
	reflect.TypeFor[api.Approval]():    "as `approvals` prints it",
	reflect.TypeFor[api.Decided]():     "[decision](approvals.md#records)",
	reflect.TypeFor[api.Question]():    "as `approvals` prints it",
	reflect.TypeFor[stats.CallStats](): "[counts](#counts-of-calls)",
}

var generated = regexp.MustCompile(`(?s)<!-- generated: (\w+) -->\n\n(.*?)\n<!-- end -->`)

// The tables of docs/cli-json.md about runs, records, events and reports are generated from the
// structs: their tags, comments and constants.
//
//	go test ./audit -run TestJSONPage -update-json
func TestJSONPage_IsFresh(t *testing.T) {
	const page = "../docs/cli-json.md"
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	docs := parseJSONDocs(t, "../api", ".", "history", "stats")
	seen := 0
	want := generated.ReplaceAllStringFunc(string(text), func(section string) string {
		name := generated.FindStringSubmatch(section)[1]
		of, known := jsonTables[name]
		if !known {
			t.Errorf("%s has a table of %q, which has no type", page, name)
			return section
		}
		seen++
		return fmt.Sprintf("<!-- generated: %s -->\n\n%s\n<!-- end -->", name, docs.table(t, of))
	})
	if seen != len(jsonTables) {
		t.Errorf("%s has %d generated tables, want %d", page, seen, len(jsonTables))
	}
	if *updateJSON {
		if err := os.WriteFile(page, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if string(text) != want {
		t.Errorf("%s is stale: run go test ./audit -run TestJSONPage -update-json", page)
	}
}

// jsonDocs are the comments of the fields of structs, by package, struct and field, and the values
// of text types, by package and type.
type jsonDocs struct {
	fields map[string]string
	values map[string][]string
}

func parseJSONDocs(t *testing.T, folders ...string) jsonDocs {
	t.Helper()
	docs := jsonDocs{map[string]string{}, map[string][]string{}}
	for _, folder := range folders {
		files, err := filepath.Glob(filepath.Join(folder, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range files {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(file, func(n ast.Node) bool {
				docs.add(file.Name.Name, n)
				return true
			})
		}
	}
	return docs
}

func (d jsonDocs) add(pkg string, n ast.Node) {
	switch n := n.(type) {
	case *ast.TypeSpec:
		of, isStruct := n.Type.(*ast.StructType)
		if !isStruct {
			return
		}
		for _, f := range of.Fields.List {
			for _, name := range f.Names {
				text := strings.Join(strings.Fields(f.Doc.Text()+" "+f.Comment.Text()), " ")
				d.fields[pkg+"."+n.Name.Name+"."+name.Name] = text
			}
		}
	case *ast.ValueSpec:
		of, isName := n.Type.(*ast.Ident)
		if !isName || len(n.Values) != 1 {
			return
		}
		if literal, isLiteral := n.Values[0].(*ast.BasicLit); isLiteral {
			if text, err := strconv.Unquote(literal.Value); err == nil {
				d.values[pkg+"."+of.Name] = append(d.values[pkg+"."+of.Name], text)
			}
		}
	}
}

// jsonField is a field of a JSON object, and the struct that has it.
type jsonField struct {
	reflect.StructField
	in   reflect.Type
	name string
}

// jsonFields returns the fields of a struct, those of embedded structs in their place.
func jsonFields(of reflect.Type) (fields []jsonField) {
	for f := range of.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous && name == "":
			fields = append(fields, jsonFields(f.Type)...)
		case name != "" && name != "-":
			fields = append(fields, jsonField{f, of, name})
		}
	}
	return fields
}

// table returns the table of the fields of a struct. A field without a comment is beside the one
// before it.
func (d jsonDocs) table(t *testing.T, of reflect.Type) string {
	t.Helper()
	fields := jsonFields(of)
	names := map[string]string{}
	var rows [][]jsonField
	for _, f := range fields {
		names[f.Name] = f.name
		switch {
		case d.comment(f) != "":
			rows = append(rows, []jsonField{f})
		case len(rows) == 0:
			t.Fatalf("%s.%s has no comment", f.in, f.Name)
		default:
			rows[len(rows)-1] = append(rows[len(rows)-1], f)
		}
	}
	var b strings.Builder
	b.WriteString("| field | content |\n| --- | --- |\n")
	for _, row := range rows {
		var cells []string
		for _, f := range row {
			cells = append(cells, "`"+f.name+"`")
		}
		fmt.Fprintf(&b, "| %s | %s |\n", strings.Join(cells, ", "),
			strings.ReplaceAll(d.describe(row, names), "|", `\|`))
	}
	return b.String()
}

func (d jsonDocs) comment(f jsonField) string {
	return d.fields[filepath.Base(f.in.PkgPath())+"."+f.in.Name()+"."+f.Name]
}

var (
	exportedName = regexp.MustCompile(`\b[A-Z]\w*[a-z]\w*\b`)
	// subject matches the names that begin a comment, and the verb that the table leaves out.
	subject = regexp.MustCompile("^`\\w+`((, | and |, and )`\\w+`)* ((is|are) )?")
	absent  = regexp.MustCompile(`\bnil\b`)
)

// describe returns what the comment of a row's first field says of its fields, and what their
// values consist of.
func (d jsonDocs) describe(row []jsonField, names map[string]string) string {
	text := exportedName.ReplaceAllStringFunc(d.comment(row[0]), func(word string) string {
		if name := names[word]; name != "" {
			return "`" + name + "`"
		}
		return word
	})
	first, rest, _ := strings.Cut(text, ". ")
	kept := []string{subject.ReplaceAllString(strings.TrimSuffix(first, "."), "")}
	for sentence := range strings.SplitSeq(rest, ". ") {
		for _, f := range row[1:] {
			if strings.HasPrefix(sentence, "`"+f.name+"`") {
				kept = append(kept, strings.TrimSuffix(sentence, "."))
			}
		}
	}
	for _, f := range row {
		switch parts := d.listParts(f.Type); {
		case parts != "" && len(row) > 1:
			kept = append(kept, "`"+f.name+"`: "+parts)
		case parts != "":
			kept[0] += ": " + parts
		}
	}
	return absent.ReplaceAllString(strings.Join(kept, "; "), "absent")
}

// listParts returns the values of a text type, or the fields of an object.
func (d jsonDocs) listParts(of reflect.Type) string {
	for slices.Contains([]reflect.Kind{reflect.Pointer, reflect.Slice, reflect.Map}, of.Kind()) {
		if of.Elem().Kind() == reflect.Uint8 {
			return ""
		}
		of = of.Elem()
	}
	if link := jsonLinks[of]; link != "" {
		return link
	}
	if !strings.HasPrefix(of.PkgPath(), "github.com/switchyard/switchyard/") {
		return ""
	}
	parts, link := d.values[filepath.Base(of.PkgPath())+"."+of.Name()], ""
	if of.Kind() == reflect.Struct {
		for f := range of.Fields() {
			if f.Anonymous && jsonLinks[f.Type] != "" {
				link = ", " + jsonLinks[f.Type]
			}
		}
		for _, f := range jsonFields(of) {
			if jsonLinks[f.in] == "" {
				parts = append(parts, f.name)
			}
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return "`" + strings.Join(parts, "`, `") + "`" + link
}
