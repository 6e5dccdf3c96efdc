package schemas

import (
	"encoding/json"
	"net/url"
	"slices"
	"strings"

	"github.com/switchyard/switchyard/internal/jsontext"
	"github.com/switchyard/switchyard/internal/value/redaction"
)

// Types of values, as toolspecs and JSON Schema name them.
const (
	TypeString  = "string"
	TypeNumber  = "number"
	TypeInteger = "integer"
	typeBoolean = "boolean"
	TypeArray   = "array"
	TypeObject  = "object"
	typeNull    = "null"
)

// Types are the types that parameters have.
var Types = []string{TypeString, TypeNumber, TypeInteger, typeBoolean, TypeArray, TypeObject}

// Shape is the outline of a declared value: enough to find unknown arguments, fill in defaults,
// convert strings to numbers, order keys and redact sensitive values. Rules are checked by the
// compiled schema. A nil shape has no constraints.
type Shape struct {
	// types are the declared types; empty means any.
	types      []string
	properties []property
	byName     map[string]*Shape
	items      *Shape
	// value is the default as JSON; nil means none.
	value json.RawMessage
	// refusesNull is set if null certainly violates the declaration.
	refusesNull bool
	sensitive   bool
	// closed objects take no other properties than those declared.
	closed bool
	// pointer is the JSON Pointer of its schema, for shapes of an input_schema.
	pointer string
}

type property struct {
	name  string
	shape *Shape
	// required is set if the object must have the property.
	required bool
}

// NewShape returns the shape of a value of one of the types; without types, of any value. A closed
// object takes no other properties than those declared.
func NewShape(closed bool, types ...string) *Shape {
	return &Shape{types: types, closed: closed,
		refusesNull: len(types) > 0 && !slices.Contains(types, typeNull)}
}

// SetDefault sets the value of an absent property.
func (s *Shape) SetDefault(value json.RawMessage) { s.value = value }

// SetItems sets the shape of an array's elements.
func (s *Shape) SetItems(items *Shape) { s.items = items }

// TakesOthers reports whether an object takes undeclared properties.
func (s *Shape) TakesOthers() bool { return s == nil || !s.closed }

func (s *Shape) Item() *Shape {
	if s == nil {
		return nil
	}
	return s.items
}

func (s *Shape) Property(name string) *Shape {
	if s == nil {
		return nil
	}
	return s.byName[name]
}

// Has reports whether a property is declared, whatever about it.
func (s *Shape) Has(name string) bool {
	if s == nil {
		return false
	}
	_, ok := s.byName[name]
	return ok
}

// PropertyNames returns the names of the properties.
func (s *Shape) PropertyNames() []string {
	if s == nil {
		return nil
	}
	names := make([]string, len(s.properties))
	for i, p := range s.properties {
		names[i] = p.name
	}
	return names
}

// Add declares a property. required is set if the object must have it.
func (s *Shape) Add(name string, p *Shape, required bool) {
	if s.byName == nil {
		s.byName = map[string]*Shape{}
	}
	s.byName[name] = p
	s.properties = append(s.properties, property{name, p, required})
}

// DropDefaults removes all defaults, so that absent properties stay absent.
func (s *Shape) DropDefaults() {
	if s == nil {
		return
	}
	s.value = nil
	s.items.DropDefaults()
	for _, p := range s.properties {
		p.shape.DropDefaults()
	}
}

// Only reports whether t is the declared type, alone or beside null.
func (s *Shape) Only(t string) bool {
	return s != nil && slices.Contains(s.types, t) &&
		!slices.ContainsFunc(s.types, func(other string) bool {
			return other != t && other != typeNull
		})
}

func (s *Shape) allows(t string) bool { return len(s.types) == 0 || slices.Contains(s.types, t) }

// Hides reports whether a value of this shape is or contains something sensitive.
func (s *Shape) Hides() bool {
	if s == nil {
		return false
	}
	return s.sensitive || s.items.Hides() || slices.ContainsFunc(s.properties,
		func(p property) bool { return p.shape.Hides() })
}

