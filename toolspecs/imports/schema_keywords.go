package imports

import (
	"encoding/json"
	"math/big"
	"regexp"
	"slices"
	"strings"

	"github.com/switchyard/switchyard/internal/jsontext"
)

// How the keywords that hold schemas hold them.
const (
	holdsOne = iota
	holdsList
	holdsNamed
)

// nested are the keywords with schemas in them.
var nested = map[string]int{
	keyItems: holdsOne, keyAdditional: holdsOne, "not": holdsOne, "if": holdsOne, "then": holdsOne,
	"else":     holdsOne,
	"contains": holdsOne, "propertyNames": holdsOne, "unevaluatedItems": holdsOne,
	"unevaluatedProperties": holdsOne,
	keyAllOf:                holdsList, keyAnyOf: holdsList, keyOneOf: holdsList,
	"prefixItems": holdsList,
	keyProperties: holdsNamed, "patternProperties": holdsNamed, "dependentSchemas": holdsNamed,
}

// typeNames maps common type names, in lower case, to types; the empty string is any.
var typeNames = map[string]string{
	"dict": typeObject, "map": typeObject, "hashmap": typeObject, "json": typeObject,
	"float": typeNumber, "double": typeNumber, "decimal": typeNumber,
	"int": typeInteger, "long": typeInteger, "int32": typeInteger, "int64": typeInteger,
	"bool": typeBoolean,
	"str":  typeString, "text": typeString, "char": typeString, "date": typeString,
	"datetime": typeString, "file": typeString,
	"binary": typeString, "enum": typeString,
	"list": typeArray, "tuple": typeArray, "set": typeArray, "arraylist": typeArray,
	"any": "", "mixed": "",
	"none": typeNull,
}

var standardTypes = []string{typeObject, typeArray, typeString, typeNumber, typeInteger,
	typeBoolean, typeNull}

// types returns the types that a schema allows; none means any.
func (t *translator) types(o *jsontext.Object, at string) []string {
	var types []string
	for _, g := range givenTypes(o) {
		name, known := typeOf(g)
		if !known {
			t.notes.add(at, "there is no type %.40s, so it accepts any value", encoded(g))
		}
		if name == "" {
			return nil
		}
		if !slices.Contains(types, name) {
			types = append(types, name)
		}
	}
	if len(types) > 0 && (nullable(o) || t.keep && defaultsToNull(o)) {
		types = withNull(types)
	}
	return types
}

// givenTypes returns the value of the keyword type as a list.
func givenTypes(o *jsontext.Object) []any {
	given, many := o.Get(keyType).([]any)
	if !many && o.Has(keyType) {
		return []any{o.Get(keyType)}
	}
	return given
}

func withNull(types []string) []string {
	if slices.Contains(types, typeNull) {
		return types
	}
	return append(types, typeNull)
}

func typeOf(given any) (name string, known bool) {
	text, ok := given.(string)
	if !ok {
		return "", false
	}
	first, _, _ := strings.Cut(strings.ToLower(strings.TrimSpace(text)), " ")
	if slices.Contains(standardTypes, first) {
		return first, true
	}
	name, known = typeNames[first]
	return name, known
}

func nullable(o *jsontext.Object) bool { return jsontext.Member[bool](o, "nullable") }

// defaultsToNull reports whether a schema declares null as its default, which makes null a value of
// it, whatever its type.
func defaultsToNull(o *jsontext.Object) bool {
	return o.Has(keyDefault) && o.Get(keyDefault) == nil
}

// plainKeywords takes over the keywords that need no translation, where their values are of the
// right form.
func (t *translator) plainKeywords(s, o *jsontext.Object, at string) {
	for _, k := range []struct {
		name string
		ok   func(any) bool
	}{
		{"const", func(any) bool { return true }},
		{"format", isText}, {"pattern", isPattern},
		{"minLength", isCount}, {"maxLength", isCount}, {"minItems", isCount},
		{"maxItems", isCount},
		{"minProperties", isCount}, {"maxProperties", isCount}, {"minContains", isCount},
		{"maxContains", isCount},
		{"multipleOf", isPositive}, {"contentEncoding", isText}, {"contentMediaType", isText},
		{"uniqueItems", isTruth}, {"writeOnly", isTruth}, {"dependentRequired", isNameLists},
	} {
		value := o.Get(k.name)
		switch {
		case !o.Has(k.name), value == false, k.name == "writeOnly" && t.response:
		case k.ok(value):
			s.Set(k.name, value)
		default:
			t.notes.add(at, "%s %.60s cannot be represented and is dropped", k.name, encoded(value))
		}
	}
	for _, pair := range [][2]string{{"minLength", "maxLength"}, {"minItems", "maxItems"},
		{"minProperties", "maxProperties"}} {
		t.ordered(s, pair[0], pair[1], at)
	}
}

// ordered drops two bounds if the lower one is above the upper one.
func (t *translator) ordered(s *jsontext.Object, low, high, at string) {
	least, most := rational(s.Get(low)), rational(s.Get(high))
	if least != nil && most != nil && least.Cmp(most) > 0 {
		t.notes.add(at, "%s is more than %s, so both are dropped", low, high)
		s.Delete(low)
		s.Delete(high)
	}
}

