package schemas

import (
	_ "embed"
	"math/big"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	"github.com/switchyard/switchyard/internal/jsonpath"
	"github.com/switchyard/switchyard/internal/jsontext"
	"github.com/switchyard/switchyard/internal/spelling"
	"github.com/switchyard/switchyard/internal/strictyaml"
	"github.com/switchyard/switchyard/internal/validator"
)

const draft2020 = "https://json-schema.org/draft/2020-12/schema"

// keywordsJSON is a schema of JSON Schemas of draft 2020-12 that, unlike that of the draft, refuses
// keywords that nothing would heed. Its x-hint is the remedy where something violates the rule.
//
//go:embed keywords.json
var keywordsJSON []byte

// keywordRules returns keywordsJSON, compiled and as a tree.
var keywordRules = sync.OnceValues(func() (*validator.Schema, any) {
	compiled, err := validator.Compile(keywordsJSON)
	if err != nil {
		panic(err) // a test compiles it
	}
	return compiled, Decode(keywordsJSON)
})

// extension is the prefix of custom annotations.
const extension = "x-"

// keywords finds all that is wrong in a schema, where a compiler stops at the first. A schema of
// another draft has other keywords and is left to the compiler.
func (c schemaChecker) keywords(path string, schema *jsontext.Object) {
	if draft, given := schema.Members["$schema"]; given && draft != draft2020 {
		return
	}
	rules, tree := keywordRules()
	t := translator{root: decodedPlain(Encode(schema))}
	var found []strictyaml.Finding
	for _, v := range rules.Violations(t.root) {
		if k, ok := v.Kind.(*kind.UniqueItems); ok {
			v.At = append(slices.Clone(v.At), strconv.Itoa(k.Duplicates[1]))
		}
		t.problems = nil
		t.add(v)
		place, _ := jsontext.At(tree, v.Schema)
		rule, _ := place.(*jsontext.Object)
		for _, p := range t.problems {
			found = append(found, describeKeyword(path, p.Path, p.Rule, p.Message,
				jsontext.Member[string](rule, "x-hint")))
		}
	}
	slices.SortFunc(found, func(a, b strictyaml.Finding) int {
		return strings.Compare(a.Path+a.Message, b.Path+b.Message)
	})
	c.All = append(c.All, found...)
	keywordChecker{c.Findings, newReferenceTargets(schema)}.schema(path, schema)
}

// describeKeyword returns the finding about the keyword at the end of a path.
func describeKeyword(schema, path, rule, message, hint string) strictyaml.Finding {
	steps := jsonpath.Split(path)
	keyword := "the schema"
	for _, s := range slices.Backward(steps) {
		if s.Index < 0 {
			keyword = s.Key
			break
		}
	}
	f := strictyaml.Finding{Path: schema + strings.TrimPrefix(path, jsonpath.Root), Hint: hint}
	var known *jsontext.Object
	switch {
	case rule == ruleUnknown:
		_, tree := keywordRules()
		place, _ := jsontext.At(tree, "/$defs/schema/properties")
		known, _ = place.(*jsontext.Object)
		f.AtKey, f.Message = true, "JSON Schema has no keyword "+jsontext.Shorten(keyword)
		f.Hint = "names of custom annotations start with " + extension
		if near := spelling.Near(keyword, known.Names(), 1); len(near) > 0 {
			f.Hint = spelling.Hint(keyword, near)
		}
	case strings.HasPrefix(message, "must "):
		f.Message = keyword + " " + message
	default:
		f.Message = keyword + ": " + message
	}
	return f
}

// keywordChecker checks what a schema of schemas cannot say: patterns, references and bounds.
type keywordChecker struct {
	*strictyaml.Findings
	targets referenceTargets
}

func (k keywordChecker) schema(path string, value any) {
	schema, ok := value.(*jsontext.Object)
	if !ok {
		return
	}
	if pattern, ok := schema.Members["pattern"].(string); ok {
		k.regex(jsonpath.Key(path, "pattern"), pattern, k.Add)
	}
	if ref, ok := schema.Members["$ref"].(string); ok {
		k.reference(jsonpath.Key(path, "$ref"), ref)
		if k.loops(schema) {
			k.Add(jsonpath.Key(path, "$ref"), "let it refer to a schema with rules of its own",
				"the reference leads back to itself, so that no value can be checked")
		}
	}
	for _, pair := range [][2]string{{"minimum", "maximum"}, {"minLength", "maxLength"},
		{"minItems", "maxItems"},
		{"minProperties", "maxProperties"}, {"minContains", "maxContains"}} {
		CheckBounds(k.Findings, path, pair[0], pair[1], toRational(schema.Members[pair[0]]),
			toRational(schema.Members[pair[1]]))
	}
	k.parts(path, schema)
}

// named are the keywords with schemas by name, or by pattern.
var named = []string{"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"}

// values are the keywords whose values have the names of keywords without being schemas.
var values = []string{"default", "const", "enum", "examples"}

// parts checks the schemas within a schema.
func (k keywordChecker) parts(path string, schema *jsontext.Object) {
	for _, name := range schema.Keys {
		if slices.Contains(values, name) || strings.HasPrefix(name, extension) {
			continue
		}
		at := jsonpath.Key(path, name)
		switch value := schema.Members[name].(type) {
		case []any:
			for i, e := range value {
				k.schema(jsonpath.Index(at, i), e)
			}
		case *jsontext.Object:
			if slices.Contains(named, name) {
				k.named(at, name, value)
			} else {
				k.schema(at, value)
			}
		}
	}
}

// named checks the schemas of a keyword by name, or by pattern.
func (k keywordChecker) named(path, keyword string, schemas *jsontext.Object) {
	for _, key := range schemas.Keys {
		at := jsonpath.Key(path, key)
		if keyword == "patternProperties" {
			k.regex(at, key, k.AddKey)
		}
		k.schema(at, schemas.Members[key])
	}
}

func (k keywordChecker) regex(path, text string, report func(path, hint, format string,
	args ...any)) {
	if _, err := regexp.Compile(text); err != nil {
		report(path, HintRegex, "the pattern is not a regular expression: %v", err)
	}
}

// CheckBounds reports a lower bound above its upper one.
func CheckBounds(c *strictyaml.Findings, path, low, high string, least, most *big.Rat) {
	if least != nil && most != nil && least.Cmp(most) > 0 {
		c.Add(path+"."+low, "swap them", "%s %s is more than %s %s", low, ratText(least), high,
			ratText(most))
	}
}
