// Package reference holds the published schemas of files, and the tables of reference pages, to the
// Go types that the files are decoded into: their tags and the comments of their fields. go test
// -update writes them.
package reference

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/jsontext"
	"github.com/switchyard/switchyard/internal/outbound"
	"github.com/switchyard/switchyard/internal/strictyaml"
	"github.com/switchyard/switchyard/internal/test/golden"
	"github.com/switchyard/switchyard/internal/validator"
)

const module = "github.com/switchyard/switchyard"

// root returns the folder of the repository.
func root(t testing.TB) string {
	t.Helper()
	for dir := "."; len(dir) < 40; dir = filepath.Join("..", dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
	}
	t.Fatal("there is no go.mod above")
	return ""
}

// CheckSchema holds schemas/NAME.json to the type of a file, and files that are valid to the
// schema.
func CheckSchema(t *testing.T, name, title string, of reflect.Type, valid ...string) {
	t.Helper()
	docs := NewDocs(t)
	s := strictyaml.JSONSchema(of, docs.Field)
	s.Schema, s.Title = "https://json-schema.org/draft/2020-12/schema", title
	data, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	golden.Compare(t, filepath.Join(root(t), "schemas", name+".json"), string(data)+"\n")
	schema, err := validator.Compile(data)
	if err != nil {
		t.Fatal(err)
	}
	for _, pattern := range valid {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Errorf("%s: %d files, %v", pattern, len(files), err)
		}
		for _, file := range files {
			checkFile(t, schema, file)
		}
	}
}

// checkFile validates the documents of a file as an editor does.
func checkFile(t *testing.T, schema *validator.Schema, file string) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for decoder := yaml.NewDecoder(bytes.NewReader(data)); ; {
		var document any
		if err := decoder.Decode(&document); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Fatal(file, err)
		}
		if document == nil {
			continue
		}
		text, err := json.Marshal(document)
		if err != nil {
			t.Fatal(file, err)
		}
		value, jsonErr := jsontext.Parse(string(text))
		if jsonErr != nil {
			t.Fatal(file, jsonErr)
		}
		for _, v := range schema.Violations(value) {
			t.Errorf("%s: %v violates %s: %T", file, v.At, v.Schema, v.Kind)
		}
	}
}

// CheckTables holds the tables of a page of docs to types. A table is between the comments
// <!-- fields NAME --> and <!-- end -->.
func CheckTables(t *testing.T, page string, types map[string]reflect.Type) {
	t.Helper()
	docs := NewDocs(t)
	file := filepath.Join(root(t), "docs", page)
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	text := string(data)
	for name, of := range types {
		begin := "<!-- fields " + name + " -->\n"
		before, rest, found := strings.Cut(text, begin)
		_, after, closed := strings.Cut(rest, "<!-- end -->")
		if !found || !closed {
			t.Fatalf("%s has no table %s", page, name)
		}
		text = before + begin + "\n" + docs.Table(of) + "\n<!-- end -->" + after
	}
	golden.Compare(t, file, text)
}

// Docs are the comments of structs, by package and name.
type Docs struct {
	t        testing.TB
	root     string
	packages map[string]map[string]Struct
}

// Struct is the comment of a struct, first paragraph and rest, and those of its fields.
type Struct struct {
	Summary, More string
	fields        map[string]string
}

// NewDocs returns the comments of the repository.
func NewDocs(t testing.TB) *Docs {
	return &Docs{t: t, root: root(t), packages: map[string]map[string]Struct{}}
}

// Struct returns the comments of a struct.
func (d *Docs) Struct(of reflect.Type) Struct {
	d.t.Helper()
	folder := filepath.Join(d.root, strings.TrimPrefix(of.PkgPath(), module))
	if d.packages[folder] == nil {
		d.packages[folder] = d.parse(folder)
	}
	return d.packages[folder][of.Name()]
}

func (d *Docs) parse(folder string) map[string]Struct {
	files, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil || len(files) == 0 {
		d.t.Fatalf("%s: %d files, %v", folder, len(files), err)
	}
	docs := map[string]Struct{}
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		if err != nil {
			d.t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			declared, _ := n.(*ast.GenDecl)
			if declared == nil || len(declared.Specs) != 1 {
				return true
			}
			if spec, ok := declared.Specs[0].(*ast.TypeSpec); ok {
				if of, ok := spec.Type.(*ast.StructType); ok {
					summary, more, _ := strings.Cut(declared.Doc.Text(), "\n\n")
					docs[spec.Name.Name] = Struct{flat(summary), flat(more), fieldDocs(of)}
				}
			}
			return true
		})
	}
	return docs
}

func fieldDocs(of *ast.StructType) map[string]string {
	docs := map[string]string{}
	for _, f := range of.Fields.List {
		for _, name := range f.Names {
			docs[name.Name] = flat(f.Doc.Text())
		}
	}
	return docs
}

// flat returns a comment as one line.
func flat(comment string) string { return strings.Join(strings.Fields(comment), " ") }

