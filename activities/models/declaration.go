package models

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/switchyard/switchyard/internal/jsontext"
)

// Declaration is a tool's parameters in the part of JSON Schema that every provider takes. A call
// is
// checked against the whole schema.
type Declaration struct {
	Schema json.RawMessage
	// Rest says in words what the schema demands of the arguments as a whole and Schema does not;
	// empty for nothing.
	Rest string
	// Keys are the names of members that Schema spells otherwise; nil for none.
	Keys *Keys
	// Unseen lists what a model does not see of the schema, as "path: keyword".
	Unseen []string
}

// Keys are the members of a value that a model knows by other names.
type Keys struct {
	// names are the true names by those that the model knows.
	names    map[string]string
	members  map[string]*Keys
	elements *Keys
}

// Restore returns arguments with the true names of their members. Arguments that are not JSON are
// returned unchanged.
func (k *Keys) Restore(arguments string) string {
	if k == nil {
		return arguments
	}
	value, fault := jsontext.ParseOrdered([]byte(arguments))
	if fault != nil {
		return arguments
	}
	return string(jsontext.Encode(k.restore(value), nil))
}

func (k *Keys) restore(value any) any {
	switch v := value.(type) {
	case *jsontext.Object:
		if k == nil {
			return v
		}
		out := jsontext.NewObject()
		for _, name := range v.Names() {
			known, renamed := k.names[name]
			if !renamed {
				known = name
			}
			out.Set(known, k.members[name].restore(v.Get(name)))
		}
		return out
	case []any:
		if k == nil {
			return v
		}
		for i := range v {
			v[i] = k.elements.restore(v[i])
		}
	}
	return value
}

// merge returns the keys of both, of which either may be nil.
func (k *Keys) merge(other *Keys) *Keys {
	switch {
	case k == nil:
		return other
	case other == nil:
		return k
	}
	both := &Keys{names: maps.Clone(k.names), members: maps.Clone(k.members),
		elements: k.elements.merge(other.elements)}
	maps.Copy(both.names, other.names)
	for name, below := range other.members {
		both.members[name] = both.members[name].merge(below)
	}
	return both
}

// Bounds of a declaration: how deep references are followed, and how many parts it has. Beyond, a
// part takes any value.
const (
	maxDeclaredDepth = 16
	maxDeclaredParts = 4000
	// maxDeclared bounds the schema in bytes: it is a part of every request.
	maxDeclared = 256 << 10
)

// Declare returns the declaration of a schema, which must be an object's. References are replaced
// by
// what they refer to, combinations at the top are joined, and keywords that a provider refuses
// become words in descriptions.
func Declare(schema json.RawMessage) Declaration {
	root, fault := jsontext.ParseOrdered(schema)
	top, ok := root.(*jsontext.Object)
	if fault != nil || !ok {
		return Declaration{Schema: json.RawMessage(`{"type":"object","properties":{}}`)}
	}
	w := &declarer{root: top}
	joined := w.join(top, nil)
	rest := w.takeRest(joined, "$", slices.Concat(alternatives, otherKeywords))
	joined.Set("type", "object")
	out, keys := w.object(joined, "$", nil)
	if data := jsontext.Encode(out, nil); len(data) > maxDeclared {
		return Declaration{Schema: json.RawMessage(`{"type":"object","properties":{}}`),
			Rest: shorten(string(schema)), Unseen: []string{"$: properties"}}
	}
	return Declaration{Schema: jsontext.Encode(out, nil), Rest: rest, Keys: keys, Unseen: w.unseen}
}

// declarer makes a declaration.
type declarer struct {
	root   *jsontext.Object
	parts  int
	unseen []string
}

// Keywords of a schema. Models see the plain ones as they are, and alternatives within a value as
// anyOf. All others become words in descriptions.
var (
	plainKeywords = []string{"type", "description", "default", "minimum", "maximum", "minLength",
		"maxLength", "minItems", "maxItems", "pattern", "required", "properties", "items", "enum"}
	alternatives  = []string{"anyOf", "oneOf"}
	otherKeywords = []string{"not", "if", "then", "else", "dependentRequired", "dependentSchemas",
		"dependencies", "patternProperties", "propertyNames", "minProperties", "maxProperties",
		"additionalProperties", "unevaluatedProperties", "contains", "minContains", "maxContains",
		"prefixItems", "additionalItems", "unevaluatedItems", "uniqueItems", "multipleOf",
		"exclusiveMinimum", "exclusiveMaximum", "format", "const"}
)

