package toolspecs

import (
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/switchyard/switchyard/api"
)

var updateKinds = flag.Bool("update-kinds", false, "write docs/kinds.md")

// docs/kinds.md is generated from the structs of the kinds: their comments, tags and dispatch.
//
//	go test ./toolspecs -run TestKindsPage -update-kinds
func TestKindsPage_IsFresh(t *testing.T) {
	const page = "../docs/kinds.md"
	want := kindsPage(t)
	if *updateKinds {
		if err := os.WriteFile(page, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Errorf("%s is stale: run go test ./toolspecs -run TestKindsPage -update-kinds", page)
	}
}

const kindsIntro = `# Kinds of tools

` + "`entry.type`" + ` of a [toolspec](toolspec.md) names the kind of a tool, which decides what executes
its calls. The other fields of ` + "`entry`" + ` depend on the kind. [Tools](tools.md#choose-a-kind)
tells which to take; [examples/kinds](../examples/kinds) has a runnable example of every kind.

Kinds whose calls take slots of lanes can run on the lane ` + "`inline`" + ` and be batched. Kinds with
` + "`verify`" + ` can declare it, and be named by ` + "`undo` and `verify`" + ` of other tools.

`

func kindsPage(t *testing.T) string {
	t.Helper()
	docs := parseDocs(t)
	var b strings.Builder
	b.WriteString("<!-- Generated from the comments in toolspecs/kind_*.go. Do not edit. -->\n\n")
	b.WriteString(kindsIntro)
	b.WriteString("| kind | tools that | slots of lanes | `verify` |\n| --- | --- | --- | --- |\n")
	for _, name := range kindNames() {
		fmt.Fprintf(&b, "| [`%s`](#%s) | %s | %s | %s |\n", name, name, docs.summary(t, kinds[name]),
			slots(kinds[name]), yes(kinds[name].dispatch().Schedules()))
	}
	for _, name := range kindNames() {
		kind := reflect.TypeOf(kinds[name])
		fmt.Fprintf(&b, "\n## %s\n\n%s%s", name, docs.more(kind), docs.table(t, kind))
		for f := range kind.Fields() {
			of := elementType(f.Type)
			if own := of.PkgPath() == kind.PkgPath(); own && of.Kind() == reflect.Struct &&
				yamlName(f) != "" {
				fmt.Fprintf(&b, "\nElements of `%s`:\n\n%s", yamlName(f), docs.table(t, of))
			}
		}
	}
	return b.String()
}

// slots reports whether calls of a kind take slots of lanes, or what to write for calls that do.
func slots(k Kind) string {
	if chooser, chooses := k.(slotChooser); chooses {
		_, remedy := chooser.withoutSlots()
		return remedy
	}
	return yes(k.dispatch().TakesSlots())
}

func yes(is bool) string {
	if is {
		return "yes"
	}
	return "no"
}

// structDocs maps structs of the package to their comments.
type structDocs map[string]structDoc

// structDoc is the first paragraph of a comment, what follows it, and the comments of the fields.
type structDoc struct {
	summary, more string
	fields        map[string]string
}

func parseDocs(t *testing.T) structDocs {
	t.Helper()
	files, err := filepath.Glob("kind*.go")
	if err != nil {
		t.Fatal(err)
	}
	docs := structDocs{}
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			declared, _ := n.(*ast.GenDecl)
			if declared == nil || len(declared.Specs) != 1 {
				return true
			}
			spec, _ := declared.Specs[0].(*ast.TypeSpec)
			if spec == nil {
				return true
			}
			if of, ok := spec.Type.(*ast.StructType); ok {
				summary, more, _ := strings.Cut(declared.Doc.Text(), "\n\n")
				docs[spec.Name.Name] = structDoc{flat(summary), flat(more), fieldDocs(of)}
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

var summaryForm = regexp.MustCompile(`^\w+ is the entry of tools that (.+)\.$`)

// summary returns what tools of a kind do, from the comment of its struct.
func (d structDocs) summary(t *testing.T, k Kind) string {
	t.Helper()
	text := d[reflect.TypeOf(k).Name()].summary
	m := summaryForm.FindStringSubmatch(text)
	if m == nil {
		t.Fatalf("%T: the comment %q is not of the form %v", k, text, summaryForm)
	}
	return m[1]
}

// more returns what the comment of a kind says after its first paragraph.
func (d structDocs) more(kind reflect.Type) string {
	text := d[kind.Name()].more
	if text == "" {
		return ""
	}
	return wrap(yamlText(text, yamlNames(kind))) + "\n\n"
}

// wrap returns a text in lines of at most 100 bytes.
func wrap(text string) string {
	var b strings.Builder
	length := 0
	for word := range strings.FieldsSeq(text) {
		switch {
		case length == 0:
		case length+1+len(word) > 100:
			b.WriteByte('\n')
			length = 0
		default:
			b.WriteByte(' ')
			length++
		}
		b.WriteString(word)
		length += len(word)
	}
	return b.String()
}

// yamlNames maps the names of the fields of a struct to those in files.
func yamlNames(of reflect.Type) map[string]string {
	names := map[string]string{}
	for f := range of.Fields() {
		names[f.Name] = yamlName(f)
	}
	return names
}

// table returns the table of the fields of a struct. A field without a comment is beside the one
// before it.
func (d structDocs) table(t *testing.T, of reflect.Type) string {
	t.Helper()
	var rows [][3]string
	fields := yamlNames(of)
	for f := range of.Fields() {
		if yamlName(f) == "" {
			continue
		}
		name, text := "`"+yamlName(f)+"`", d[of.Name()].fields[f.Name]
		switch {
		case text != "":
			rows = append(rows, [3]string{name, valueForm(f), yamlText(text, fields)})
		case len(rows) == 0:
			t.Fatalf("%s.%s has no comment", of.Name(), f.Name)
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

func yamlName(f reflect.StructField) string {
	name := f.Tag.Get("yaml")
	if name == "-" {
		return ""
	}
	return name
}

func elementType(of reflect.Type) reflect.Type {
	for of.Kind() == reflect.Slice || of.Kind() == reflect.Pointer {
		of = of.Elem()
	}
	return of
}

var goNames = regexp.MustCompile(`\b[A-Z]\w*\b`)

// yamlText returns a comment with the names of fields and kinds as users write them.
func yamlText(text string, fields map[string]string) string {
	text = goNames.ReplaceAllStringFunc(text, func(word string) string {
		if name := fields[word]; name != "" {
			return "`" + name + "`"
		}
		for _, name := range kindNames() {
			if reflect.TypeOf(kinds[name]).Name() == word {
				return "`" + name + "`"
			}
		}
		return word
	})
	return strings.NewReplacer("a `", "`", "|", `\|`).Replace(text)
}

// valueForm returns the values of a field, with their bounds.
func valueForm(f reflect.StructField) string {
	form := typeForm(f.Type)
	for part := range strings.SplitSeq(f.Tag.Get("rule"), ",") {
		key, value, _ := strings.Cut(part, "=")
		switch key {
		case "enum":
			return "`" + strings.Join(strings.Split(value, "|"), "`, `") + "`"
		case "size":
			form = "size"
		case "secret":
			form += " of references"
		case "above":
			form += ", above " + value
		case "min":
			form += ", at least " + value
		case "max":
			form += ", at most " + value
		}
	}
	return strings.Replace(form, "authentication of references", "authentication", 1)
}

func typeForm(of reflect.Type) string {
	names := map[reflect.Type]string{
		reflect.TypeFor[api.Duration]():    "duration",
		reflect.TypeFor[json.RawMessage](): "any",
		reflect.TypeFor[bool]():            "boolean",
		reflect.TypeFor[int]():             "integer",
	}
	if of.Kind() == reflect.Pointer {
		of = of.Elem()
	}
	switch {
	case names[of] != "":
		return names[of]
	case of.Kind() == reflect.Map:
		return "mapping"
	case of.Kind() == reflect.Slice:
		return "list of " + plural(typeForm(of.Elem()))
	case of.Kind() == reflect.Struct && of.Name() == "Auth":
		return "authentication"
	case of.Kind() == reflect.Struct:
		return "mapping"
	}
	return "string"
}

func plural(form string) string { return cmp.Or(map[string]string{"any": "values"}[form], form+"s") }