// Hide makes a value sensitive with everything in it.
func (s *Shape) Hide() {
	if s == nil {
		return
	}
	s.sensitive = true
	s.items.Hide()
	for _, p := range s.properties {
		p.shape.Hide()
	}
}

// Mask returns which parts of a value of this shape are sensitive.
func (s *Shape) Mask() *redaction.Mask {
	switch {
	case !s.Hides():
		return nil
	case s.sensitive:
		return &redaction.Mask{All: true}
	}
	m := &redaction.Mask{Items: s.items.Mask()}
	for _, p := range s.properties {
		if member := p.shape.Mask(); member != nil {
			if m.Keys == nil {
				m.Keys = map[string]*redaction.Mask{}
			}
			m.Keys[p.name] = member
		}
	}
	return m
}

// composite lists keywords whose effect cannot be seen from properties alone.
var composite = []string{"$ref", "$dynamicRef", "allOf", "anyOf", "oneOf", "not", "if", "then",
	"else",
	"patternProperties", "dependentSchemas", "dependencies", "propertyNames",
	"unevaluatedProperties"}

// ShapeFromSchema returns the shape of the plain parts of a JSON Schema. A schema without
// additionalProperties is closed if it declares properties, and always at the root; otherwise its
// additionalProperties applies. writeOnly properties are sensitive.
func ShapeFromSchema(schema any, pointer string) *Shape {
	hides := writeOnlyFinder{known: map[*jsontext.Object]bool{}}.in(schema)
	return shaper{root: schema, hides: hides}.shape(schema, pointer)
}

// shaper finds the shapes of the schemas in a root.
type shaper struct {
	root any
	// hides is set if something is write-only.
	hides bool
}

func (r shaper) shape(schema any, pointer string) *Shape {
	o, ok := schema.(*jsontext.Object)
	if !ok {
		return nil
	}
	s := &Shape{types: findTypes(o), pointer: pointer}
	if value, ok := o.Members["default"]; ok {
		s.value = Encode(value)
	}
	s.refusesNull = refusesNull(o, s.types)
	required := jsontext.Member[[]any](o, "required")
	properties := jsontext.Member[*jsontext.Object](o, "properties")
	for _, name := range properties.Names() {
		s.Add(name, r.shape(properties.Members[name], pointer+"/properties/"+
			jsontext.EscapePointer(name)), slices.Contains(required, any(name)))
	}
	s.items = r.shape(o.Members["items"], pointer+"/items")
	s.closed = isClosed(o, pointer == "")
	for _, p := range s.properties {
		if p.shape != nil && p.required {
			// The caller must give it, so its default is never used.
			p.shape.value = nil
		}
	}
	if r.hides && r.hidesAll(o) {
		s.Hide()
	}
	return s
}

// hidesAll reports whether a schema is write-only, or something is where a shape does not reach:
// then all of the value is treated so.
func (r shaper) hidesAll(o *jsontext.Object) bool {
	rest := o.Copy()
	for _, key := range []string{"properties", "items", "$defs", "definitions"} {
		rest.Delete(key)
	}
	return writeOnlyFinder{root: r.root, known: map[*jsontext.Object]bool{}}.in(rest)
}

// writeOnlyFinder finds what is write-only in schemas and, with a root, in those that they refer
// to.
type writeOnlyFinder struct {
	root  any
	known map[*jsontext.Object]bool
}

func (f writeOnlyFinder) in(v any) bool {
	switch v := v.(type) {
	case []any:
		return slices.ContainsFunc(v, f.in)
	case *jsontext.Object:
		if f.known[v] {
			return false
		}
		f.known[v] = true
		return jsontext.Member[bool](v, "writeOnly") || f.behind(v) ||
			slices.ContainsFunc(v.Keys, func(k string) bool { return f.in(v.Members[k]) })
	}
	return false
}

