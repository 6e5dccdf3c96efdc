package imports

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/switchyard/switchyard/internal/jsontext"
	"github.com/switchyard/switchyard/toolspecs/schemas"
)

// translator turns the schemas of one tool, in the dialects of OpenAPI and of model providers, into
// JSON Schema 2020-12 without references.
type translator struct {
	root any
	// most is how deep values may nest before the rest is left open, left how many schemas may
	// still be translated.
	most, left int
	// keep is set if defaults stay defaults. Otherwise they are the server's: described, and never
	// sent.
	keep bool
	// response is set for schemas of responses, which lack write-only instead of read-only parts.
	response bool
	notes    *noted
	// open are the references that are being followed.
	open []string
	// cut is set if something deeper was left unconstrained.
	cut   bool
	known *memory
}

// memory caches what repeats in a document.
type memory struct {
	// wrong has the faults of defaults by schema and value.
	wrong map[string]string
	// words has descriptions for models.
	words map[string]string
}

func newMemory() *memory { return &memory{wrong: map[string]string{}, words: map[string]string{}} }

// remembered returns the cached value of a key, or computes it.
func remembered(known map[string]string, key string, find func() string) string {
	value, again := known[key]
	if !again {
		value = find()
		known[key] = value
	}
	return value
}

func (m *memory) text(text string) string {
	return remembered(m.words, text, func() string { return plain(text, maxWords) })
}

// Keys of schemas that are written here.
const (
	keyType        = "type"
	keyDescription = "description"
	keyDefault     = "default"
	keyEnum        = "enum"
	keyProperties  = "properties"
	keyRequired    = "required"
	keyItems       = "items"
	keyAdditional  = "additionalProperties"
	keyAllOf       = "allOf"
	keyAnyOf       = "anyOf"
	keyOneOf       = "oneOf"
	keyRef         = "$ref"

	typeObject  = "object"
	typeArray   = "array"
	typeString  = "string"
	typeNumber  = "number"
	typeInteger = "integer"
	typeBoolean = "boolean"
	typeNull    = "null"
)

// schema translates a schema. at is its place, for notes, depth how deep the value nests in the
// arguments.
func (t *translator) schema(value any, at string, depth int) *jsontext.Object {
	t.left--
	o, ok := value.(*jsontext.Object)
	if !ok {
		if value != true && value != nil {
			t.notes.add(at, "its schema is %.40s and accepts any value", encoded(value))
		}
		return jsontext.NewObject()
	}
	if ref, ok := o.Get(keyRef).(string); ok {
		return t.reference(o, ref, at, depth)
	}
	if t.tooDeep(o, depth) {
		t.cut = true
		return t.outline(o, at)
	}
	if parts := jsontext.Member[[]any](o, keyAllOf); len(parts) > 0 {
		return t.whole(o, parts, at, depth)
	}
	if parts, ok := alternatives(o); ok {
		return t.choice(o, parts, at, depth)
	}
	return t.translated(o, at, depth)
}

func (t *translator) tooDeep(o *jsontext.Object, depth int) bool {
	return t.left <= 0 || depth > t.most && nests(o)
}

// nests reports whether a schema has schemas in it.
func nests(o *jsontext.Object) bool {
	for _, key := range o.Names() {
		if _, deep := nested[key]; deep {
			return true
		}
	}
	return false
}

// reference translates the target of a reference. Keywords beside it, which older versions ignore,
// apply as well.
func (t *translator) reference(o *jsontext.Object, ref, at string, depth int) *jsontext.Object {
	target, err := pointed(t.root, ref)
	if err != nil {
		t.notes.add(at, "%v; it is left open", err)
		return t.outline(o, at)
	}
	if slices.Contains(t.open, ref) {
		t.notes.add(at, "its schema contains itself and accepts any value from here on")
		found, _ := target.(*jsontext.Object)
		return t.outline(found, at)
	}
	t.open = append(t.open, ref)
	defer func() { t.open = t.open[:len(t.open)-1] }()
	beside := o.Copy()
	beside.Delete(keyRef)
	if len(beside.Keys) == 0 {
		return t.schema(target, at, depth)
	}
	return t.whole(beside, []any{target}, at, depth)
}

// outline keeps these keywords of a schema whose content is left unconstrained.
func (t *translator) outline(o *jsontext.Object, at string) *jsontext.Object {
	s := jsontext.NewObject()
	if types := t.types(o, at); len(types) > 0 {
		s.Set(keyType, oneOrMore(types))
	} else if o.Has(keyProperties) {
		s.Set(keyType, typeObject)
	}
	t.describe(s, o, "")
	return s
}

