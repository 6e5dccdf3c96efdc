// Package validator compiles JSON Schemas and finds what values violate: arguments and results of
// calls, and the content of files that people write.
package validator

import (
	"encoding/json"
	"errors"
	"net/url"
	"reflect"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	"github.com/switchyard/switchyard/internal/jsontext"
)

// Schema is a compiled JSON Schema.
type Schema struct {
	compiler *jsonschema.Compiler
	root     *jsonschema.Schema
}

// address is the URL by which the compiler knows a schema.
const address = "toolspec:///schema"

// errRemote is returned for references to other documents, which are never fetched.
var errRemote = errors.New("a schema refers only to itself; copy what it refers to into $defs")

type noLoader struct{}

func (noLoader) Load(string) (any, error) { return nil, errRemote }

// Compile compiles a JSON Schema, by default of draft 2020-12. Patterns are Go's regular
// expressions, formats are annotations in every draft, and nothing is read from files or networks.
func Compile(raw json.RawMessage) (*Schema, error) {
	doc, jsonErr := jsontext.Parse(string(raw))
	if jsonErr != nil {
		return nil, jsonErr
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.UseLoader(noLoader{})
	if err := c.AddResource(address, doc); err != nil {
		return nil, err
	}
	return (&Schema{compiler: c}).At("")
}

// At returns the subschema at a JSON Pointer.
func (s *Schema) At(pointer string) (*Schema, error) {
	u := url.URL{Fragment: pointer}
	sub, err := s.compiler.Compile(address + u.String())
	if err != nil {
		return nil, err
	}
	dropFormats(reflect.ValueOf(sub), map[*jsonschema.Schema]bool{})
	return &Schema{s.compiler, sub}, nil
}

// dropFormats makes formats annotations where a draft or vocabulary asserts them: the library can
// only switch them on.
func dropFormats(v reflect.Value, seen map[*jsonschema.Schema]bool) {
	switch v.Kind() {
	case reflect.Interface:
		dropFormats(v.Elem(), seen)
	case reflect.Pointer:
		dropFormatsIn(v, seen)
	case reflect.Slice:
		for i := range v.Len() {
			dropFormats(v.Index(i), seen)
		}
	case reflect.Map:
		for _, k := range v.MapKeys() {
			dropFormats(v.MapIndex(k), seen)
		}
	}
}

func dropFormatsIn(pointer reflect.Value, seen map[*jsonschema.Schema]bool) {
	s, ok := pointer.Interface().(*jsonschema.Schema)
	if !ok || s == nil || seen[s] {
		return
	}
	seen[s] = true
	s.Format = nil
	schema := pointer.Elem()
	for i := range schema.NumField() {
		if schema.Type().Field(i).IsExported() {
			dropFormats(schema.Field(i), seen)
		}
	}
}

// Violation is a rule that a value violates.
type Violation struct {
	// At leads from the whole value to the one that violates the rule: names and indices.
	At []string
	// Schema is the JSON Pointer of the schema that has the rule.
	Schema string
	Kind   jsonschema.ErrorKind
	// Causes are why a value fits none of several schemas, or why a name is refused.
	Causes []Violation
}

// Violations returns what is wrong with a value as jsontext.Parse returns it.
func (s *Schema) Violations(value any) []Violation {
	err := s.root.Validate(value)
	if invalid, ok := errors.AsType[*jsonschema.ValidationError](err); ok {
		return flatten(invalid)
	}
	return nil
}

// Broken returns where a schema that Compile refused violates the rules of its draft; nothing if
// that is not the cause.
func Broken(err error) []Violation {
	outer, ok := errors.AsType[*jsonschema.SchemaValidationError](err)
	if !ok {
		return nil
	}
	// The library's error does not unwrap to it.
	invalid, _ := errors.AsType[*jsonschema.ValidationError](outer.Err)
	return flatten(invalid)
}

// Explain returns the compiler's own words, without the address by which it knows the schema.
func Explain(err error) string {
	if _, ok := errors.AsType[*jsonschema.LoadURLError](err); ok {
		return errRemote.Error()
	}
	return "this schema cannot be used: " + strings.ReplaceAll(err.Error(), address, "")
}

// flatten returns the violations at the ends of the tree of causes.
func flatten(e *jsonschema.ValidationError) (all []Violation) {
	if e == nil {
		return nil
	}
	for _, cause := range e.Causes {
		all = append(all, flatten(cause)...)
	}
	switch e.ErrorKind.(type) {
	case *kind.AnyOf, *kind.OneOf, *kind.PropertyNames, *kind.Contains, *kind.MinContains,
		*kind.MaxContains:
	default:
		if len(all) > 0 {
			return all
		}
	}
	_, fragment, _ := strings.Cut(e.SchemaURL, "#")
	if pointer, err := url.PathUnescape(fragment); err == nil {
		fragment = pointer
	}
	return []Violation{{At: e.InstanceLocation, Schema: fragment, Kind: e.ErrorKind, Causes: all}}
}
