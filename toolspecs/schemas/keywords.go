package schemas

import (
	"maps"
	"math/big"
	"regexp"
	"slices"
	"strings"

	"github.com/switchyard/switchyard/internal/jsonpath"
	"github.com/switchyard/switchyard/internal/jsontext"
	"github.com/switchyard/switchyard/internal/spelling"
	"github.com/switchyard/switchyard/internal/strictyaml"
)

const draft2020 = "https://json-schema.org/draft/2020-12/schema"

// Forms of keywords: what their values are.
const (
	formAny       = "any"
	formText      = "text"
	formTruth     = "truth"
	formNumber    = "number"
	formPositive  = "positive"
	formCount     = "count"
	formType      = "type"
	formEnum      = "enum"
	formPattern   = "pattern"
	formReference = "reference"
	formSchema    = "schema"
	formList      = "list of schemas"
	formNamed     = "schemas by name"
	formPatterns  = "schemas by pattern"
	formNames     = "names"
	formLists     = "lists by name"
)

// forms has the form of each keyword of draft 2020-12 and of the older keywords that it still
// allows.
var forms = invertForms(map[string]string{
	formAny:       "default const $vocabulary dependencies",
	formText:      "$schema $id $anchor $dynamicRef $dynamicAnchor $comment title description format contentEncoding contentMediaType",
	formTruth:     "uniqueItems deprecated readOnly writeOnly",
	formNumber:    "minimum maximum exclusiveMinimum exclusiveMaximum",
	formPositive:  "multipleOf",
	formCount:     "minLength maxLength minItems maxItems minProperties maxProperties minContains maxContains",
	formType:      "type",
	formEnum:      "enum examples",
	formPattern:   "pattern",
	formReference: "$ref",
	formSchema: "items additionalProperties not if then else contains propertyNames unevaluatedItems unevaluatedProperties " +
		"contentSchema",
	formList:     "allOf anyOf oneOf prefixItems",
	formNamed:    "properties $defs definitions dependentSchemas",
	formPatterns: "patternProperties",
	formNames:    "required",
	formLists:    "dependentRequired",
})

func invertForms(keywords map[string]string) map[string]string {
	forms := map[string]string{}
	for form, list := range keywords {
		for name := range strings.FieldsSeq(list) {
			forms[name] = form
		}
	}
	return forms
}

// extension is the prefix of custom annotations.
const extension = "x-"

// keywordChecker finds all that is wrong in a JSON Schema, where a compiler stops at the first.
type keywordChecker struct {
	*strictyaml.Findings
	targets referenceTargets
}

// keywords checks a schema and everything in it. One of another draft has other keywords and is
// left to the compiler.
func (c schemaChecker) keywords(path string, schema *jsontext.Object) {
	if draft, given := schema.Members["$schema"]; given && draft != draft2020 {
		return
	}
	k := keywordChecker{Findings: c.Findings, targets: newReferenceTargets(schema)}
	k.schema(path, schema)
}

func (k keywordChecker) schema(path string, value any) {
	if _, ok := value.(bool); ok {
		return
	}
	schema, ok := value.(*jsontext.Object)
	if !ok {
		k.Add(path, "write a mapping such as {type: string}",
			"a schema is a mapping, or true or false, not %s", describe(place{value: value}))
		return
	}
	for _, name := range schema.Keys {
		at := jsonpath.Key(path, name)
		form, known := forms[name]
		switch {
		case known:
			k.value(form, name, at, schema.Members[name])
		case !strings.HasPrefix(name, extension):
			k.unknown(at, name)
		}
	}
	if schema.Has("$ref") && k.loops(schema) {
		k.Add(jsonpath.Key(path, "$ref"), "let it refer to a schema with rules of its own",
			"the reference leads back to itself, so that no value can be checked")
	}
	for _, pair := range [][2]string{{"minimum", "maximum"}, {"minLength", "maxLength"},
		{"minItems", "maxItems"},
		{"minProperties", "maxProperties"}, {"minContains", "maxContains"}} {
		CheckBounds(k.Findings, path, pair[0], pair[1], numberIn(schema, pair[0]),
			numberIn(schema, pair[1]))
	}
}

// unknown reports a keyword that nothing would heed.
func (k keywordChecker) unknown(path, name string) {
	hint := "names of custom annotations start with " + extension
	if near := spelling.Near(name, slices.Collect(maps.Keys(forms)), 1); len(near) > 0 {
		hint = spelling.Hint(name, near)
	}
	k.AddKey(path, hint, "JSON Schema has no keyword %q", name)
}

// value checks the value of a keyword of that form.
func (k keywordChecker) value(form, name, path string, value any) {
	switch form {
	case formAny:
	case formText:
		k.text(name, path, value)
	case formTruth:
		if _, ok := value.(bool); !ok {
			k.wrong(name, path, "true or false", value)
		}
	case formNumber, formPositive, formCount:
		k.number(form, name, path, value)
	case formPattern:
		k.pattern(path, value)
	case formReference:
		k.reference(path, value)
	case formType:
		k.types(path, value)
	default:
		k.composite(form, name, path, value)
	}
}

