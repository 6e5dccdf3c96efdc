package schemas

import (
	"encoding/json"
	"strings"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/jsonpath"
	"github.com/switchyard/switchyard/internal/jsontext"
	"github.com/switchyard/switchyard/internal/strictyaml"
	"github.com/switchyard/switchyard/internal/validator"
)

// schemaChecker finds faults of a JSON Schema.
type schemaChecker struct{ *strictyaml.Findings }

// Check adds the faults of a JSON Schema at path, and returns the schema for Compile; nil if it
// does not compile. The schema of arguments must describe an object.
func Check(findings *strictyaml.Findings, path string, raw json.RawMessage,
	arguments bool) *Form {
	c := schemaChecker{findings}
	tree, jsonErr := jsontext.ParseOrdered(raw)
	if jsonErr != nil {
		c.Add(path, "", "the schema is not usable JSON: %v", jsonErr)
		return nil
	}
	o, ok := tree.(*jsontext.Object)
	if !ok {
		c.Add(path, "write type: object and properties", "a JSON Schema is a mapping here")
		return nil
	}
	if t := o.Members["type"]; arguments && t != TypeObject {
		c.Add(jsonpath.Key(path, "type"), "",
			"arguments are an object, so the schema says type: object")
	}
	at := newPartCompiler(tree)
	var form *Form
	before := len(c.All)
	if c.keywords(path, o); len(c.All) == before {
		// Otherwise the compiler would find some of it again.
		schema, err := validator.Compile(raw)
		if err != nil {
			c.schemaError(path, raw, err)
			return nil
		}
		at, form = schema.At, &Form{schema: schema}
	}
	if arguments {
		c.schemaDefaults(path, at, ShapeFromSchema(tree, ""))
	}
	return form
}

// subschemas has the compiled subschemas by JSON Pointer; nil for unusable ones.
type subschemas func(pointer string) (*validator.Schema, error)

// newPartCompiler compiles the parts of a schema that can be compiled, if the whole cannot.
func newPartCompiler(tree any) subschemas {
	return func(pointer string) (*validator.Schema, error) {
		value, _ := jsontext.At(tree, pointer)
		part, err := validator.Compile(Encode(value))
		if err != nil {
			// Its faults are already reported.
			return nil, nil
		}
		return part, nil
	}
}

// schemaError reports why a schema did not compile, each cause at its place.
func (c schemaChecker) schemaError(path string, raw json.RawMessage, err error) {
	problems := sortProblems(translate(validator.Broken(err), decodedPlain(raw), nil))
	for _, p := range problems {
		hint := "see JSON Schema 2020-12"
		if p.Rule == "format" || p.Rule == "propertyNames" {
			hint = HintRegex
		}
		c.Add(path+strings.TrimPrefix(p.Path, jsonpath.Root), hint,
			"this is not a JSON Schema: %s", p.Message)
	}
	if len(problems) == 0 {
		c.Add(path, "", "%s", validator.Explain(err))
	}
}

// schemaDefaults checks that each default satisfies its schema.
func (c schemaChecker) schemaDefaults(path string, at subschemas, s *Shape) {
	if s == nil {
		return
	}
	if s.value != nil {
		c.schemaDefault(path, at, s)
	}
	for _, p := range s.properties {
		c.schemaDefaults(jsonpath.Key(jsonpath.Key(path, "properties"), p.name), at, p.shape)
	}
	c.schemaDefaults(jsonpath.Key(path, "items"), at, s.items)
}

func (c schemaChecker) schemaDefault(path string, at subschemas, s *Shape) {
	sub, err := at(s.pointer)
	if sub == nil && err == nil {
		return
	}
	if err != nil {
		c.Add(path, "", "%s", validator.Explain(err))
		return
	}
	for _, p := range checkShaped(decodedPlain(s.value), sub, s) {
		c.Add(jsonpath.Key(path, "default"), "correct or remove the default",
			"the default violates its own rule: %s", Inside(p))
	}
}

// decodedPlain returns a JSON value with maps for objects, as validation wants it.
func decodedPlain(raw json.RawMessage) any {
	v, err := jsontext.Parse(string(raw))
	if err != nil {
		return nil
	}
	return v
}

const HintRegex = "patterns are Go's regular expressions (RE2): no look-around and no back-references"

// Inside returns a problem's message with its path where that is not the whole value.
func Inside(p api.Problem) string {
	if p.Path == jsonpath.Root {
		return p.Message
	}
	return p.String()
}
