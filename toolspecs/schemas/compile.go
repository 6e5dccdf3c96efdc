package schemas

import (
	"encoding/json"
	"errors"
	"net/url"
	"reflect"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/switchyard/switchyard/internal/jsontext"
)

// Decode returns a raw JSON value as the parser makes it; nil where it is broken, which checks
// have reported.
func Decode(raw json.RawMessage) any {
	v, err := jsontext.ParseOrdered(raw)
	if err != nil {
		return nil
	}
	return v
}

func Encode(v any) json.RawMessage {
	return render(v, nil)
}

// compiledSchema is a JSON Schema ready for use.
type compiledSchema struct {
	compiler *jsonschema.Compiler
	root     *jsonschema.Schema
}

const schemaURL = "toolspec:///schema"

// errRemoteSchema is returned for references to other documents, which are never fetched.
var errRemoteSchema = errors.New(
	"a schema refers only to itself; copy what it refers to into $defs")

type noLoader struct{}

func (noLoader) Load(string) (any, error) { return nil, errRemoteSchema }

// compileSchema compiles a JSON Schema, by default of draft 2020-12. Patterns are Go's regular
// expressions, formats are annotations in every draft, and nothing is read from files or networks.
func compileSchema(raw json.RawMessage) (*compiledSchema, error) {
	doc, jsonErr := jsontext.Parse(string(raw))
	if jsonErr != nil {
		return nil, jsonErr
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.UseLoader(noLoader{})
	if err := c.AddResource(schemaURL, doc); err != nil {
		return nil, err
	}
	s := &compiledSchema{compiler: c}
	root, err := s.at("")
	s.root = root
	return s, err
}

// at returns the subschema at a JSON Pointer.
func (s *compiledSchema) at(pointer string) (*jsonschema.Schema, error) {
	u := url.URL{Fragment: pointer}
	sub, err := s.compiler.Compile(schemaURL + u.String())
	if err != nil {
		return nil, err
	}
	dropFormats(reflect.ValueOf(sub), map[*jsonschema.Schema]bool{})
	return sub, nil
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
