package schemas

import (
	"cmp"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/jsonpath"
	"github.com/switchyard/switchyard/internal/jsontext"
	"github.com/switchyard/switchyard/internal/spelling"
	"github.com/switchyard/switchyard/internal/validator"
)

// Rules that problems name, besides those of toolspecs themselves (pattern, min_length, enum, …)
// and keywords of JSON Schema that toolspecs have no word for.
const (
	ruleCase    = "case"
	ruleUnknown = "unknown"
	ruleMore    = "more"
)

// maxProblems bounds the problems of one value, because models see them.
const maxProblems = 100

// checkShaped returns the problems of a value, including unknown properties. It fills in nothing.
func checkShaped(value any, schema *validator.Schema, s *Shape) []api.Problem {
	p := preparer{bare: true}
	value = p.value(value, s)
	return sortProblems(append(p.problems, validate(value, schema, s)...))
}

// validate returns the problems of a value under a schema.
func validate(value any, schema *validator.Schema, s *Shape) []api.Problem {
	return translate(schema.Violations(value), value, s)
}

func translate(violations []validator.Violation, value any, s *Shape) []api.Problem {
	t := translator{root: value, shape: s}
	for _, v := range violations {
		t.add(v)
	}
	return t.problems
}

func sortProblems(problems []api.Problem) []api.Problem {
	slices.SortStableFunc(problems, func(a, b api.Problem) int {
		return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Rule, b.Rule),
			cmp.Compare(a.Message, b.Message))
	})
	problems = slices.Compact(problems)
	if more := len(problems) - maxProblems; more > 0 {
		problems = append(problems[:maxProblems:maxProblems],
			api.Problem{Path: jsonpath.Root, Rule: ruleMore,
				Message: fmt.Sprintf("there are %d more problems", more)})
	}
	return problems
}

// translator puts violations into the words of problems.
type translator struct {
	root     any
	shape    *Shape
	problems []api.Problem
}

func (t *translator) add(v validator.Violation) {
	at := t.locate(v.At)
	switch k := v.Kind.(type) {
	case *kind.AnyOf, *kind.OneOf:
		t.alternatives(v, at)
	case *kind.Required:
		t.reportMissing(at, k.Missing, "is required")
	case *kind.Dependency:
		t.reportMissing(at, k.Missing, "is required because "+jsontext.Shorten(k.Prop)+" is given")
	case *kind.DependentRequired:
		t.reportMissing(at, k.Missing, "is required because "+jsontext.Shorten(k.Prop)+" is given")
	case *kind.AdditionalProperties:
		for _, name := range k.Properties {
			t.problem(jsonpath.Key(at.path, name), ruleUnknown, "there is no property "+
				jsontext.Shorten(name))
		}
	case *kind.PropertyNames:
		// The library overwrites the location of this error with that of a later one.
		_, why := explain(v.Causes[0].Kind, place{value: k.Property})
		t.problem(jsonpath.Root, "propertyNames", "the property name "+
			jsontext.Shorten(k.Property)+" is not allowed where it stands: "+why)
	default:
		rule, message := explain(v.Kind, at)
		t.problem(at.path, rule, message)
	}
}

func (t *translator) problem(path, rule, message string) {
	t.problems = append(t.problems, api.Problem{Path: path, Rule: rule, Message: message})
}

func (t *translator) reportMissing(at place, names []string, why string) {
	for _, name := range names {
		what := ""
		if s := at.shape.Property(name); s != nil && len(s.types) > 0 {
			what = " (" + strings.Join(s.types, " or ") + ")"
		}
		t.problem(jsonpath.Key(at.path, name), api.RuleRequired,
			jsontext.Shorten(name)+" "+why+what)
	}
}

// alternatives makes one problem of a value that fits none, or too many, of several schemas.
func (t *translator) alternatives(v validator.Violation, at place) {
	rule := v.Kind.KeywordPath()[0]
	if len(v.Causes) == 0 {
		t.problem(at.path, rule, "the value fits more than one of the allowed forms")
		return
	}
	var reasons []string
	for _, p := range sortProblems(translate(v.Causes, t.root, t.shape)) {
		reasons = append(reasons, p.String())
	}
	const most = 5
	if len(reasons) > most {
		reasons = append(reasons[:most], "…")
	}
	t.problem(at.path, rule, "the value fits none of the allowed forms: "+
		strings.Join(reasons, "; or "))
}

// place is where in a value an error is.
type place struct {
	path   string
	value  any
	shape  *Shape
	hidden bool
}

// locate follows the tokens of a JSON Pointer.
func (t *translator) locate(tokens []string) place {
	at := place{path: jsonpath.Root, value: t.root, shape: t.shape, hidden: t.shape.HidesValue()}
	for _, token := range tokens {
		switch v := at.value.(type) {
		case map[string]any:
			at.path, at.value, at.shape = jsonpath.Key(at.path, token), v[token],
				at.shape.Property(token)
		case []any:
			i, err := strconv.Atoi(token)
			if err != nil || i < 0 || i >= len(v) {
				return at
			}
			at.path, at.value, at.shape = jsonpath.Index(at.path, i), v[i], at.shape.Item()
		}
		at.hidden = at.hidden || at.shape.HidesValue()
	}
	return at
}

func (s *Shape) HidesValue() bool { return s != nil && s.sensitive }

