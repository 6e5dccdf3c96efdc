package imports

import (
	"slices"

	"github.com/switchyard/switchyard/internal/jsontext"
)

// whole translates allOf together with what stands beside it into one schema, so that the arguments
// of a call can be read off it. Parts that contradict each other stay a list.
func (t *translator) whole(o *jsontext.Object, parts []any, at string, depth int) *jsontext.Object {
	beside := o.Copy()
	beside.Delete(keyAllOf)
	beside.Delete(keyDefault)
	if parts = slices.Clone(parts); len(beside.Keys) > 0 {
		parts = append(parts, beside)
	}
	var merged *jsontext.Object
	translated := make([]any, 0, len(parts))
	for _, part := range parts {
		s := t.schema(part, at, depth)
		translated = append(translated, s)
		if len(translated) == 1 {
			merged = s.Copy()
			continue
		}
		if merged != nil && !merge(merged, s) {
			merged = nil
		}
	}
	if merged == nil {
		merged = jsontext.NewObject()
		merged.Set(keyAllOf, translated)
	}
	t.own(merged, o, at)
	return merged
}

// own lets what a schema says itself win over what its parts say: its description, its default and
// that it may be null.
func (t *translator) own(s, o *jsontext.Object, at string) {
	if nullable(o) {
		allowNull(s)
	}
	told := t.defaultOf(s, o, at)
	if jsontext.Member[string](o, keyDescription) != "" {
		t.describe(s, o, told)
	} else if told != "" {
		s.Set(keyDescription, sentences(jsontext.Member[string](s, keyDescription), told))
	}
}

func allowNull(s *jsontext.Object) {
	types := typesIn(s)
	if len(types) == 0 {
		return
	}
	s.Set(keyType, oneOrMore(withNull(types)))
	if list := jsontext.Member[[]any](s, keyEnum); len(list) > 0 && !slices.Contains(list, nil) {
		s.Set(keyEnum, append(slices.Clone(list), nil))
	}
}

// typesIn returns the types of a translated schema.
func typesIn(s *jsontext.Object) []string {
	if name, ok := s.Get(keyType).(string); ok {
		return []string{name}
	}
	return texts(s.Get(keyType))
}

// merge makes s hold what more says as well, and reports false where one schema cannot say both.
func merge(s, more *jsontext.Object) bool {
	for _, key := range more.Names() {
		value := more.Members[key]
		if !s.Has(key) {
			s.Set(key, value)
			continue
		}
		if key == keyDescription || same(s.Members[key], value) {
			continue
		}
		if !mergeKey(s, more, key) {
			return false
		}
	}
	return true
}

func mergeKey(s, more *jsontext.Object, key string) bool {
	switch key {
	case keyType:
		types := common(typesIn(s), typesIn(more))
		s.Set(key, oneOrMore(types))
		return len(types) > 0
	case keyProperties:
		s.Set(key, mergedProperties(jsontext.Member[*jsontext.Object](s, key),
			jsontext.Member[*jsontext.Object](more, key)))
	case keyRequired:
		s.Set(key, union(jsontext.Member[[]any](s, key), jsontext.Member[[]any](more, key)))
	case keyEnum:
		list := slices.DeleteFunc(slices.Clone(jsontext.Member[[]any](s, key)), func(v any) bool {
			return !slices.ContainsFunc(jsontext.Member[[]any](more, key),
				func(w any) bool { return same(v, w) })
		})
		s.Set(key, list)
		return len(list) > 0
	case keyAdditional:
		// Each part that closes itself would refuse the other's properties; what is meant is the
		// two together.
		if s.Get(key) != false && more.Get(key) != false {
			return false
		}
		s.Set(key, false)
	default:
		return false
	}
	return true
}

func union(a, b []any) []any {
	list := slices.Clone(a)
	for _, name := range b {
		if !slices.Contains(list, name) {
			list = append(list, name)
		}
	}
	return list
}

func common(a, b []string) []string {
	var types []string
	for _, name := range a {
		switch {
		case slices.Contains(b, name), name == typeInteger && slices.Contains(b, typeNumber):
			types = append(types, name)
		case name == typeNumber && slices.Contains(b, typeInteger):
			types = append(types, typeInteger)
		}
	}
	return types
}

func mergedProperties(a, b *jsontext.Object) *jsontext.Object {
	all := a.Copy()
	for _, name := range b.Names() {
		first, again := all.Members[name].(*jsontext.Object)
		second, _ := b.Members[name].(*jsontext.Object)
		if !again {
			all.Set(name, second)
			continue
		}
		both := first.Copy()
		if !merge(both, second) {
			both = jsontext.NewObject()
			both.Set(keyAllOf, []any{first, second})
		}
		all.Set(name, both)
	}
	return all
}

// alternatives returns the forms of which a value has one. What a document lists under oneOf is not
// always kept apart there, so that a value may well fit two.
func alternatives(o *jsontext.Object) ([]any, bool) {
	parts := jsontext.Member[[]any](o, keyAnyOf)
	if len(parts) == 0 {
		parts = jsontext.Member[[]any](o, keyOneOf)
	}
	return parts, len(parts) > 0
}

// choice translates anyOf and oneOf together with what stands beside them.
func (t *translator) choice(o *jsontext.Object, parts []any, at string,
	depth int) *jsontext.Object {
	beside := o.Copy()
	beside.Delete(keyAnyOf)
	beside.Delete(keyOneOf)
	beside.Delete(keyDefault)
	if o.Has(keyAnyOf) && o.Has(keyOneOf) {
		t.notes.add(at, "oneOf stands beside anyOf, and is dropped")
	}
	s := t.translated(beside, at, depth)
	forms, null := t.distinct(parts, at, depth)
	null = null || nullable(o)
	if len(forms) == 1 {
		// A value that may be null, or a list of one: there is no choice.
		only := forms[0].(*jsontext.Object).Copy()
		if null {
			allowNull(only)
		}
		if both := s.Copy(); merge(both, only) {
			t.own(both, o, at)
			return both
		}
	}
	if null {
		forms = append(forms, nullSchema())
	}
	s.Set(keyAnyOf, forms)
	t.own(s, o, at)
	return s
}

// distinct translates the forms of a choice, each once; null says that one of them is null, which
// is not among them.
func (t *translator) distinct(parts []any, at string, depth int) (forms []any, null bool) {
	for _, part := range parts {
		form := t.schema(part, at, depth+1)
		if len(form.Keys) == 1 && form.Get(keyType) == typeNull {
			null = true
			continue
		}
		if !slices.ContainsFunc(forms, func(other any) bool { return same(other, form) }) {
			forms = append(forms, form)
		}
	}
	return forms, null
}

func nullSchema() *jsontext.Object {
	s := jsontext.NewObject()
	s.Set(keyType, typeNull)
	return s
}
