package imports

import (
	"fmt"
	"slices"
	"strings"

	"github.com/switchyard/switchyard/internal/jsontext"
)

// Keys of schemas that are read or written here.
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
	keyDefs        = "$defs"

	typeObject  = "object"
	typeArray   = "array"
	typeString  = "string"
	typeNumber  = "number"
	typeInteger = "integer"
	typeNull    = "null"
)

// definitions are the schemas to which others of a document refer. Each is converted once.
type definitions struct {
	root any
	// fill is set if the tool fills in defaults. Otherwise the server does: they are described to
	// the model and not sent, because a PATCH that sent them would revert other changes.
	fill  bool
	byRef map[string]*definition
	names map[string]bool
}

// definition is a converted schema and those that it refers to.
type definition struct {
	name   string
	schema any
	uses   []*definition
}

func newDefinitions(root any, fill bool) *definitions {
	return &definitions{root: root, fill: fill, byRef: map[string]*definition{},
		names: map[string]bool{}}
}

// find returns the definition that a reference names; nil if there is none. A schema that refers
// to itself finds its own definition before that is complete.
func (d *definitions) find(ref string) *definition {
	if found, again := d.byRef[ref]; again {
		return found
	}
	schema, err := target(d.root, ref)
	if err != nil {
		return nil
	}
	found := &definition{name: d.name(ref[strings.LastIndexByte(ref, '/')+1:])}
	d.byRef[ref] = found
	c := converter{definitions: d}
	found.schema = c.schema(schema)
	found.uses = c.uses
	return found
}

func (d *definitions) name(wanted string) string {
	stem := legal(wanted)
	if stem == "" {
		stem = "schema"
	}
	name := stem
	for n := 2; d.names[name]; n++ {
		name = fmt.Sprintf("%s_%d", stem, n)
	}
	d.names[name] = true
	return name
}

// converter rewrites schemas as JSON Schema 2020-12. What OpenAPI 3.0 and model providers write
// differently is converted; all other keywords stay as they are.
type converter struct {
	*definitions
	// uses are the definitions that the schemas refer to.
	uses []*definition
}

// complete adds the definitions to a schema that it needs, directly or not.
func (c *converter) complete(schema *jsontext.Object) {
	needed, queue := map[string]any{}, slices.Clone(c.uses)
	for i := 0; i < len(queue); i++ {
		d := queue[i]
		if _, again := needed[d.name]; !again {
			needed[d.name] = d.schema
			queue = append(queue, d.uses...)
		}
	}
	if len(needed) > 0 {
		schema.Set(keyDefs, needed)
	}
}

// How the keywords that hold schemas hold them.
const (
	holdsOne = iota + 1
	holdsList
	holdsNamed
	holdsReference
)

var nested = map[string]int{
	keyItems: holdsOne, keyAdditional: holdsOne, "not": holdsOne, "if": holdsOne, "then": holdsOne,
	"else": holdsOne, "contains": holdsOne, "propertyNames": holdsOne,
	"unevaluatedItems": holdsOne, "unevaluatedProperties": holdsOne, keyAllOf: holdsList,
	keyAnyOf: holdsList, keyOneOf: holdsList, "prefixItems": holdsList,
	keyProperties: holdsNamed, "patternProperties": holdsNamed, "dependentSchemas": holdsNamed,
	keyRef: holdsReference,
}

// dropped are the keywords that JSON Schema lacks, that say nothing about values, or that are
// converted.
var dropped = []string{"example", "examples", "discriminator", "xml", "externalDocs", "nullable",
	"$id", "$schema", keyDefs, "definitions", "allowed_values", "possible_values", keyDefault,
	"optional"}

func isDropped(key string) bool {
	return slices.Contains(dropped, key) || strings.HasPrefix(key, "x-")
}

// schema converts a schema. A value that is none accepts any value.
func (c *converter) schema(value any) any {
	s := object()
	o, ok := value.(*jsontext.Object)
	if !ok {
		if value == false {
			return false
		}
		return s
	}
	o = renameOlder(o)
	for _, key := range o.Names() {
		if !isDropped(key) {
			c.keyword(s, key, o.Members[key])
		}
	}
	for _, key := range []string{"allowed_values", "possible_values"} {
		if list := listAt(o, key); len(list) > 0 {
			s.Set(keyEnum, list)
		}
	}
	setTypes(s)
	setBounds(s)
	c.setRequired(s, o)
	c.setDefault(s, o)
	if flagAt(o, "nullable") || c.defaultsToNull(o) {
		return allowNull(s)
	}
	return s
}