func (k keywordChecker) composite(form, name, path string, value any) {
	switch form {
	case formSchema:
		k.schema(path, value)
	case formEnum:
		k.enum(name, path, value)
	case formNames:
		k.names(name, path, value)
	case formList:
		k.list(name, path, value)
	default:
		k.checkMapping(form, name, path, value)
	}
}

// wrong reports a value that is of another type than its keyword wants.
func (k keywordChecker) wrong(name, path, want string, value any) {
	hint := ""
	if _, isTruth := value.(bool); name == "required" && isTruth {
		hint = "list the names of required properties beside properties"
	}
	k.Add(path, hint, "%s must be %s, not %s", name, want, describe(place{value: value}))
}

func (k keywordChecker) text(name, path string, value any) (string, bool) {
	s, ok := value.(string)
	if !ok {
		k.wrong(name, path, "a string", value)
	}
	return s, ok
}

func (k keywordChecker) number(form, name, path string, value any) {
	n := toRational(value)
	switch {
	case n == nil:
		k.wrong(name, path, "a number", value)
	case form == formCount && (!n.IsInt() || n.Sign() < 0):
		k.Add(path, "", "%s is %s; it must be a whole number of at least 0", name, ratText(n))
	case form == formPositive && n.Sign() <= 0:
		k.Add(path, "", "%s is %s; it must be more than 0", name, ratText(n))
	}
}

func (k keywordChecker) pattern(path string, value any) {
	if s, ok := k.text("pattern", path, value); ok {
		k.regex(path, s, k.Add)
	}
}

func (k keywordChecker) regex(path, text string, report func(path, hint, format string,
	args ...any)) {
	if _, err := regexp.Compile(text); err != nil {
		report(path, HintRegex, "the pattern is not a regular expression: %v", err)
	}
}

// schemaTypes are the types of JSON Schema.
var schemaTypes = append(slices.Clone(Types), typeNull)

func (k keywordChecker) types(path string, value any) {
	list, many := value.([]any)
	if !many {
		list = []any{value}
	} else if len(list) == 0 {
		k.Add(path, "remove it, or name a type", "type lists nothing, so no value would fit")
	}
	for i, t := range list {
		at := path
		if many {
			at = jsonpath.Index(path, i)
		}
		name, ok := t.(string)
		switch {
		case !ok:
			k.wrong("type", at, "the name of a type", t)
		case !slices.Contains(schemaTypes, name):
			k.Add(at, spelling.Hint(name, schemaTypes), "there is no type %q", name)
		case slices.Contains(list[:i], t):
			k.Add(at, "remove it", "the type is in the list already")
		}
	}
}

func (k keywordChecker) enum(name, path string, value any) {
	list, ok := value.([]any)
	if !ok {
		k.wrong(name, path, "a list", value)
		return
	}
	if name == "enum" && len(list) == 0 {
		k.Add(path, "remove it, or list the values", "enum is empty, so no value would fit")
	}
}

func (k keywordChecker) names(name, path string, value any) {
	list, ok := value.([]any)
	if !ok {
		k.wrong(name, path, "a list of names", value)
		return
	}
	for i, e := range list {
		at := jsonpath.Index(path, i)
		if _, ok := k.text("the name", at, e); ok && slices.Contains(list[:i], e) {
			k.Add(at, "remove it", "the name is in the list already")
		}
	}
}

func (k keywordChecker) list(name, path string, value any) {
	list, ok := value.([]any)
	if !ok || len(list) == 0 {
		k.Add(path, "", "%s must be a list of schemas with at least one", name)
		return
	}
	for i, e := range list {
		k.schema(jsonpath.Index(path, i), e)
	}
}

// checkMapping checks a mapping of names, or of patterns, to schemas or to lists of names.
func (k keywordChecker) checkMapping(form, name, path string, value any) {
	members, ok := value.(*jsontext.Object)
	if !ok {
		k.wrong(name, path, "a mapping", value)
		return
	}
	for _, key := range members.Keys {
		at := jsonpath.Key(path, key)
		if form == formLists {
			k.names(name, at, members.Members[key])
			continue
		}
		if form == formPatterns {
			k.regex(at, key, k.AddKey)
		}
		k.schema(at, members.Members[key])
	}
}

func numberIn(schema *jsontext.Object,
	name string) *big.Rat {
	return toRational(schema.Members[name])
}

// CheckBounds reports a lower bound above its upper one.
func CheckBounds(c *strictyaml.Findings, path, low, high string, least, most *big.Rat) {
	if least != nil && most != nil && least.Cmp(most) > 0 {
		c.Add(path+"."+low, "swap them", "%s %s is more than %s %s", low, ratText(least), high,
			ratText(most))
	}
}
