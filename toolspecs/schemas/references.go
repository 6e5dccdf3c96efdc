package schemas

import (
	"encoding/json"
	"fmt"
	"math/big"
	"net/url"
	"slices"
	"strings"

	"github.com/switchyard/switchyard/internal/jsontext"
	"github.com/switchyard/switchyard/internal/spelling"
)

// referenceTargets are the places of a schema that a $ref may lead to.
type referenceTargets struct {
	root    *jsontext.Object
	anchors []string
	// based schemas have an $id somewhere, by which references are resolved; that is left to the
	// compiler.
	based bool
}

func newReferenceTargets(root *jsontext.Object) referenceTargets {
	t := referenceTargets{root: root}
	t.collect(root)
	return t
}

func (t *referenceTargets) collect(value any) {
	switch v := value.(type) {
	case []any:
		for _, e := range v {
			t.collect(e)
		}
	case *jsontext.Object:
		t.based = t.based || jsontext.Member[string](v, "$id") != ""
		for _, keyword := range []string{"$anchor", "$dynamicAnchor"} {
			if anchor := jsontext.Member[string](v, keyword); anchor != "" {
				t.anchors = append(t.anchors, anchor)
			}
		}
		for _, name := range v.Keys {
			t.collect(v.Members[name])
		}
	}
}

// reference checks that a $ref leads to something in the schema.
func (k keywordChecker) reference(path, ref string) {
	if k.targets.based || strings.HasPrefix(ref, "https://json-schema.org/") {
		return
	}
	fragment, local := strings.CutPrefix(ref, "#")
	if !local {
		k.Add(path, "copy what it refers to into $defs, and write #/$defs/name",
			"a schema refers only to itself, not to %s", jsontext.Shorten(ref))
		return
	}
	if unescaped, err := url.PathUnescape(fragment); err == nil {
		fragment = unescaped
	}
	if !k.targets.has(fragment) {
		hint := spelling.Hint(ref, k.targets.definitions())
		if hint == "" {
			hint = "add it under $defs"
		}
		k.Add(path, hint, "there is nothing at %s in this schema", jsontext.Shorten(ref))
	}
}

// inPlace are the keywords whose schemas apply to the same value.
var inPlace = []string{"allOf", "anyOf", "oneOf", "not", "if", "then", "else"}

// loops reports whether references lead from a schema back to it for one and the same value.
func (k keywordChecker) loops(schema *jsontext.Object) bool {
	seen := map[*jsontext.Object]bool{}
	var reaches func(from *jsontext.Object) bool
	reaches = func(from *jsontext.Object) bool {
		for _, next := range k.targets.listApplied(from) {
			if next == schema || !seen[next] && mark(seen, next) && reaches(next) {
				return true
			}
		}
		return false
	}
	return !k.targets.based && reaches(schema)
}

func mark(seen map[*jsontext.Object]bool, schema *jsontext.Object) bool {
	seen[schema] = true
	return true
}

// listApplied returns the schemas that apply to the value of a schema, too.
func (t referenceTargets) listApplied(schema *jsontext.Object) []*jsontext.Object {
	var list []*jsontext.Object
	add := func(value any) {
		if o, ok := value.(*jsontext.Object); ok {
			list = append(list, o)
		}
	}
	if fragment, local := strings.CutPrefix(jsontext.Member[string](schema, "$ref"), "#"); local {
		if unescaped, err := url.PathUnescape(fragment); err == nil {
			fragment = unescaped
		}
		if fragment == "" || fragment[0] == '/' {
			target, _ := jsontext.At(t.root, fragment)
			add(target)
		}
	}
	for _, keyword := range inPlace {
		value := schema.Get(keyword)
		add(value)
		several, _ := value.([]any)
		for _, one := range several {
			add(one)
		}
	}
	return list
}

// has reports whether there is something at a fragment: a JSON Pointer or the name of an anchor.
func (t referenceTargets) has(fragment string) bool {
	if fragment != "" && fragment[0] != '/' {
		return slices.Contains(t.anchors, fragment)
	}
	_, ok := jsontext.At(t.root, fragment)
	return ok
}

// definitions returns the references that could be meant.
func (t referenceTargets) definitions() []string {
	var refs []string
	for _, group := range []string{"$defs", "definitions"} {
		for _, name := range jsontext.Member[*jsontext.Object](t.root, group).Names() {
			refs = append(refs, fmt.Sprintf("#/%s/%s", group, jsontext.EscapePointer(name)))
		}
	}
	for _, anchor := range t.anchors {
		refs = append(refs, "#"+anchor)
	}
	return refs
}

// toRational returns a number as parsed from JSON; nil if it is not one.
func toRational(value any) *big.Rat {
	n, ok := value.(json.Number)
	if !ok {
		return nil
	}
	return Rational(&n)
}

func Rational(n *json.Number) *big.Rat {
	if n == nil {
		return nil
	}
	r, ok := new(big.Rat).SetString(string(*n))
	if !ok {
		return nil
	}
	return r
}