// behind reports whether a schema refers to something write-only. A reference that is not a JSON
// Pointer, such as an anchor, counts: something in the root is write-only.
func (f writeOnlyFinder) behind(schema *jsontext.Object) bool {
	ref := jsontext.Member[string](schema, "$ref")
	dynamic := schema.Has("$dynamicRef") || schema.Has("$recursiveRef")
	if f.root == nil || ref == "" && !dynamic {
		return false
	}
	pointer, local := strings.CutPrefix(ref, "#/")
	if !local || dynamic {
		return true
	}
	if unescaped, err := url.PathUnescape(pointer); err == nil {
		pointer = unescaped
	}
	target, found := jsontext.At(f.root, "/"+pointer)
	return !found || f.in(target)
}

func isClosed(o *jsontext.Object, root bool) bool {
	for _, k := range composite {
		if _, ok := o.Members[k]; ok {
			return false
		}
	}
	if additional, ok := o.Members["additionalProperties"]; ok {
		return additional == false
	}
	_, declares := o.Members["properties"]
	return declares || root
}

// refusesNull reports whether null certainly violates a schema with these types.
func refusesNull(o *jsontext.Object, types []string) bool {
	if list := jsontext.Member[[]any](o, "enum"); list != nil && !slices.Contains(list, nil) {
		return true
	}
	if o.Has("const") && o.Get("const") != nil {
		return true
	}
	return len(types) > 0 && !slices.Contains(types, typeNull)
}

// findTypes returns the types of a schema, or those of its alternatives; none means any.
func findTypes(o *jsontext.Object) []string {
	if types := ownTypes(o); types != nil || o.Has("type") {
		return types
	}
	for _, keyword := range []string{"anyOf", "oneOf"} {
		if alternatives := jsontext.Member[[]any](o, keyword); len(alternatives) > 0 {
			return typesOfAll(alternatives)
		}
	}
	return nil
}

// typesOfAll returns the types of several schemas; none if one of them has none.
func typesOfAll(alternatives []any) []string {
	var types []string
	for _, a := range alternatives {
		schema, _ := a.(*jsontext.Object)
		if schema == nil {
			return nil
		}
		own := ownTypes(schema)
		if len(own) == 0 {
			return nil
		}
		types = append(types, own...)
	}
	return types
}

// ownTypes returns the value of the keyword type.
func ownTypes(o *jsontext.Object) []string {
	switch t := o.Members["type"].(type) {
	case string:
		return []string{t}
	case []any:
		var types []string
		for _, e := range t {
			if s, ok := e.(string); ok {
				types = append(types, s)
			}
		}
		return types
	}
	return nil
}

// Order implements jsontext.Layout: declared keys first, as declared, then the others sorted.
func (s *Shape) Order(members map[string]any) []string {
	keys := make([]string, 0, len(members))
	if s != nil {
		for _, p := range s.properties {
			if _, ok := members[p.name]; ok {
				keys = append(keys, p.name)
			}
		}
	}
	if len(keys) == len(members) {
		return keys
	}
	return append(keys, s.others(members)...)
}

// others returns the keys that are not declared, sorted.
func (s *Shape) others(members map[string]any) []string {
	var keys []string
	for k := range members {
		if !s.Has(k) {
			keys = append(keys, k)
		}
	}
	slices.Sort(keys)
	return keys
}

// Member implements jsontext.Layout.
func (s *Shape) Member(key string) jsontext.Layout {
	if p := s.Property(key); p != nil {
		return p
	}
	return nil
}

// Element implements jsontext.Layout.
func (s *Shape) Element() jsontext.Layout {
	if i := s.Item(); i != nil {
		return i
	}
	return nil
}

// render returns a value as compact JSON, its keys in the order of the shape.
func render(v any, s *Shape) json.RawMessage {
	if s == nil {
		return jsontext.Encode(v, nil)
	}
	return jsontext.Encode(v, s)
}