// bounds takes over the bounds of numbers. In OpenAPI 3.0 the exclusive ones are truths beside the
// others.
func (t *translator) bounds(s, o *jsontext.Object, at string) {
	for _, b := range [][2]string{{"minimum", "exclusiveMinimum"},
		{"maximum", "exclusiveMaximum"}} {
		plain, exclusive := b[0], b[1]
		if rational(o.Get(plain)) != nil {
			if o.Get(exclusive) == true {
				s.Set(exclusive, o.Get(plain))
				continue
			}
			s.Set(plain, o.Get(plain))
		} else if o.Has(plain) {
			t.notes.add(at, "%s %.60s is not a number and is dropped", plain, encoded(o.Get(plain)))
		}
		if rational(o.Get(exclusive)) != nil {
			s.Set(exclusive, o.Get(exclusive))
		}
	}
	t.ordered(s, "minimum", "maximum", at)
}

func isText(v any) bool { _, ok := v.(string); return ok }

func isTruth(v any) bool { _, ok := v.(bool); return ok }

func isPattern(v any) bool {
	text, ok := v.(string)
	if !ok {
		return false
	}
	_, err := regexp.Compile(text)
	return err == nil
}

func isCount(v any) bool {
	n := rational(v)
	return n != nil && n.IsInt() && n.Sign() >= 0
}

func isPositive(v any) bool {
	n := rational(v)
	return n != nil && n.Sign() > 0
}

func isNameLists(v any) bool {
	o, ok := v.(*jsontext.Object)
	return ok && !slices.ContainsFunc(o.Keys,
		func(key string) bool { return len(texts(o.Members[key])) == 0 })
}

// rational returns a JSON number; nil if it is not a number or is excessively long.
func rational(v any) *big.Rat {
	n, ok := v.(json.Number)
	if !ok || len(n) > 400 {
		return nil
	}
	r, ok := new(big.Rat).SetString(string(n))
	if !ok {
		return nil
	}
	return r
}

// texts returns the strings of a list.
func texts(value any) []string {
	list, _ := value.([]any)
	var found []string
	for _, e := range list {
		if text, ok := e.(string); ok {
			found = append(found, text)
		}
	}
	return found
}

// composites takes over the keywords with schemas in them.
func (t *translator) composites(s, o *jsontext.Object, at string, depth int) {
	t.properties(s, o, at, depth)
	for _, key := range []string{keyAdditional, keyItems, "prefixItems", "contains",
		"patternProperties", "propertyNames", "dependentSchemas",
		"unevaluatedItems", "unevaluatedProperties", "not", "if", "then", "else"} {
		if value := o.Get(key); value != nil {
			t.composite(s, key, value, at, depth)
		}
	}
}

func (t *translator) composite(s *jsontext.Object, key string, value any, at string, depth int) {
	how := nested[key]
	list, isList := value.([]any)
	if isList && key == keyItems {
		key, how = "prefixItems", holdsList // its current name
	}
	switch {
	case how == holdsNamed:
		s.Set(key, t.named(value, at, depth))
	case how == holdsList && len(list) > 0:
		s.Set(key, t.list(list, at, depth))
	case how == holdsOne && value == false:
		s.Set(key, false)
	case how == holdsOne:
		s.Set(key, t.schema(value, place(at, key), depth+1))
	}
}

// place is where the schemas of a keyword are, for notes.
func place(at, keyword string) string {
	switch keyword {
	case keyItems:
		return at + "[]"
	case keyAdditional:
		return within(at, "*")
	}
	return at
}

func (t *translator) list(list []any, at string, depth int) []any {
	translated := make([]any, len(list))
	for i, e := range list {
		translated[i] = t.schema(e, at, depth+1)
	}
	return translated
}

func (t *translator) named(value any, at string, depth int) *jsontext.Object {
	members, _ := value.(*jsontext.Object)
	s := jsontext.NewObject()
	for _, name := range members.Names() {
		s.Set(name, t.schema(members.Members[name], within(at, name), depth+1))
	}
	return s
}

// properties translates properties and the list of required ones. A property may itself declare
// that it is required, as functions often do.
func (t *translator) properties(s, o *jsontext.Object, at string, depth int) {
	members := jsontext.Member[*jsontext.Object](o, keyProperties)
	required := texts(o.Get(keyRequired))
	properties := jsontext.NewObject()
	for _, name := range members.Names() {
		property, _ := members.Members[name].(*jsontext.Object)
		if t.oneWay(property) {
			required = slices.DeleteFunc(required, func(r string) bool { return r == name })
			continue
		}
		if jsontext.Member[bool](property, keyRequired) && !slices.Contains(required, name) {
			required = append(required, name)
		}
		properties.Set(name, t.schema(members.Members[name], within(at, name), depth+1))
	}
	if len(properties.Keys) > 0 {
		s.Set(keyProperties, properties)
	}
	t.required(s, properties, required, at)
}

// required writes the list. Required but undeclared names are declared, because they could not be
// given otherwise.
func (t *translator) required(s, properties *jsontext.Object, names []string, at string) {
	var list []any
	for _, name := range names {
		if len(properties.Keys) > 0 && !properties.Has(name) {
			t.notes.add(within(at, name), "it is required but not declared, so it accepts any value")
			properties.Set(name, jsontext.NewObject())
		}
		if !slices.Contains(list, any(name)) {
			list = append(list, name)
		}
	}
	if len(list) > 0 {
		s.Set(keyRequired, list)
	}
}

// oneWay reports whether a property only ever goes the other way.
func (t *translator) oneWay(property *jsontext.Object) bool {
	found, err := chased(t.root, property)
	if err != nil {
		return false
	}
	if t.response {
		return jsontext.Member[bool](property, "writeOnly") || jsontext.Member[bool](found,
			"writeOnly")
	}
	return jsontext.Member[bool](property, "readOnly") || jsontext.Member[bool](found, "readOnly")
}