// translated translates a schema keyword by keyword, in an order that reads well.
func (t *translator) translated(o *jsontext.Object, at string, depth int) *jsontext.Object {
	s := jsontext.NewObject()
	types := t.types(o, at)
	if len(types) == 0 && o.Has(keyProperties) {
		types = []string{typeObject}
	}
	if len(types) > 0 {
		s.Set(keyType, oneOrMore(types))
	}
	s.Set(keyDescription, "") // a placeholder; it may later describe the default
	t.enum(s, o, types, at)
	t.plainKeywords(s, o, at)
	t.bounds(s, o, at)
	t.composites(s, o, at, depth)
	t.describe(s, o, t.defaultOf(s, o, at))
	return s
}

// describe writes the description: the schema's own, else a title that is more than an identifier,
// and the text about the default.
func (t *translator) describe(s, o *jsontext.Object, more string) {
	text := jsontext.Member[string](o, keyDescription)
	if title := jsontext.Member[string](o, "title"); text == "" && strings.Contains(title, " ") {
		text = title
	}
	text = t.known.text(text)
	if more != "" {
		text = sentences(text, more)
	}
	if text == "" {
		s.Delete(keyDescription)
		return
	}
	s.Set(keyDescription, text)
}

// maxToldDefault bounds a default that a description tells, in bytes.
const maxToldDefault = 60

// defaultOf keeps a default that satisfies the translated schema: as a default, or in the
// description.
func (t *translator) defaultOf(s, o *jsontext.Object, at string) (told string) {
	if !o.Has(keyDefault) {
		return ""
	}
	value := o.Get(keyDefault)
	text := encoded(value)
	if wrong := t.wrong(s, text); wrong != "" {
		t.notes.add(at, "the default %.60s violates its own schema (%s) and is dropped", text, wrong)
		return ""
	}
	if t.keep {
		s.Set(keyDefault, value)
		return ""
	}
	if value == nil || len(text) > maxToldDefault || jsontext.Member[string](o,
		keyDescription) != "" && mentions(jsontext.Member[string](o, keyDescription), value) {
		return ""
	}
	return "Default: " + strings.Trim(string(text), `"`) + "."
}

// wrong returns the fault of a default against its translated schema; nothing if the schema itself
// is invalid, which is reported for the tool.
func (t *translator) wrong(s *jsontext.Object, value json.RawMessage) string {
	bare := s.Copy()
	bare.Delete(keyDescription)
	schema := encoded(bare)
	return remembered(t.known.wrong, string(schema)+"\n"+string(value), func() string {
		if problems, err := schemas.CheckValue(schema, value); err == nil && len(problems) > 0 {
			return problems[0].Message
		}
		return ""
	})
}

// mentions reports whether a description already contains the default.
func mentions(text string, value any) bool {
	return strings.Contains(strings.ToLower(text), "default") && strings.Contains(text,
		strings.Trim(string(encoded(value)), `"`))
}

// enum takes over the listed values. Where none of them has the type, the list is what counts.
func (t *translator) enum(s, o *jsontext.Object, types []string, at string) {
	list := listedValues(o)
	if len(list) == 0 {
		if o.Has(keyEnum) {
			t.notes.add(at, "its list of values is not a list and is dropped")
		}
		return
	}
	if (nullable(o) || t.keep && defaultsToNull(o)) && !slices.Contains(list, nil) {
		list = append(slices.Clone(list), nil)
	}
	if len(types) > 0 && !slices.ContainsFunc(list, func(v any) bool { return fits(v, types) }) {
		t.notes.add(at, "no listed value is of the type %s, which is dropped",
			strings.Join(types, " or "))
		s.Delete(keyType)
	}
	s.Set(keyEnum, list)
}

// listedValues returns the values that are allowed, under any of the names for them.
func listedValues(o *jsontext.Object) []any {
	for _, key := range []string{keyEnum, "allowed_values", "possible_values"} {
		if list := jsontext.Member[[]any](o, key); len(list) > 0 {
			return list
		}
	}
	return nil
}

// fits reports whether a value is of one of the types.
func fits(value any, types []string) bool {
	switch v := value.(type) {
	case nil:
		return slices.Contains(types, typeNull)
	case string:
		return slices.Contains(types, typeString)
	case bool:
		return slices.Contains(types, typeBoolean)
	case []any:
		return slices.Contains(types, typeArray)
	case json.Number:
		return slices.Contains(types, typeNumber) || slices.Contains(types, typeInteger) &&
			!strings.ContainsAny(string(v), ".eE")
	}
	return slices.Contains(types, typeObject)
}

func oneOrMore(types []string) any {
	if len(types) == 1 {
		return types[0]
	}
	list := make([]any, len(types))
	for i, name := range types {
		list[i] = name
	}
	return list
}