// renameOlder returns a schema with the keywords of draft 7 as draft 2020-12 has them: items with a
// list, additionalItems and dependencies.
func renameOlder(schema *jsontext.Object) *jsontext.Object {
	list, isList := schema.Get(keyItems).([]any)
	if !isList && !schema.Has("additionalItems") && !schema.Has("dependencies") {
		return schema
	}
	s := schema.Copy()
	if isList {
		s.Delete(keyItems)
		s.Set("prefixItems", list)
		if schema.Has("additionalItems") {
			s.Set(keyItems, schema.Get("additionalItems"))
		}
	}
	s.Delete("additionalItems") // without a list of items it means nothing
	s.Delete("dependencies")
	dependencies := objectAt(schema, "dependencies")
	for _, name := range dependencies.Names() {
		key := "dependentSchemas"
		if _, isList := dependencies.Get(name).([]any); isList {
			key = "dependentRequired"
		}
		members := objectAt(s, key).Copy()
		members.Set(name, dependencies.Get(name))
		s.Set(key, members)
	}
	return s
}

// defaultsToNull reports whether an absent value becomes null, which makes null a value.
func (c *converter) defaultsToNull(o *jsontext.Object) bool {
	return c.fill && o.Has(keyDefault) && o.Get(keyDefault) == nil
}

func (c *converter) keyword(s *jsontext.Object, key string, value any) {
	switch nested[key] {
	case holdsReference:
		value = c.reference(value)
	case holdsOne:
		value = c.schema(value)
	case holdsList:
		value = c.list(value)
	case holdsNamed:
		value = c.named(value, key == keyProperties)
	}
	s.Set(key, value)
}

func (c *converter) list(value any) any {
	list, ok := value.([]any)
	if !ok {
		return value
	}
	list = slices.Clone(list)
	for i := range list {
		list[i] = c.schema(list[i])
	}
	return list
}

// named converts schemas by name; properties without those that only responses have.
func (c *converter) named(value any, properties bool) any {
	members, ok := value.(*jsontext.Object)
	if !ok {
		return value
	}
	named := object()
	for _, name := range members.Keys {
		if !properties || !c.readOnly(members.Members[name]) {
			named.Set(name, c.schema(members.Members[name]))
		}
	}
	return named
}

// reference returns a reference to the definition of what is referred to. One that names nothing
// stays, and the check of the toolspec reports it.
func (c *converter) reference(value any) any {
	ref, _ := value.(string)
	d := c.find(ref)
	if d == nil {
		return value
	}
	c.uses = append(c.uses, d)
	return "#/" + keyDefs + "/" + d.name
}

// readOnly reports whether only responses have a property.
func (c *converter) readOnly(property any) bool {
	found, err := follow(c.root, property)
	return flagAt(property, "readOnly") || err == nil && flagAt(found, "readOnly")
}

// setRequired writes the names of the required properties, without those that are left out. Names
// that are not declared are declared, because they could not be given otherwise.
func (c *converter) setRequired(s, o *jsontext.Object) {
	declared, kept := objectAt(o, keyProperties), objectAt(s, keyProperties)
	var required []any
	for _, name := range requiredNames(o) {
		if declared.Has(name) && !kept.Has(name) || slices.Contains(required, any(name)) {
			continue
		}
		if len(kept.Names()) > 0 && !kept.Has(name) {
			kept.Set(name, object())
		}
		required = append(required, name)
	}
	if len(required) == 0 {
		s.Delete(keyRequired)
		return
	}
	s.Set(keyRequired, required)
}

// requiredNames returns the properties that a schema or they themselves say are required.
func requiredNames(o *jsontext.Object) []string {
	names, properties := texts(o.Get(keyRequired)), objectAt(o, keyProperties)
	for _, name := range properties.Names() {
		if flagAt(properties.Members[name], keyRequired) {
			names = append(names, name)
		}
	}
	return names
}

// setDefault keeps a default, or describes it.
func (c *converter) setDefault(s, o *jsontext.Object) {
	value, text := o.Get(keyDefault), textAt(s, keyDescription)
	switch {
	case c.fill && o.Has(keyDefault):
		s.Set(keyDefault, value)
	case value != nil && !strings.Contains(strings.ToLower(text), "default"):
		told := strings.Trim(string(encoded(value)), `"`)
		s.Set(keyDescription, sentences(text, "Default: "+told))
	}
}

