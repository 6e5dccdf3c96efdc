package toolspecs

import (
	"fmt"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/switchyard/switchyard/internal/test/golden"
	"github.com/switchyard/switchyard/internal/test/reference"
)

// docs/kinds.md is generated from the structs of the kinds: their comments, tags and dispatch.
//
//	go test ./toolspecs -run TestKindsPage -update
func TestKindsPage_IsFresh(t *testing.T) {
	golden.Compare(t, "../docs/kinds.md", kindsPage(t))
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
	docs := reference.NewDocs(t)
	var b strings.Builder
	b.WriteString("<!-- Generated from the comments in toolspecs/kind_*.go. Do not edit. -->\n\n")
	b.WriteString(kindsIntro)
	b.WriteString("| kind | tools that | slots of lanes | `verify` |\n| --- | --- | --- | --- |\n")
	for _, name := range kindNames() {
		fmt.Fprintf(&b, "| [`%s`](#%s) | %s | %s | %s |\n", name, name, kindSummary(t, docs, kinds[name]),
			slots(kinds[name]), yes(kinds[name].dispatch().Schedules()))
	}
	for _, name := range kindNames() {
		kind := reflect.TypeOf(kinds[name])
		fmt.Fprintf(&b, "\n## %s\n\n%s%s", name, kindDetails(docs, kind), kindTable(docs, kind))
		for f := range kind.Fields() {
			of := elementType(f.Type)
			if own := of.PkgPath() == kind.PkgPath(); own && of.Kind() == reflect.Struct &&
				reference.FileName(f) != "" {
				fmt.Fprintf(&b, "\nElements of `%s`:\n\n%s", reference.FileName(f), kindTable(docs, of))
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

// kindTable returns the table of the fields of a struct, in which kinds have their names.
func kindTable(docs *reference.Docs, of reflect.Type) string {
	return strings.ReplaceAll(docs.RenderTable(of, kindFieldNames(of)), "a `", "`")
}

// kindFieldNames maps the names of fields and of entries to those that users write.
func kindFieldNames(of reflect.Type) map[string]string {
	names := reference.Names(of)
	for _, name := range kindNames() {
		names[reflect.TypeOf(kinds[name]).Name()] = name
	}
	return names
}

var summaryForm = regexp.MustCompile(`^\w+ is the entry of tools that (.+)\.$`)

// kindSummary returns what tools of a kind do, from the comment of its struct.
func kindSummary(t *testing.T, docs *reference.Docs, k Kind) string {
	t.Helper()
	text := docs.Struct(reflect.TypeOf(k)).Summary
	m := summaryForm.FindStringSubmatch(text)
	if m == nil {
		t.Fatalf("%T: the comment %q is not of the form %v", k, text, summaryForm)
	}
	return m[1]
}

// kindDetails returns what the comment of a kind says after its first paragraph.
func kindDetails(docs *reference.Docs, kind reflect.Type) string {
	text := docs.Struct(kind).More
	if text == "" {
		return ""
	}
	text = reference.Rename(text, kindFieldNames(kind))
	return wrap(strings.ReplaceAll(text, "a `", "`")) + "\n\n"
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

func elementType(of reflect.Type) reflect.Type {
	for of.Kind() == reflect.Slice || of.Kind() == reflect.Pointer {
		of = of.Elem()
	}
	return of
}