// join returns a copy of a part with its reference and the parts of allOf joined to it. seen are
// the
// references that led there.
func (w *declarer) join(part *jsontext.Object, seen []string) *jsontext.Object {
	out := jsontext.NewObject()
	if w.parts++; w.parts > maxDeclaredParts {
		return out
	}
	for _, name := range part.Names() {
		if name != "$ref" && name != "allOf" {
			out.Set(name, part.Get(name))
		}
	}
	if ref, ok := part.Get("$ref").(string); ok {
		if target := w.find(ref, seen); target != nil {
			w.add(out, w.join(target, append(slices.Clip(seen), ref)))
		}
	}
	all, _ := part.Get("allOf").([]any)
	for _, each := range all {
		if other, ok := each.(*jsontext.Object); ok {
			w.add(out, w.join(other, seen))
		}
	}
	return out
}

// find returns the part that a reference within the schema refers to; nil if it leads back to
// itself, or out of the schema.
func (w *declarer) find(ref string, seen []string) *jsontext.Object {
	if slices.Contains(seen, ref) || len(seen) >= maxDeclaredDepth {
		return nil
	}
	if ref == "#" {
		return w.root
	}
	pointer, ok := strings.CutPrefix(ref, "#/")
	if !ok {
		return nil
	}
	found, _ := jsontext.At(w.root, "/"+pointer)
	target, _ := found.(*jsontext.Object)
	return target
}

// add joins other to a part: its members and requirements, and what the part does not say itself.
func (w *declarer) add(out, other *jsontext.Object) {
	for _, name := range other.Names() {
		mine, theirs := out.Get(name), other.Get(name)
		switch {
		case !out.Has(name):
			out.Set(name, theirs)
		case name == "properties":
			all := jsontext.NewObject()
			for _, o := range []any{mine, theirs} {
				if members, ok := o.(*jsontext.Object); ok {
					for _, key := range members.Names() {
						all.Set(key, members.Get(key))
					}
				}
			}
			out.Set(name, all)
		case name == "required":
			a, _ := mine.([]any)
			b, _ := theirs.([]any)
			out.Set(name, append(slices.Clip(a), b...))
		}
	}
}

// takeRest removes keywords from a part and returns them in words; empty for none.
func (w *declarer) takeRest(part *jsontext.Object, path string, keywords []string) string {
	rest := jsontext.NewObject()
	for _, name := range keywords {
		if !part.Has(name) {
			continue
		}
		// Tools that take no other members are the rule.
		value := part.Get(name)
		if _, plain := value.(bool); name != "additionalProperties" || !plain {
			rest.Set(name, value)
			w.unseen = append(w.unseen, path+": "+name)
		}
		part.Delete(name)
	}
	if len(rest.Names()) == 0 {
		return ""
	}
	return shorten(string(jsontext.Encode(rest, nil)))
}

// maxWords bounds the words about a part, in characters.
const maxWords = 600

func shorten(text string) string {
	if r := []rune(text); len(r) > maxWords {
		return string(r[:maxWords]) + "…"
	}
	return text
}

// declare returns the declaration of a part.
func (w *declarer) declare(value any, path string, seen []string) (*jsontext.Object, *Keys) {
	part, ok := value.(*jsontext.Object)
	if w.parts++; !ok || w.parts > maxDeclaredParts || len(seen) > maxDeclaredDepth {
		return jsontext.NewObject(), nil
	}
	if ref, ok := part.Get("$ref").(string); ok {
		if w.find(ref, seen) == nil {
			w.unseen = append(w.unseen, path+": $ref")
		}
		seen = append(slices.Clip(seen), ref)
		part = w.join(part, seen[:len(seen)-1])
	} else {
		part = w.join(part, seen)
	}
	words := w.words(part, path)
	out, keys := w.object(part, path, seen)
	if choices, more := w.choices(part, path, seen); choices != nil {
		out.Set("anyOf", choices)
		keys = keys.merge(more)
	}
	if words != "" {
		description, _ := out.Get("description").(string)
		out.Set("description", strings.TrimSpace(description+" "+words))
	}
	return out, keys
}

// words takes from a part what models do not see as keywords, and says it.
func (w *declarer) words(part *jsontext.Object, path string) string {
	var words []string
	if constant := part.Get("const"); part.Has("const") {
		part.Delete("const")
		part.Set("enum", []any{constant})
	}
	if list, ok := part.Get("enum").([]any); ok {
		texts := slices.DeleteFunc(slices.Clone(list), func(v any) bool {
			_, text := v.(string)
			return !text
		})
		if len(texts) < len(list) {
			part.Delete("enum")
			words = append(words, "One of "+shorten(string(jsontext.Encode(list, nil)))+".")
			w.unseen = append(w.unseen, path+": enum")
		}
	}
	if part.Get("format") == "date-time" {
		part.Delete("format")
		words = append(words, "A date and time as in RFC 3339.")
	}
	if rest := w.takeRest(part, path, otherKeywords); rest != "" {
		words = append(words, "It must also fit the JSON Schema "+rest+".")
	}
	return strings.Join(words, " ")
}