// Field returns the comment of a field, with the names that users write.
func (d *Docs) Field(of reflect.Type, field string) string {
	return strings.ReplaceAll(Rename(d.Struct(of).fields[field], Names(of)), "`", "")
}

// Names maps the names of the fields of a struct to those in files.
func Names(of reflect.Type) map[string]string {
	names := map[string]string{}
	for _, f := range reflect.VisibleFields(of) {
		if name := FileName(f); name != "" {
			names[f.Name] = name
		}
	}
	return names
}

// FileName returns the name of a field in files; empty if it is in none.
func FileName(f reflect.StructField) string {
	tag, ok := f.Tag.Lookup("yaml")
	if !ok {
		tag = f.Tag.Get("json")
	}
	name, _, _ := strings.Cut(tag, ",")
	if name == "-" || !f.IsExported() || f.Anonymous {
		return ""
	}
	return name
}

var goNames = regexp.MustCompile(`\b[A-Z]\w*\b`)

// Rename returns a comment with other names for those of Go.
func Rename(text string, names map[string]string) string {
	return goNames.ReplaceAllStringFunc(text, func(word string) string {
		if name := names[word]; name != "" {
			return "`" + name + "`"
		}
		return word
	})
}

// Table returns the table of the fields of a struct. A field without a comment is beside the one
// before it.
func (d *Docs) Table(of reflect.Type) string {
	d.t.Helper()
	return d.RenderTable(of, Names(of))
}

// RenderTable is Table with the names that comments have for others.
func (d *Docs) RenderTable(of reflect.Type, names map[string]string) string {
	d.t.Helper()
	var rows [][3]string
	for _, f := range reflect.VisibleFields(of) {
		if FileName(f) == "" {
			continue
		}
		declared := of
		for _, i := range f.Index[:len(f.Index)-1] {
			declared = declared.Field(i).Type
		}
		name, text := "`"+FileName(f)+"`", d.Struct(declared).fields[f.Name]
		switch {
		case text != "":
			text = strings.ReplaceAll(Rename(text, names), "|", `\|`)
			text = strings.TrimPrefix(strings.TrimPrefix(text, name+" is "), name+" are ")
			rows = append(rows, [3]string{name, valueForm(f), text})
		case len(rows) == 0:
			d.t.Fatalf("%s.%s has no comment", of.Name(), f.Name)
		default:
			last := &rows[len(rows)-1]
			last[0] += ", " + name
			if form := valueForm(f); !strings.Contains(last[1], form) {
				last[1] += "; " + form
			}
		}
	}
	var b strings.Builder
	b.WriteString("| field | value | meaning |\n| --- | --- | --- |\n")
	for _, row := range rows {
		fmt.Fprintf(&b, "| %s | %s | %s |\n", row[0], row[1], row[2])
	}
	return b.String()
}

// valueForm returns the values of a field, with their bounds.
func valueForm(f reflect.StructField) string {
	rules := map[string]string{}
	for part := range strings.SplitSeq(f.Tag.Get("rule"), ",") {
		key, value, _ := strings.Cut(part, "=")
		rules[key] = cmp.Or(value, key)
	}
	form := typeForm(f.Type)
	if rules["size"] != "" {
		form = "size"
	}
	if rules["secret"] != "" && form != "authentication" {
		form += " of references"
	}
	if list := rules["enum"]; list != "" {
		form = strings.TrimSuffix(form, "strings")
		form = strings.TrimPrefix(form, "string") + "`" + strings.ReplaceAll(list, "|", "`, `") + "`"
	}
	return form + bounds(rules)
}

// bounds returns the bounds of a field, and whether it is required.
func bounds(rules map[string]string) (text string) {
	switch least, most := rules["min"], rules["max"]; {
	case least != "" && most != "":
		text = ", " + least + " to " + most
	case least != "":
		text = ", at least " + least
	case most != "":
		text = ", at most " + most
	}
	if rules["above"] != "" {
		text = ", above " + rules["above"] + text
	}
	if rules["required"] != "" {
		text += ", required"
	}
	return text
}

// typeNames are the names of types in tables.
var typeNames = map[reflect.Type]string{
	reflect.TypeFor[api.Duration]():    "duration",
	reflect.TypeFor[json.RawMessage](): "any",
	reflect.TypeFor[bool]():            "boolean",
	reflect.TypeFor[int]():             "integer",
	reflect.TypeFor[float64]():         "number",
	reflect.TypeFor[outbound.Auth]():   "authentication",
	reflect.TypeFor[map[string]int]():  "mapping to integers",
}

func typeForm(of reflect.Type) string {
	if of.Kind() == reflect.Pointer {
		of = of.Elem()
	}
	switch {
	case typeNames[of] != "":
		return typeNames[of]
	case of.Kind() == reflect.Slice:
		return "list of " + plural(typeForm(of.Elem()))
	case of.Kind() == reflect.Map || of.Kind() == reflect.Struct:
		return "mapping"
	}
	return "string"
}

func plural(form string) string { return cmp.Or(map[string]string{"any": "values"}[form], form+"s") }
