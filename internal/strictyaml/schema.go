package strictyaml

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"sync"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/switchyard/switchyard/internal/validator"
)

// fileSchema is the JSON Schema by which documents are validated that are decoded into a type.
type fileSchema struct {
	compiled *validator.Schema
	// subjects maps the JSON Pointers of its subschemas to what they are about.
	subjects map[string]subject
}

// subject is what a schema is about: values of a type, of a field.
type subject struct {
	of    reflect.Type
	field *field
}

// schemas caches loadSchema by type.
var schemas sync.Map

// loadSchema returns the schema of the documents that are decoded into a type.
func loadSchema(t reflect.Type) *fileSchema {
	known, _ := schemas.LoadOrStore(t, sync.OnceValue(func() *fileSchema {
		g := newGenerator()
		data, err := json.Marshal(g.document(t))
		if err != nil {
			panic(err) // the schema has nothing that JSON cannot have
		}
		compiled, err := validator.Compile(data)
		if err != nil {
			panic(fmt.Sprintf("the schema of %v: %v", t, err))
		}
		return &fileSchema{compiled: compiled, subjects: g.subjects}
	}))
	return known.(func() *fileSchema)()
}

// JSONSchema returns the JSON Schema of the files that Decode reads into a type, as editors use it.
// describe returns the comment of a field of a struct, by its name in Go.
func JSONSchema(t reflect.Type, describe func(t reflect.Type, field string) string,
) *jsonschema.Schema {
	g := newGenerator()
	g.describe = describe
	return g.document(t)
}

// generator makes the JSON Schema of a type from the tags of its fields.
type generator struct {
	// describe is set for files as they are written. Else durations and sizes are numbers and short
	// forms are written out, as Document.value returns them.
	describe func(t reflect.Type, field string) string
	defs     map[string]*jsonschema.Schema
	types    map[string]reflect.Type
	subjects map[string]subject
}

func newGenerator() *generator {
	return &generator{defs: map[string]*jsonschema.Schema{}, types: map[string]reflect.Type{},
		subjects: map[string]subject{}}
}

func (g *generator) document(t reflect.Type) *jsonschema.Schema {
	s := g.value(t, &field{}, "")
	s.Defs = g.defs
	return s
}

var nothing = &jsonschema.Schema{Not: &jsonschema.Schema{}}

// value returns the schema of values of a type, of a field. at is the JSON Pointer of the schema.
func (g *generator) value(t reflect.Type, f *field, at string) *jsonschema.Schema {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	g.subjects[at] = subject{t, f}
	s := g.plain(t, f, at)
	f.rule.restrict(s)
	if g.describe != nil {
		return g.shortForms(s, t, f)
	}
	return s
}

// jsonTypes are the types of JSON of kinds of scalars.
var jsonTypes = map[reflect.Kind]string{reflect.String: "string", reflect.Bool: "boolean",
	reflect.Int: "integer", reflect.Int64: "integer", reflect.Float64: "number"}

// plain is value without the rules of the field.
func (g *generator) plain(t reflect.Type, f *field, at string) *jsonschema.Schema {
	switch {
	case t == rawType:
		return &jsonschema.Schema{}
	case t == numberType:
		return &jsonschema.Schema{Type: "number"}
	case t.Kind() == reflect.Map:
		element := *f
		element.name, element.rule.required = "", false
		return &jsonschema.Schema{Type: "object",
			AdditionalProperties: g.value(t.Elem(), &element, at+"/additionalProperties")}
	case t.Kind() == reflect.Slice:
		return &jsonschema.Schema{Type: "array", Items: g.value(t.Elem(), f.element(), at+"/items")}
	case t.Kind() == reflect.Struct:
		return g.reference(t)
	}
	return &jsonschema.Schema{Type: jsonTypes[t.Kind()]}
}

// shortForms adds the other forms in which people may write a value.
func (g *generator) shortForms(s *jsonschema.Schema, t reflect.Type, f *field) *jsonschema.Schema {
	switch {
	case t == durationType:
		return &jsonschema.Schema{Type: "string", Pattern: `^([0-9.]+(ns|us|µs|ms|s|m|h))+$|^0$`}
	case f.rule.size:
		s.Type, s.Types, s.Pattern = "", []string{"integer", "string"}, `^[0-9]+ *([KMG]i?|k)?B$`
	case t.Kind() == reflect.Struct && f.rule.short != "":
		short := loadFields(t).byName[f.rule.short]
		return &jsonschema.Schema{AnyOf: []*jsonschema.Schema{
			g.value(t.FieldByIndex(short.index).Type, short, ""), s}}
	case t.Kind() == reflect.Slice && f.rule.keyed != "":
		return &jsonschema.Schema{AnyOf: []*jsonschema.Schema{s,
			{Type: "object", AdditionalProperties: s.Items}}}
	}
	return s
}