// hides reports whether the value or a part of it is sensitive.
func (p place) hides() bool { return p.hidden || p.shape.Hides() }

// quoteReason returns a reason that quotes the value, after a colon; nothing where the value is not
// to
// be shown.
func (p place) quoteReason(reason error) string {
	if p.hides() {
		return ""
	}
	return fmt.Sprintf(": %v", reason)
}

// shown returns the value for a message: shortened, or omitted if it or a part of it is sensitive.
func (p place) shown() string {
	if p.hides() {
		return "the value"
	}
	return jsontext.Shorten(p.value)
}

// explain returns the violated rule, in the terms of toolspecs if they have it, and the explanation
// for models.
func explain(k jsonschema.ErrorKind, at place) (rule, text string) {
	switch k := k.(type) {
	case *kind.Type:
		return api.RuleType, fmt.Sprintf("must be %s, not %s", withArticle(k.Want), describe(at))
	case *kind.Enum:
		return "enum", enumMessage(k, at)
	case *kind.Const:
		return "const", fmt.Sprintf("must be %s, not %s", jsontext.Shorten(k.Want), at.shown())
	case *kind.Pattern:
		return "pattern", fmt.Sprintf("%s does not match the pattern %s", at.shown(), k.Want)
	case *kind.Format:
		return "format", fmt.Sprintf("%s is not a %s%s", at.shown(), k.Want, at.quoteReason(k.Err))
	}
	if rule, text, ok := explainCount(k, at); ok {
		return rule, text
	}
	if rule, text, ok := explainNumber(k, at); ok {
		return rule, text
	}
	rule = "schema"
	if path := k.KeywordPath(); len(path) > 0 {
		rule = path[0]
	}
	return rule, fmt.Sprintf("%s is not allowed here by the rule %s", at.shown(), rule)
}

func explainCount(k jsonschema.ErrorKind, at place) (rule, text string, ok bool) {
	const least, most = "has %d of at least %d %s", "has %d of at most %d %s"
	say := func(rule, format, what string, got, want int) (string, string, bool) {
		return rule, fmt.Sprintf("%s "+format, at.shown(), got, want, what), true
	}
	switch k := k.(type) {
	case *kind.MinLength:
		return say("min_length", least, "characters", k.Got, k.Want)
	case *kind.MaxLength:
		return say("max_length", most, "characters", k.Got, k.Want)
	case *kind.MinItems:
		return say("min_items", least, "elements", k.Got, k.Want)
	case *kind.MaxItems:
		return say("max_items", most, "elements", k.Got, k.Want)
	case *kind.UniqueItems:
		return "uniqueItems", fmt.Sprintf("the elements %d and %d are equal", k.Duplicates[0],
			k.Duplicates[1]), true
	case *kind.MinProperties:
		return say("minProperties", least, "properties", k.Got, k.Want)
	case *kind.MaxProperties:
		return say("maxProperties", most, "properties", k.Got, k.Want)
	}
	return "", "", false
}

func explainNumber(k jsonschema.ErrorKind, at place) (rule, text string, ok bool) {
	say := func(rule, what string, want *big.Rat) (string, string, bool) {
		return rule, fmt.Sprintf("%s must be %s %s", at.shown(), what, ratText(want)), true
	}
	switch k := k.(type) {
	case *kind.Minimum:
		return say("min", "at least", k.Want)
	case *kind.Maximum:
		return say("max", "at most", k.Want)
	case *kind.ExclusiveMinimum:
		return say("exclusiveMinimum", "more than", k.Want)
	case *kind.ExclusiveMaximum:
		return say("exclusiveMaximum", "less than", k.Want)
	case *kind.MultipleOf:
		return say("multipleOf", "a multiple of", k.Want)
	}
	return "", "", false
}

func enumMessage(k *kind.Enum, at place) string {
	const most = 20
	words, texts := []string{}, []string{}
	for _, w := range k.Want[:min(len(k.Want), most)] {
		words = append(words, jsontext.Shorten(w))
	}
	for _, w := range k.Want {
		if s, ok := w.(string); ok {
			texts = append(texts, s)
		}
	}
	if len(k.Want) > most {
		words = append(words, "…")
	}
	message := fmt.Sprintf("%s is not one of %s", at.shown(), strings.Join(words, ", "))
	given, ok := at.value.(string)
	if near := spelling.Near(given, texts, 1); ok && !at.hidden && len(near) > 0 {
		message += "; " + spelling.Hint(given, near)
	}
	return message
}

func withArticle(types []string) string {
	named := make([]string, len(types))
	for i, t := range types {
		switch t {
		case TypeInteger, TypeArray, TypeObject:
			named[i] = "an " + t
		case "null":
			named[i] = t
		default:
			named[i] = "a " + t
		}
	}
	return strings.Join(named, " or ")
}

// describe names a value's type, and shows it where that helps.
func describe(at place) string {
	switch at.value.(type) {
	case nil:
		return "null"
	case map[string]any, *jsontext.Object:
		return "an object"
	case []any:
		return "an array"
	case string:
		return "the string " + at.shown()
	case bool:
		return "the boolean " + at.shown()
	}
	return "the number " + at.shown()
}

func ratText(r *big.Rat) string {
	if r.IsInt() {
		return r.Num().String()
	}
	f, _ := r.Float64()
	return strconv.FormatFloat(f, 'g', -1, 64)
}
