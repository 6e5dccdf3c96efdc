package toolspecs

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"reflect"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// orderedObject builds a JSON object with its keys in the order of the calls.
type orderedObject struct{ *object }

func newObject() orderedObject { return orderedObject{&object{members: map[string]any{}}} }

func (o orderedObject) set(key string, value any) {
	o.keys = append(o.keys, key)
	o.members[key] = value
}

// schemaOfParameters returns the JSON Schema of an object with these properties and no others.
func schemaOfParameters(parameters []Parameter, alsoRequired []string) orderedObject {
	s, properties := newObject(), newObject()
	required := []any{}
	for _, p := range parameters {
		properties.set(p.Name, schemaOfParameter(p).object)
		if p.Required {
			required = append(required, p.Name)
		}
	}
	for _, name := range alsoRequired {
		if !containsValue(required, name) {
			required = append(required, name)
		}
	}
	s.set("type", typeObject)
	s.set("properties", properties.object)
	if len(required) > 0 {
		s.set("required", required)
	}
	s.set("additionalProperties", false)
	return s
}

func containsValue(list []any, s string) bool {
	for _, e := range list {
		if e == s {
			return true
		}
	}
	return false
}

func schemaOfParameter(p Parameter) orderedObject {
	v := p.rules()
	s := newObject()
	s.set("type", p.Type)
	if p.Type == typeObject && len(v.Properties) > 0 {
		s = schemaOfParameters(v.Properties, v.Required)
	} else if len(v.Required) > 0 {
		required := make([]any, len(v.Required))
		for i, name := range v.Required {
			required[i] = name
		}
		s.set("required", required)
	}
	if p.Description != "" {
		s.set("description", p.Description)
	}
	if p.Default != nil {
		s.set("default", decoded(p.Default))
	}
	v.addTo(s)
	return s
}

// addTo adds the rules that are keywords of JSON Schema.
func (v Validation) addTo(s orderedObject) {
	if v.Pattern != "" {
		s.set("pattern", v.Pattern)
	}
	if len(v.Enum) > 0 {
		values := make([]any, len(v.Enum))
		for i, e := range v.Enum {
			values[i] = decoded(e)
		}
		s.set("enum", values)
	}
	for _, r := range []struct {
		keyword string
		value   *int
	}{{"minLength", v.MinLength}, {"maxLength", v.MaxLength}, {"minItems", v.MinItems}, {"maxItems", v.MaxItems}} {
		if r.value != nil {
			s.set(r.keyword, json.Number(fmt.Sprint(*r.value)))
		}
	}
	if v.Min != nil {
		s.set("minimum", *v.Min)
	}
	if v.Max != nil {
		s.set("maximum", *v.Max)
	}
	if v.Items != nil {
		s.set("items", schemaOfParameter(*v.Items).object)
	}
}

// decoded returns a raw JSON value as the parser makes it; nil where it is broken, which checks have reported.
func decoded(raw json.RawMessage) any {
	v, err := parseOrdered(raw)
	if err != nil {
		return nil
	}
	return v
}

func encode(v any) json.RawMessage {
	return render(v, nil)
}

// compiledSchema is a JSON Schema ready for use.
type compiledSchema struct {
	compiler *jsonschema.Compiler
	root     *jsonschema.Schema
}

const schemaURL = "toolspec:///schema"

// errRemoteSchema says that schemas are complete in themselves: nothing is fetched.
var errRemoteSchema = errors.New("a schema refers only to itself; copy what it refers to into $defs")

type noLoader struct{}

func (noLoader) Load(string) (any, error) { return nil, errRemoteSchema }

// compileSchema compiles a JSON Schema, by default of draft 2020-12. Patterns are Go's regular expressions, formats
// are annotations in every draft, and nothing is read from files or networks.
func compileSchema(raw json.RawMessage) (*compiledSchema, error) {
	doc, jsonErr := parseJSON(string(raw))
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

// dropFormats makes formats annotations where a draft or vocabulary asserts them: the library can only switch them on.
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

func escapePointer(key string) string {
	return strings.NewReplacer("~", "~0", "/", "~1").Replace(key)
}