// reference returns a schema that refers to that of a struct.
func (g *generator) reference(t reflect.Type) *jsonschema.Schema {
	name := strings.TrimSuffix(t.Name(), "File")
	ref := "/$defs/" + name
	switch other, known := g.types[name]; {
	case known && other != t:
		panic(fmt.Sprintf("%v and %v have the same name in the schema of a file", t, other))
	case !known:
		g.types[name] = t
		if v, ok := reflect.New(t).Interface().(Variant); ok {
			g.subjects[ref+"/properties/"+variantKey] = subject{reflect.TypeFor[string](),
				&field{name: variantKey}}
			g.defs[name] = g.variant(v)
		} else {
			g.defs[name] = g.object(t, ref)
		}
		g.subjects[ref] = subject{t, &field{}}
	}
	return &jsonschema.Schema{Ref: "#" + ref}
}

// object returns the schema of a struct.
func (g *generator) object(t reflect.Type, at string) *jsonschema.Schema {
	fields := loadFields(t)
	s := &jsonschema.Schema{Type: "object", PropertyOrder: fields.names,
		Properties: map[string]*jsonschema.Schema{}, AdditionalProperties: nothing}
	for _, name := range fields.names {
		f := fields.byName[name]
		declared := t.FieldByIndex(f.index)
		s.Properties[name] = g.value(declared.Type, f, at+"/properties/"+name)
		if f.rule.required {
			s.Required = append(s.Required, name)
		}
		if g.describe != nil {
			s.Properties[name].Description = g.describe(owner(t, f.index), declared.Name)
		}
	}
	return s
}

// owner returns the struct that declares a field of a struct, which may be embedded.
func owner(t reflect.Type, index []int) reflect.Type {
	for _, i := range index[:len(index)-1] {
		t = t.Field(i).Type
	}
	return t
}

// variant returns the schema of a value whose other fields depend on its type.
func (g *generator) variant(v Variant) *jsonschema.Schema {
	one := 1
	name := &jsonschema.Schema{Type: "string", MinLength: &one}
	if g.describe != nil {
		name.Enum = anyList(v.Types())
	}
	s := &jsonschema.Schema{Type: "object", Required: []string{variantKey},
		Properties: map[string]*jsonschema.Schema{variantKey: name}}
	every := &jsonschema.Schema{Properties: map[string]*jsonschema.Schema{variantKey: {}},
		AdditionalProperties: nothing}
	for _, name := range v.Types() {
		fields := reflect.TypeOf(v.Choose(name)).Elem()
		then := g.reference(fields)
		of := g.defs[strings.TrimPrefix(then.Ref, "#/$defs/")]
		of.Properties[variantKey] = &jsonschema.Schema{}
		for property := range of.Properties {
			every.Properties[property] = &jsonschema.Schema{}
		}
		s.AllOf = append(s.AllOf, &jsonschema.Schema{If: typeIs(name), Then: then})
	}
	s.AllOf = append(s.AllOf, &jsonschema.Schema{If: typeIs(v.Types()...), Else: every})
	return s
}

// typeIs returns the schema of values whose type is one of those named.
func typeIs(names ...string) *jsonschema.Schema {
	return &jsonschema.Schema{Required: []string{variantKey},
		Properties: map[string]*jsonschema.Schema{variantKey: {Enum: anyList(names)}}}
}

func anyList(names []string) []any {
	list := make([]any, len(names))
	for i, name := range names {
		list[i] = name
	}
	return list
}

// restrict sets the bounds and values of a schema by its type.
func (r rule) restrict(s *jsonschema.Schema) {
	one := 1
	switch s.Type {
	case "string":
		if r.enum != nil {
			s.Enum = anyList(r.enum)
		} else if r.required {
			s.MinLength = &one
		}
		s.Pattern = r.pattern
	case "array":
		s.MinItems, s.MaxItems, s.UniqueItems = r.min.count(), r.max.count(), r.unique
	case "integer", "number":
		s.Minimum, s.Maximum = r.min.number(), r.max.number()
		s.ExclusiveMinimum = r.above.number()
	}
}

// number returns the bound; nil if there is none.
func (b bound) number() *float64 {
	if !b.set {
		return nil
	}
	return &b.value
}

// count returns the bound of a length; nil if there is none.
func (b bound) count() *int {
	if !b.set {
		return nil
	}
	n := int(b.value)
	return &n
}
