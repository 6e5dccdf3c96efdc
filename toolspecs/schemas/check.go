package schemas

import (
	"encoding/json"
	"errors"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/jsonpath"
	"github.com/switchyard/switchyard/internal/jsontext"
	"github.com/switchyard/switchyard/internal/strictyaml"
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
		schema, err := compileSchema(raw)
		if err != nil {
			c.schemaError(path, raw, err)
			return nil
		}
		at, form = schema.at, &Form{schema: schema.root}
	}
	if arguments {
		c.schemaDefaults(path, at, ShapeFromSchema(tree, ""))
	}
	return form
}

// subschemas has the compiled subschemas by JSON Pointer; nil for unusable ones.
type subschemas func(pointer string) (*jsonschema.Schema, error)

// newPartCompiler compiles the parts of a schema that can be compiled, if the whole cannot.
func newPartCompiler(tree any) subschemas {
	return func(pointer string) (*jsonschema.Schema, error) {
		value, _ := jsontext.At(tree, pointer)
		part, err := compileSchema(Encode(value))
		if err != nil {
			// Its faults are already reported.
			return nil, nil
		}
		return part.root, nil
	}
}

// schemaError reports why a schema did not compile, each cause at its place.
func (c schemaChecker) schemaError(path string, raw json.RawMessage, err error) {
	if invalid, ok := brokenRules(err); ok {
		t := translator{root: decodedPlain(raw)}
		t.error(invalid)
		for _, p := range sortProblems(t.problems) {
			hint := "see JSON Schema 2020-12"
			if p.Rule == "format" || p.Rule == "propertyNames" {
				hint = HintRegex
			}
			c.Add(path+strings.TrimPrefix(p.Path, jsonpath.Root), hint,
				"this is not a JSON Schema: %s", p.Message)
		}
		return
	}
	if _, ok := errors.AsType[*jsonschema.LoadURLError](err); ok {
		c.Add(path, "", "%v", errRemoteSchema)
		return
	}
	c.unusable(path, err)
}

// unusable reports the compiler's own words, without the address by which it knows the schema.
func (c schemaChecker) unusable(path string, err error) {
	c.Add(path, "", "this schema cannot be used: %s", strings.ReplaceAll(err.Error(), schemaURL,
		""))
}

// brokenRules returns where a schema breaks the rules of its draft. The library's error does not
// unwrap to it.
func brokenRules(err error) (*jsonschema.ValidationError, bool) {
	outer, ok := errors.AsType[*jsonschema.SchemaValidationError](err)
	if !ok {
		return nil, false
	}
	return errors.AsType[*jsonschema.ValidationError](outer.Err)
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
		c.unusable(path, err)
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