// setBounds writes exclusive bounds as numbers. In OpenAPI 3.0 they are truths beside the others.
func setBounds(s *jsontext.Object) {
	for exclusive, bound := range map[string]string{"exclusiveMinimum": "minimum",
		"exclusiveMaximum": "maximum"} {
		isExclusive, ok := s.Get(exclusive).(bool)
		if !ok {
			continue
		}
		if !isExclusive || !s.Has(bound) {
			s.Delete(exclusive)
			continue
		}
		s.Set(exclusive, s.Get(bound))
		s.Delete(bound)
	}
}

// typeNames maps the names of types that model providers use, in lower case, to types; the empty
// string is any.
var typeNames = map[string]string{
	"dict": typeObject, "map": typeObject, "hashmap": typeObject, "json": typeObject,
	"float": typeNumber, "double": typeNumber, "decimal": typeNumber,
	"int": typeInteger, "long": typeInteger, "int32": typeInteger, "int64": typeInteger,
	"bool": "boolean", "none": typeNull, "any": "", "mixed": "",
	"str": typeString, "text": typeString, "char": typeString, "date": typeString,
	"datetime": typeString, "file": typeString, "binary": typeString, "enum": typeString,
	"list": typeArray, "tuple": typeArray, "set": typeArray, "arraylist": typeArray,
}

// setTypes writes the names of types as JSON Schema has them. An unknown one stays.
func setTypes(s *jsontext.Object) {
	var types []any
	for _, given := range oneOrMore(s.Get(keyType)) {
		text, ok := given.(string)
		if !ok {
			return // the check of the toolspec reports it
		}
		name, _, _ := strings.Cut(strings.ToLower(strings.TrimSpace(text)), " ")
		if other, known := typeNames[name]; known {
			name = other
		}
		if name == "" {
			s.Delete(keyType)
			return
		}
		if !slices.Contains(types, any(name)) {
			types = append(types, name)
		}
	}
	setList(s, keyType, types)
}

// oneOrMore returns a value that may be a list as a list.
func oneOrMore(value any) []any {
	if list, ok := value.([]any); ok || value == nil {
		return list
	}
	return []any{value}
}

// setList sets a keyword to a list, to the value of a list of one, or removes it.
func setList(s *jsontext.Object, key string, list []any) {
	switch len(list) {
	case 0:
		s.Delete(key)
	case 1:
		s.Set(key, list[0])
	default:
		s.Set(key, list)
	}
}

// allowNull returns a schema that null fits, too.
func allowNull(s *jsontext.Object) *jsontext.Object {
	if list := listAt(s, keyEnum); len(list) > 0 && !slices.Contains(list, nil) {
		s.Set(keyEnum, append(slices.Clone(list), nil))
	}
	if types := oneOrMore(s.Get(keyType)); len(types) > 0 {
		if !slices.Contains(types, any(typeNull)) {
			setList(s, keyType, append(slices.Clone(types), typeNull))
		}
		return s
	}
	if !slices.ContainsFunc([]string{keyRef, keyAllOf, keyAnyOf, keyOneOf}, s.Has) {
		return s // it accepts any value
	}
	wrapped := object(keyAnyOf, []any{s, object(keyType, typeNull)})
	for _, key := range []string{keyDescription, keyDefault} {
		if s.Has(key) {
			wrapped.Set(key, s.Get(key))
			s.Delete(key)
		}
	}
	return wrapped
}

// forms returns the alternatives of a schema in the document, with references followed.
func (d *definitions) forms(schema any) []*jsontext.Object {
	return d.formsBeside(schema, map[*jsontext.Object]bool{})
}

// formsBeside is forms without those that are known, so that it ends for any schema.
func (d *definitions) formsBeside(schema any,
	known map[*jsontext.Object]bool) []*jsontext.Object {
	o, err := follow(d.root, schema)
	if err != nil || known[o] {
		return nil
	}
	known[o] = true
	for _, key := range []string{keyAnyOf, keyOneOf, keyAllOf} {
		var all []*jsontext.Object
		for _, part := range listAt(o, key) {
			all = append(all, d.formsBeside(part, known)...)
		}
		if len(all) > 0 {
			return all
		}
	}
	return []*jsontext.Object{o}
}

// holds reports whether one of the forms is of that type. One that is left open can be anything,
// and is taken for a plain value.
func holds(forms []*jsontext.Object, typ string) bool {
	return slices.ContainsFunc(forms, func(form *jsontext.Object) bool {
		s := object(keyType, form.Get(keyType))
		setTypes(s)
		types := oneOrMore(s.Get(keyType))
		return slices.Contains(types, any(typ)) || len(types) == 0 &&
			(typ == typeObject && form.Has(keyProperties) || typ == typeArray && form.Has(keyItems))
	})
}