// choices returns the alternatives of a part, nil for none, and their keys.
func (w *declarer) choices(part *jsontext.Object, path string, seen []string) (choices []any,
	keys *Keys) {
	for _, name := range alternatives {
		list, _ := part.Get(name).([]any)
		for i, each := range list {
			declared, more := w.declare(each, fmt.Sprintf("%s.%s[%d]", path, name, i), seen)
			choices, keys = append(choices, declared), keys.merge(more)
		}
	}
	types, _ := part.Get("type").([]any)
	types = slices.DeleteFunc(slices.Clone(types), func(t any) bool { return t == "null" })
	for _, t := range types {
		if len(types) > 1 && len(choices) < len(types) {
			choice := jsontext.NewObject()
			choice.Set("type", t)
			choices = append(choices, choice)
		}
	}
	return choices, keys
}

// object returns the plain keywords of a part, with its members and elements declared.
func (w *declarer) object(part *jsontext.Object, path string, seen []string) (*jsontext.Object,
	*Keys) {
	out := jsontext.NewObject()
	keys := &Keys{names: map[string]string{}, members: map[string]*Keys{}}
	for _, name := range plainKeywords {
		if part.Has(name) {
			out.Set(name, part.Get(name))
		}
	}
	setType(out)
	switch kind := out.Get("type"); {
	case kind == "object", out.Has("properties"):
		out.Set("type", "object")
		w.members(out, path, seen, keys)
	case kind == "array", out.Has("items"):
		items, below := w.declare(out.Get("items"), path+"[]", seen)
		out.Set("items", items)
		keys.elements = below
	}
	if len(keys.names)+len(keys.members) == 0 && keys.elements == nil {
		keys = nil
	}
	return out, keys
}

// setType replaces a list of types by its only one, if null aside there is one.
func setType(part *jsontext.Object) {
	list, ok := part.Get("type").([]any)
	if !ok {
		return
	}
	part.Delete("type")
	list = slices.DeleteFunc(slices.Clone(list), func(t any) bool { return t == "null" })
	if len(list) == 1 {
		part.Set("type", list[0])
	}
}

// members declares the members of an object under names that every provider takes.
func (w *declarer) members(out *jsontext.Object, path string, seen []string, keys *Keys) {
	declared, legal := jsontext.NewObject(), map[string]string{}
	members, _ := out.Get("properties").(*jsontext.Object)
	if members == nil {
		members = jsontext.NewObject()
	}
	for _, name := range members.Names() {
		if w.parts > maxDeclaredParts {
			break
		}
		known := legalKey(name, members, declared)
		part, below := w.declare(members.Get(name), path+"."+name, seen)
		declared.Set(known, part)
		if legal[name] = known; known != name {
			keys.names[known] = name
		}
		if below != nil {
			keys.members[known] = below
		}
	}
	out.Set("properties", declared)
	setRequired(out, legal)
}

// setRequired gives an object the required members by the names that they are declared under.
func setRequired(out *jsontext.Object, legal map[string]string) {
	required, _ := out.Get("required").([]any)
	out.Delete("required")
	var kept []any
	for _, name := range required {
		text, _ := name.(string)
		if known := legal[text]; known != "" && !slices.Contains(kept, any(known)) {
			kept = append(kept, known)
		}
	}
	if kept != nil {
		out.Set("required", kept)
	}
}

// maxKey bounds the names of members, in bytes.
const maxKey = 64

// illegalInKeys matches what some provider refuses in the name of a member.
var illegalInKeys = regexp.MustCompile(`[^a-zA-Z0-9_.-]`)

// legalKey returns a name for a member that every provider takes, and that no other member has.
func legalKey(name string, all, taken *jsontext.Object) string {
	legal := illegalInKeys.ReplaceAllString(name, "_")
	if legal == name && len(name) <= maxKey && name != "" {
		return name
	}
	legal = cmp.Or(legal[:min(len(legal), maxKey-4)], "_")
	free := legal
	for n := 2; all.Has(free) || taken.Has(free); n++ {
		free = fmt.Sprint(legal, "_", n)
	}
	return free
}

// Describe returns the description of a tool with what its declaration leaves out.
func (d Declaration) Describe(description string) string {
	if d.Rest == "" {
		return description
	}
	return strings.TrimSpace(description + "\nThe arguments must also fit this JSON Schema: " + d.Rest)
}
